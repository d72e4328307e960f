"""Figures of runs for Prometheus, on the pages `/metrics` of Dask's scheduler and workers.

As a preload of both (`--preload bigtopic.parallel.prometheus`, or Dask's settings `distributed.scheduler.preload` and
`distributed.worker.preload`), this module adds to Dask's own figures:

* scheduler: `bigtopic_tokens_total` and `bigtopic_updates_total` of all runs, and `bigtopic_score`, the held-out nats
  per token that a run had last. Drivers report them as events of Dask's topic `bigtopic`, every second;
  `Client.get_events` and `Client.subscribe_topic` have them too.
* worker: `bigtopic_worker_tokens_total`, the tokens that kernels went through in this process, inner iterations
  included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from bigtopic.errors import require
from bigtopic.parallel import cluster

__all__ = ["TOPIC", "Reporter", "count", "dask_setup"]

TOPIC = "bigtopic"
SECONDS = 1.0  # between two reports
_counters: list[Callable[[float], None]] = []  # of this process, if it is a worker with the preload


def count(n_tokens: float) -> None:
    """Count tokens that a kernel went through here."""
    for counter in _counters:
        counter(n_tokens)


class Reporter:
    """A callback of `learning.events` that reports a run to the scheduler: `n_updates` and `n_tokens` since the last
    report, `pass_number`, and the `score` if it is new.

    Parameters
    ----------
    client : of the cluster
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._known = 0, 0.0  # updates and tokens that were reported
        self._due = 0.0

    def __call__(self, event: Any) -> None:
        if event.kind == "start":
            self._known = event.step, event.n_tokens  # a resumed run has some
        now = time.monotonic()
        if event.kind == "round" and now < self._due:
            return
        self._due = now + SECONDS
        n_updates, n_tokens = (
            new - old for new, old in zip((event.step, event.n_tokens), self._known, strict=True)
        )
        self._known = event.step, event.n_tokens
        report = {"n_updates": n_updates, "n_tokens": n_tokens, "pass_number": event.pass_number}
        if event.score is not None:
            report["score"] = event.score
        cluster.log_event(self._client, TOPIC, report, wait=event.kind == "end")


def dask_setup(server: Any) -> None:
    """Add the figures to the page of a scheduler or worker. Dask calls this when the process starts.

    Raises
    ------
    MissingExtra
        When prometheus-client is not installed.
    """
    prometheus = require("prometheus_client", "prometheus")
    if hasattr(server, "add_plugin"):
        cluster.on_events(server, TOPIC, _of_runs(prometheus))
    else:
        _of_worker(prometheus)


@cache  # a registry takes each name once, and processes may hold several servers
def _of_runs(prometheus: Any) -> Callable[[Mapping[str, float]], None]:
    tokens = prometheus.Counter("bigtopic_tokens", "Tokens that runs have learned from.")
    updates = prometheus.Counter("bigtopic_updates", "Updates of topics that runs have made.")
    score = prometheus.Gauge("bigtopic_score", "Held-out nats per token that a run had last.")

    def report(message: Mapping[str, float]) -> None:
        tokens.inc(max(0.0, message["n_tokens"]))
        updates.inc(max(0, message["n_updates"]))
        if "score" in message:
            score.set(message["score"])

    return report


@cache
def _of_worker(prometheus: Any) -> None:
    tokens = prometheus.Counter("bigtopic_worker_tokens", "Tokens that kernels went through in this process.")
    _counters.append(tokens.inc)

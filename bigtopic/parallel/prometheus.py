"""Figures of runs for Prometheus, on the pages `/metrics` of Dask's scheduler and workers, with this module as a
preload of both (`--preload bigtopic.parallel.prometheus`):

* scheduler: `bigtopic_tokens_total` and `bigtopic_updates_total` of all runs, and `bigtopic_score`, the held-out nats
  per token that a run had last. Drivers report them as events of Dask's topic `bigtopic`.
* worker: `bigtopic_worker_tokens_total`, the tokens that kernels went through, inner iterations included.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from functools import cache
from typing import Any

from bigtopic.errors import require
from bigtopic.parallel.cluster import on_events

__all__ = ["TOPIC", "Reporter", "count", "dask_setup"]

TOPIC = "bigtopic"
SECONDS = 1.0  # between two reports
_counters: list[Callable[[float], None]] = []  # of this process, if it is a worker with the preload


def count(n_tokens: float) -> None:
    """Count tokens that a kernel went through here."""
    for counter in _counters:
        counter(n_tokens)


class Reporter:
    """A callback of `learning.events` that reports a run to the scheduler of a client: `n_updates` and `n_tokens` since
    the last report, and the `score` if it is new. Reports to a scheduler that does not answer are lost."""

    def __init__(self, client: Any) -> None:
        self._client, self._due = client, 0.0
        self._known = 0, 0.0  # updates and tokens that were reported

    def __call__(self, event: Any) -> None:
        now, done = time.monotonic(), (event.step, event.n_tokens)
        if event.kind == "start":
            self._known = done  # a resumed run has some
        if event.kind == "round" and now < self._due:
            return
        report = {"n_updates": done[0] - self._known[0], "n_tokens": done[1] - self._known[1]}
        self._known, self._due = done, now + SECONDS
        self._send(report if event.score is None else {**report, "score": event.score}, event.kind == "end")

    def _send(self, report: dict[str, float], last: bool) -> None:
        if self._client.status == "running":
            sending = self._client.scheduler.log_event(topic=TOPIC, msg=report)
            sent = asyncio.run_coroutine_threadsafe(sending, self._client.loop.asyncio_loop)
            if last:  # the client may be closed next
                wait([sent], 1.0)


def dask_setup(server: Any) -> None:
    """Add the figures to the page of a scheduler or worker; Dask calls this when the process starts. Raises
    MissingExtra where prometheus-client is not installed."""
    prometheus = require("prometheus_client", "prometheus")
    if hasattr(server, "add_plugin"):
        on_events(server, TOPIC, _of_runs(prometheus))
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

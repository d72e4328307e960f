"""The default executor of a run."""

from __future__ import annotations

from typing import Any

from bigtopic.errors import warn
from bigtopic.learning import sharing
from bigtopic.learning.executors.forecast import round_seconds
from bigtopic.learning.executors.protocol import Run
from bigtopic.parallel import cluster
from bigtopic.parallel.shared_files import shares_files

__all__ = ["are_spread", "choose"]

LONG_ROUND_SECONDS = 0.3
LONG_PASS_SECONDS = 30.0


def choose(run: Run, client: Any) -> str:
    """Name of the executor: threads without a client; with one, graphs for replicas and for long rounds of several
    slices, and whole for the others."""
    if client is None:
        return "threads"
    if run.plan.replicas > 1 or are_spread(run):
        return "graphs"
    _warn_of_idle_workers(run, client)
    return "whole"


def are_spread(run: Run) -> bool:
    """Whether the slices of a round are worth spreading over workers."""
    return _is_divisible(run) and round_seconds(run) > LONG_ROUND_SECONDS


def _is_divisible(run: Run) -> bool:
    """Whether rounds have several slices: one slice is one task."""
    return run.plan.slice_size < run.plan.batch_size


def _warn_of_idle_workers(run: Run, client: Any) -> None:
    """Name the setting that would use the whole cluster, before a long pass runs on one of its workers."""
    n, what, busy = len(client.nthreads()), "workers", 1
    if shares_files(client, sharing.places()):
        n_slices = -(-run.plan.batch_size // run.plan.slice_size)
        n, what, busy = cluster.threads_of(client), "threads", max(n_slices, 1 + run.plan.delay)
    seconds = round_seconds(run)
    if n > busy and seconds * run.plan.n_rounds > LONG_PASS_SECONDS:
        why = (
            "too short to spread" if _is_divisible(run) else "and are one slice each, which cannot be spread"
        )
        warn(
            f"minibatches of {run.plan.batch_size} documents take about {seconds * 1000:.0f} ms, {why} "
            f"over {n} {what}, so they keep {busy} of them busy; choose a larger batch_size (about "
            f"{int(run.plan.batch_size * n / max(seconds, 1e-9)):,} documents keep all busy), a batch method, or "
            f"replicas={n} if the corpus has hundreds of minibatches for each",
        )

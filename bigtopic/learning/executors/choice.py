"""The default executor of a run, chosen by a rough forecast of the time that a round takes."""

from __future__ import annotations

import math
from math import prod
from typing import Any

from bigtopic.errors import argument, warn
from bigtopic.learning import sharing
from bigtopic.learning.run import Run, Work
from bigtopic.parallel import cluster
from bigtopic.parallel.shared_files import shares_files
from bigtopic.plan.exchanges import rounds_before
from bigtopic.state.contract.kernels import check_cost
from bigtopic.wording import counted

__all__ = ["are_spread", "begins_whole", "choose", "idle_threads", "round_seconds"]

LONG_ROUND_SECONDS = 0.3
LONG_PASS_SECONDS = 30.0
SUM_SECONDS = 0.04  # at the end of an exchange on a cluster, at least
WORTH = 4  # times that, for each thread: the work of an exchange that the advice aims at
LOST_SECONDS = 5.0  # in the exchanges of a run, that are worth a warning


def choose(run: Run, client: Any) -> str:
    """Name of the executor: threads without a client; with one, graphs for replicas and for rounds worth spreading, and
    whole for the others. Asynchronous runs have their own."""
    if run.settings.asynchronous:
        return "asynchronous"
    if client is None:
        return "threads"
    if run.plan.replicas > 1:
        _warn_of_short_exchanges(run, client)
        return "graphs"
    if are_spread(run):
        return "graphs"
    _warn_of_idle_workers(run, client)
    return "whole"


def are_spread(run: Run) -> bool:
    """Whether the slices of a round are worth spreading over workers."""
    return _is_divisible(run) and round_seconds(run) > LONG_ROUND_SECONDS


def begins_whole(run: Run) -> bool:
    """Whether one worker of a client does the rounds before replicas begin: if there are replicas, and rounds are not
    worth spreading."""
    return run.plan.replicas > 1 and not are_spread(run)


def _is_divisible(run: Run) -> bool:
    """Whether rounds have several slices: one slice is one task."""
    return run.plan.slice_size < run.plan.batch_size


def _warn_of_short_exchanges(run: Run, client: Any) -> None:
    """Warn before a run that its replicas make slower. At least two threads are assumed, so that a cluster of one
    thread, where replicas always do, gets no warning."""
    plan, n_threads = run.plan, max(2, min(run.plan.replicas, cluster.threads_of(client)))
    n_updates, n_rounds = plan.replicas * plan.replica_updates, run.settings.n_steps or plan.n_rounds
    seconds = n_updates * round_seconds(run)
    gained = seconds - seconds / n_threads
    if gained > SUM_SECONDS or SUM_SECONDS * n_rounds / n_updates < LOST_SECONDS:
        return
    enough = math.ceil(WORTH * n_threads * SUM_SECONDS / max(seconds, 1e-9) * plan.replica_updates)
    fits = rounds_before(plan.replicas * enough, plan.replicas) <= n_rounds
    longer = argument("replica_updates", enough)
    warn(
        f"{argument('replicas', plan.replicas)}: the {n_updates} updates of an exchange take about "
        f"{seconds * 1000:.0f} ms on one thread, and adding the changes {SUM_SECONDS * 1000:.0f} ms or more, so one "
        f"replica is faster: set {argument('replicas', 1)}{f', or {longer}' if fits else ''}, or a larger "
        f"{argument('batch_size')}"
    )


def _warn_of_idle_workers(run: Run, client: Any) -> None:
    """Name the setting that would use the whole cluster, before a long pass runs on one of its workers."""
    n, what, busy = len(client.nthreads()), "workers", 1
    if shares_files(client, sharing.places()):
        n_slices = -(-run.plan.batch_size // run.plan.slice_size)
        n, what, busy = cluster.threads_of(client), "threads", max(n_slices, run.plan.concurrent)
    seconds = round_seconds(run)
    if n > busy and seconds * run.plan.n_rounds > LONG_PASS_SECONDS:
        why = (
            "too short to spread" if _is_divisible(run) else "and are one slice each, which cannot be spread"
        )
        enough = int(run.plan.batch_size * n / max(seconds, 1e-9))
        advice = (
            f"a larger {argument('batch_size')} (about {enough:,} documents keep all busy) or a batch method"
        )
        if run.plan.whole_minibatches:
            advice = "a method that divides them"
        warn(
            f"minibatches of {run.plan.batch_size} documents take about {seconds * 1000:.0f} ms, {why} "
            f"over {n} {what}, so they keep {busy} of them busy; choose {advice}{_or_replicas(run, n)}"
        )


def idle_threads(run: Run, n_threads: int) -> str | None:
    """One line where long passes leave threads of this process without work; None where they do not."""
    plan = run.plan
    busy = max(-(-plan.batch_size // plan.slice_size), plan.concurrent, plan.replicas)
    if n_threads <= busy or round_seconds(run) * plan.n_rounds <= LONG_PASS_SECONDS:
        return None
    return (
        f"minibatches of {plan.batch_size} documents are {counted(busy, 'slice')} each and follow one another, so they "
        f"keep {busy} of {n_threads} threads busy; a larger {argument('batch_size')} keeps more busy"
    )


def _or_replicas(run: Run, n: int) -> str:
    """Further advice: replicas, where the run can have them."""
    settings = run.settings
    no_replicas = settings.prior_schemes or not settings.is_linear or run.work.n_candidates is not None
    if run.plan.n_rounds == 1 or no_replicas:
        return ""
    return f", or {argument('replicas', n)} if the corpus has hundreds of minibatches for each"


NANOSECONDS_PER_ENTRY = 0.4  # distinct word of a document, for each topic and pass over them (`Kernel.cost`)
NANOSECONDS_PER_CANDIDATE = 100.0  # in place of these, of each topic that remains where rows are sparse


def round_seconds(run: Run) -> float:
    """A rough estimate of one core's time for one round."""
    work, entries = run.work, run.plan.batch_size * run.plan.entries_per_doc
    passes = check_cost(work.kernel, work.kernel.cost(work.hyper.options))
    if work.n_candidates is None:
        nanoseconds = _n_topics(work) * NANOSECONDS_PER_ENTRY
    else:
        nanoseconds = work.n_candidates * NANOSECONDS_PER_CANDIDATE
    return entries * passes * nanoseconds * 1e-9


def _n_topics(work: Work) -> int:
    """Topics of an entry; pairs of topics, where the kernel reads all arrays that it has statistics of."""
    if set(work.kernel.statistics) <= set(work.kernel.views):
        return prod(work.hyper.components.values())
    return work.hyper.n_components

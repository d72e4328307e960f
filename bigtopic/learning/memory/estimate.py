"""Memory of a run, estimated before it starts."""

from __future__ import annotations

from collections.abc import Mapping

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import argument, warn
from bigtopic.learning.memory.footprint import Footprint
from bigtopic.learning.run import Run
from bigtopic.state import machine_memory
from bigtopic.state.params import Params

__all__ = ["check_memory", "estimate_bytes", "fitting_threads", "others"]


def estimate_bytes(
    run: Run, params: Params, axes: Mapping[str, Vocabulary], n_threads: int, *, compares: bool = False
) -> int:
    """Bytes of a run on threads of one process, its params included; see `footprint` for the equations.

    Parameters
    ----------
    axes : axes of the model, with document frequencies
    compares : whether the topics at the start of a pass are kept, to compare them with those at its end
    """
    return Footprint(run, params, axes).on_threads(n_threads, compares)


def fitting_threads(
    run: Run, params: Params, axes: Mapping[str, Vocabulary], n_threads: int, *, compares: bool = False
) -> int:
    """As many threads, or a half, a quarter, ... of them, as fit into the machine's memory; 1 if none do. Warns of
    fewer. For the arguments see `estimate_bytes`."""
    footprint, fitting = Footprint(run, params, axes), n_threads
    while fitting > 1 and not _fits(footprint, fitting, compares):
        fitting //= 2
    if fitting < n_threads:
        are = "is" if fitting == 1 else "are"
        warn(
            f"only {fitting} of {n_threads} threads {are} used, because more would need more memory than there is: "
            f"about {footprint.on_threads(n_threads, compares) / 1e9:.2f} GB; for more of them, choose {others(run)}"
            f"fewer topics, or a smaller {argument('batch_size')}"
        )
    return fitting


def _fits(footprint: Footprint, n_threads: int, compares: bool) -> bool:
    """Whether the run fits into the machine's memory, as far as that is known."""
    have = machine_memory.total_bytes()
    return have is None or footprint.on_threads(n_threads, compares) < have


def check_memory(
    run: Run, params: Params, axes: Mapping[str, Vocabulary], n_threads: int, *, compares: bool = False
) -> None:
    """Refuse a run that cannot fit; the error names settings to change. For the arguments see `estimate_bytes`.

    Raises
    ------
    SettingError
        When the estimate is larger than the machine's memory.
    """
    footprint = Footprint(run, params, axes)
    if _fits(footprint, n_threads, compares):
        return
    machine_memory.refuse_beyond(
        footprint.on_threads(n_threads, compares),
        f"choose a smaller {argument('batch_size')} (now {run.plan.batch_size}), {others(run)}"
        f"fewer topics (now {run.work.hyper.n_components}) or fewer threads (now {n_threads})",
    )


def others(run: Run) -> str:
    """Further settings to lower: those of replicas, and the room for authors in what is remembered of an entry."""
    plan, found = run.plan, ""
    if plan.replicas > 1:
        found = (
            f"fewer {argument('replica_updates')} (now {plan.replica_updates}) or {argument('replicas', 1)} "
            f"(now {plan.replicas}), "
        )
    room = run.work.hyper.options.get("most_authors")
    return found if room is None else f"{found}fewer most_authors (now {room}) where documents have fewer, "

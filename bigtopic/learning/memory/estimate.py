"""Memory of a run, estimated before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError, warn
from bigtopic.learning.executors.protocol import ExecutorSpec, Run
from bigtopic.learning.memory.footprint import Footprint
from bigtopic.parallel import cluster
from bigtopic.state import machine_memory
from bigtopic.state.params import Params

__all__ = ["WorkerMemory", "check_memory", "estimate_bytes", "estimate_task_bytes", "fitting_threads"]


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


def estimate_task_bytes(run: Run, params: Params, axes: Mapping[str, Vocabulary], n_slices: int) -> int:
    """Bytes of one task of so many slices, of a graph on a worker, without the params; for the other arguments see
    `estimate_bytes`."""
    return Footprint(run, params, axes).of_task(n_slices)


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
            f"about {footprint.on_threads(n_threads, compares) / 1e9:.2f} GB; for more of them, choose {_others(run)}"
            "fewer topics, or a smaller batch_size"
        )
    return fitting


def _fits(footprint: Footprint, n_threads: int, compares: bool) -> bool:
    """Whether the run fits into the machine's memory, as far as that is known."""
    have = machine_memory.total_bytes()
    if have is None or footprint.at_most(n_threads, compares) < have:
        return True  # nearly always, and quickly decided
    return footprint.on_threads(n_threads, compares) < have


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
        f"choose a smaller batch_size (now {run.plan.batch_size}), {_others(run)}"
        f"fewer topics (now {run.work.hyper.n_components}) or fewer threads (now {n_threads})",
    )


def _others(run: Run) -> str:
    """Further settings to lower: those of replicas, and the room for authors in what is remembered of an entry."""
    plan, found = run.plan, ""
    if plan.replicas > 1:
        found = f"fewer replica_updates (now {plan.replica_updates}) or replicas=1 (now {plan.replicas}), "
    room = run.work.hyper.options.get("most_authors")
    return found if room is None else f"{found}fewer most_authors (now {room}) where documents have fewer, "


class WorkerMemory:
    """Which workers of a Dask client can hold the tasks of a run, those that join later included.

    Parameters
    ----------
    run, params, axes : as for `estimate_bytes`
    spec : of the executor, with `worker_bytes`

    Raises
    ------
    SettingError
        When a worker cannot hold its tasks; for an executor that uses one worker at a time, when none can. The error
        names the smallest of them, or the largest if one is enough, and the settings that would make it fit.
    """

    def __init__(
        self, run: Run, params: Params, axes: Mapping[str, Vocabulary], client: Any, spec: ExecutorSpec
    ) -> None:
        assert spec.worker_bytes is not None
        self._plan, self._n_components, self._others = run.plan, run.work.hyper.n_components, _others(run)
        self._bytes = partial(spec.worker_bytes, Footprint(run, params, axes), client)
        self._client, self._uses_all = client, not spec.one_worker
        self._limits: dict[str, tuple[int, int]] = {}
        self._small: dict[str, str] = {}
        self._look()
        if self._small and (self._uses_all or len(self._small) == len(client.nthreads())):
            raise SettingError(list(self._small.values())[0 if self._uses_all else -1])

    def able(self) -> list[str] | None:
        """Addresses of the workers that can hold the tasks; None if all of them can, or none.

        Warns, once, of a worker that has joined and cannot, where the executor uses all.
        """
        known = set(self._small)
        self._look()
        if self._uses_all and (new := self._small.keys() - known):
            warn(self._small[min(new)])
        if not self._small:
            return None
        return [worker for worker in self._client.nthreads() if worker not in self._small] or None

    def _look(self) -> None:
        """Compare the workers with what they need, if there are others than before."""
        limits = cluster.memory_limits(self._client)
        if limits == self._limits:
            return
        self._limits, need = limits, cache(self._bytes)
        self._small = {
            worker: self._refusal(worker, n_threads, have, need(n_threads))
            for worker, (n_threads, have) in sorted(limits.items(), key=lambda item: item[1][1])
            if need(n_threads) >= have
        }

    def _or_slice_size(self) -> str:
        return "" if self._plan.whole_minibatches else f" or slice_size (now {self._plan.slice_size})"

    def _refusal(self, worker: str, n_threads: int, have: int, need: int) -> str:
        other = "connect without this worker" if self._uses_all else "add a larger worker"
        return (
            f"worker {worker} has {have / 1e9:.2f} GB, and its tasks for this model need about {need / 1e9:.2f} GB; "
            f"choose a smaller batch_size (now {self._plan.batch_size}){self._or_slice_size()}, "
            f"{self._others}fewer topics (now {self._n_components}), or workers with fewer threads (now "
            f"{n_threads}) or a larger memory_limit; or {other}"
        )

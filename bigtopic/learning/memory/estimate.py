"""Whether a run fits: into the memory of this machine, and of which workers of a Dask client.

A worker can hold the tasks of a run if

    held + worker < pauses x limit

where `worker` is what the executor's tasks need (`footprint`), and `held` is the memory of the worker's process
without them. Dask pauses the worker at `pauses` of its limit: from then on it begins no task.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError, argument, warn
from bigtopic.learning import _kernels, sharing
from bigtopic.learning.executors.base import ExecutorSpec
from bigtopic.learning.memory.footprint import Footprint
from bigtopic.learning.run import Run
from bigtopic.parallel import workers
from bigtopic.state import machine_memory
from bigtopic.state.params import Params

__all__ = [
    "Memory",
    "WorkerMemory",
    "check_memory",
    "estimate_bytes",
    "fitting_threads",
    "memory_of_workers",
    "others",
]


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
    """Further settings to lower: of replicas, and the room for authors in the state of an entry."""
    plan, found = run.plan, ""
    if plan.replicas > 1:
        found = (
            f"fewer {argument('replica_updates')} (now {plan.replica_updates}) or {argument('replicas', 1)} "
            f"(now {plan.replicas}), "
        )
    room = run.work.hyper.options.get("most_authors")
    return found if room is None else f"{found}fewer most_authors (now {room}) where documents have fewer, "


PAUSES_AT = 0.8  # of its limit, a worker that does not answer: Dask's default
MACHINE_CODE = 16 << 20  # bytes of the kernels of a run
AGAIN_SECONDS = 0.0, 0.1, 0.5, 1.0  # before workers are asked, again: they may be releasing an earlier run


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
        self._plan, self._n_components, self._others = run.plan, run.work.hyper.n_components, others(run)
        self._bytes = partial(spec.worker_bytes, Footprint(run, params, axes), client)
        self._client, self._uses_all = client, not spec.one_worker
        self._memory: dict[str, Memory] = {}
        self._small: dict[str, str] = {}
        for seconds in AGAIN_SECONDS:
            time.sleep(seconds)
            self._memory = {}
            self._look()
            if not self._refuses():
                return
        raise SettingError(list(self._small.values())[0 if self._uses_all else -1])

    def _refuses(self) -> bool:
        """Whether too few workers can hold their tasks."""
        allowed = workers.chosen(self._client) or self._client.nthreads()
        return bool(self._small) and (self._uses_all or self._small.keys() >= {*allowed})

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
        memory = memory_of_workers(self._client, self._memory)
        if memory == self._memory:
            return
        self._memory, need = memory, cache(self._bytes)
        self._small = {
            worker: self._refusal(worker, have, need(have.n_threads))
            for worker, have in sorted(memory.items(), key=lambda item: item[1].limit)
            if need(have.n_threads) + have.held >= have.pauses * have.limit
        }

    def _or_slice_size(self) -> str:
        return "" if self._plan.whole_minibatches else f" or slice_size (now {self._plan.slice_size})"

    def _refusal(self, worker: str, have: Memory, need: int) -> str:
        other = "connect without this worker" if self._uses_all else "add a larger worker"
        enough = (need + have.held) / have.pauses
        return (
            f"worker {worker} has {have.limit / 1e9:.2f} GB, of which it uses {have.pauses:.0%} before Dask pauses it: "
            f"its process holds {have.held / 1e9:.2f} GB already, imported packages and what other work left there, "
            f"and its tasks for this model need about {need / 1e9:.2f} GB; "
            f"choose a smaller {argument('batch_size')} (now {self._plan.batch_size}){self._or_slice_size()}, "
            f"{self._others}fewer topics (now {self._n_components}), or workers with fewer threads (now "
            f"{have.n_threads}) or a larger memory_limit ({enough / 1e9:.2f} GB or more); or {other}"
        )


class Memory(NamedTuple):
    """The memory of a Dask worker, in bytes.

    Attributes
    ----------
    n_threads : number of its threads
    limit : its `memory_limit`
    pauses : share of the limit at which Dask pauses it: then it begins no task
    held : memory of its process before any task of a run: imported packages, and data of other tasks. Without stored
        results, which Dask writes to the disk before it pauses a worker
    """

    n_threads: int
    limit: int
    pauses: float
    held: int


def memory_of_workers(client: Any, known: Mapping[str, Memory]) -> dict[str, Memory]:
    """Memory of the workers whose memory is limited, by address; those in `known` are not asked again."""
    described, allowed = workers.described(client), workers.chosen(client)
    found = {
        address: known.get(address, Memory(worker["nthreads"], worker["memory_limit"], PAUSES_AT, 0))
        for address, worker in described.items()
        if worker["memory_limit"] and (allowed is None or address in allowed)
    }
    if found.keys() <= known.keys():
        return found
    unlimited: dict[str, Any] = {address: None for address in described if address not in found}
    answers = workers.ask(client, _memory_here, known=unlimited | dict(known))
    # A worker that does not answer counts as empty
    return found | {address: answers[address] for address in found if answers.get(address)}


def _memory_here(dask_worker: Any) -> Memory | None:
    """The memory of this worker, once unused memory is returned and all that tasks need is imported; None without a
    limit."""
    manager = dask_worker.memory_manager
    if not manager.memory_limit:
        return None
    _run_compiled_code()
    sharing.give_back()
    stored = getattr(getattr(dask_worker.data, "fast", None), "total_weight", 0)
    held = max(0, int(dask_worker.monitor.get_process_memory() - stored)) + MACHINE_CODE
    pauses = manager.memory_pause_fraction or 1.0  # False where Dask never pauses it
    return Memory(dask_worker.state.nthreads, manager.memory_limit, float(pauses), held)


def _run_compiled_code() -> None:
    """Load the compiler, which takes more memory than the code that it compiles."""
    ids, places = np.zeros(1, np.int32), np.zeros((2, 2), np.int32)
    _kernels.join_ids(ids, ids, np.full(1, -1, np.int32), places[0], places[1])

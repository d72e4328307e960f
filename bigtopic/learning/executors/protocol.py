"""The interface of executors: their inputs and their guarantees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self
from weakref import finalize

from bigtopic.learning import sharing
from bigtopic.learning.rounds import Settings
from bigtopic.learning.work import Work
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.slices import Plan
from bigtopic.state.params import Params

__all__ = ["AbleWorkers", "Executor", "ExecutorSpec", "MemoryOfRun", "Run", "Updates"]

Updates = Iterator[tuple[Params, list[RoundReport]]]
"""Yields, repeatedly, the params after some rounds and the reports of these rounds."""

AbleWorkers = Callable[[], list[str] | None]
"""Addresses of the workers of a client that have the memory for the tasks, at this moment; None for all."""


@dataclass(frozen=True)
class Run:
    """Everything that stays the same during a run; picklable.

    On a Dask worker, a copy lives as long as the run: until the driver, or Dask for a driver that is gone, releases it,
    and no task is left at work. Then the worker gives back the memory that rests there. A task could not do this, since
    no task comes to a worker that Dask has paused because of that memory. So tasks that use `buffers` take the run.

    Attributes
    ----------
    parts : of the corpus, in order
    plan : which documents make up each round
    work : what every task needs
    settings : what a step needs
    unseen : whether no callback, score or checkpoint sees the model before the run ends
    """

    parts: Sequence[Any]
    plan: Plan
    work: Work
    settings: Settings
    unseen: bool = False

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        finalize(self, sharing.give_back).atexit = False


class Executor(Protocol):
    """Runs the rounds of one run. Every method and model runs on every executor.

    Subclasses need not define `__enter__` and `__exit__`.

    *Bits.* Params and reports depend only on the run, the params and the cursor: not on the number of threads and
    workers, their hosts, workers that die, or how calls of `advance` divide the run. (An executor that is not
    `synchronous` guarantees only that every round of a pass is done exactly once.)

    *Params.* They belong to the caller. `advance` may update in place those it was given, or yield others; the last
    ones yielded hold the rounds reported so far, and the caller passes them to the next `advance`. While the caller has
    control, between two yields, they do not change: it may read, copy and save them, and must not change them. Document
    state is written before the params are updated by its round, or, of a run that is `unseen`, at the latest by
    `close`. So everything a run remembers is in the params and in document state, and another executor can continue
    from there.

    *Reports.* One for each round, in the order of the updates: their steps continue the cursor's.

    *Failures.* The iteration raises what a task, a scheme or the cluster raises, after yielding the rounds done before:
    the params yielded last hold exactly these rounds, so the caller's model is valid. (With delayed updates this may be
    inside a segment: continuing from there may not give the bits of the undisturbed run. An executor that does rounds
    together may lose those that it did together with the one that fails.) The loss of a worker is not a failure: its
    work is done again.
    """

    def advance(
        self,
        params: Params,
        cursor: Cursor,
        max_rounds: int | None = None,
        max_seconds: float | None = None,
        n_passes: int = 1,
    ) -> Updates:
        """Do rounds from the cursor on. One call at a time; the caller may stop iterating after any yield.

        Parameters
        ----------
        params : updated, see above
        cursor : their position in the run
        max_rounds : stop at the first place where at least this many are done and a run can be cut: at the end of a
            segment (see `slices`)
        max_seconds : start no segment after this many seconds; with 0, nothing is done
        n_passes : the caller does not read the params between the next `n_passes` passes, this one included, so an
            executor that does many rounds together may do that many. Otherwise it stops at the end of the pass

        Yields
        ------
        Params after at least one round, and the reports of all rounds since the last yield. At each yield the run can
        be cut. Yields nothing when no round, or no time, is left.
        """

    def use_workers(self, able: AbleWorkers) -> None:
        """Prefer these workers for tasks. Called at most once, before the first rounds."""
        return None

    def close(self) -> None:
        """Release threads, files and data on workers. May be called repeatedly, and after a failure; `advance` is never
        called after it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MemoryOfRun(Protocol):
    """The memory of a run, in bytes; `bigtopic.learning.memory.footprint.Footprint` estimates it."""

    @property
    def has_whole_rounds(self) -> bool:
        """Whether one worker does the rounds before replicas begin, see `choice.begins_whole`."""

    def on_threads(self, n_threads: int, compares: bool = False, whole: bool = False) -> int:
        """Of the whole run, on threads of one process; or, if `whole`, of rounds that no replicas share."""

    def of_params(self) -> int:
        """Of the params."""

    def of_documents(self) -> int:
        """Of the documents that are sent to workers."""

    def of_tasks(self, n_threads: int, mapped: bool, all_threads: int) -> int:
        """Of a worker that does tasks of the graphs executor, its params `mapped` or sent; `all_threads` of a cluster
        share a round."""


@dataclass(frozen=True)
class ExecutorSpec:
    """An executor, as its file declares it.

    Attributes
    ----------
    make : (run, client, n_threads) -> Executor; the client is None unless `on_client` is true
    on_client : whether it runs tasks on a Dask client
    synchronous : whether it gives the bits of rounds done one after the other
    worker_bytes : (memory of the run, client, n_threads) -> memory of a worker with so many threads; None if unknown
    one_worker : whether its tasks run on one worker at a time, so that one that is large enough suffices
    """

    make: Callable[[Run, Any, int], Executor]
    on_client: bool = False
    synchronous: bool = True
    worker_bytes: Callable[[MemoryOfRun, Any, int], int] | None = None
    one_worker: bool = False

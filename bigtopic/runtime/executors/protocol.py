"""What an executor is told, and what it promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from bigtopic.runtime.params import Params
from bigtopic.runtime.rounds import Cursor, RoundReport, Settings
from bigtopic.runtime.slices import Plan
from bigtopic.runtime.work import Work

if TYPE_CHECKING:
    from bigtopic.runtime.footprint import Footprint

__all__ = ["Executor", "ExecutorSpec", "Run", "Updates"]

Updates = Iterator[tuple[Params, list[RoundReport]]]
"""Yields, again and again, the params after some rounds and the reports of these rounds."""


@dataclass(frozen=True)
class Run:
    """Everything that stays the same during a run; picklable.

    Attributes
    ----------
    parts : of the corpus, in order
    plan : which documents make up each round
    work : what every task needs
    settings : what a step needs
    """

    parts: Sequence[Any]
    plan: Plan
    work: Work
    settings: Settings


class Executor(Protocol):
    """Runs the rounds of one run. Every method and model runs on every executor.

    A subclass of this one need not write `__enter__` and `__exit__`.

    *Bits.* Params and reports follow from the run, the params and the cursor alone. The number of threads and workers,
    where they are, how often one dies, and how the calls of `advance` cut the run change none. (An executor that is not
    `synchronous` promises only that every round of a pass is done exactly once.)

    *Params.* They are the caller's. `advance` may move those it was given in place, or yield others; those it yielded
    last are the ones that hold the rounds reported so far, and the caller gives them to the next `advance`. While the
    caller has the turn, between two yields, they do not move: it may read, copy and save them, and must not change
    them. What documents remember is written before the params move by their round. So everything a run remembers is in
    the params and in the state of its documents, and another executor can go on from there.

    *Reports.* One for each round, in the order of the updates: their steps count on from the cursor's.

    *Failures.* What a task, a scheme or the cluster raises is raised by the iteration, after the rounds done before
    were yielded: the params that were yielded last hold these and nothing else, so the caller's model is valid. (Where
    updates are delayed this may be inside a stretch: who goes on from there need not get the bits of the undisturbed
    run. An executor that does rounds together may lose those that it did together with the one that fails.) What is
    lost with a worker is no failure; it is done again.
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
        params : moved, see above
        cursor : where they stand
        max_rounds : end where at least so many are done and a run can be cut: at the end of a stretch (`slices`)
        max_seconds : begin no stretch after so many seconds; with 0, nothing is done
        n_passes : the caller does not look at the params between the next `n_passes` passes, this one included, so an
            executor that does many rounds together may do that many. Otherwise it ends with the pass

        Yields
        ------
        Params after at least one round, and the reports of all rounds since the last yield. At each yield the run can
        be cut. Nothing is yielded when no round is left, or no time.
        """

    def close(self) -> None:
        """Release threads, files and data on workers. May be called again, and after a failure; `advance` is not called
        after it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class ExecutorSpec:
    """What a file says of its executor.

    Attributes
    ----------
    make : (run, client, n_threads) -> Executor; the client is None unless the executor is one for clients
    on_client : whether it runs tasks on a Dask client
    synchronous : whether it gives the bits of rounds that are done one after the other
    worker_bytes : (footprint of the run, client, n_threads) -> what a worker of so many threads has in memory; None
        where nobody knows
    """

    make: Callable[[Run, Any, int], Executor]
    on_client: bool = False
    synchronous: bool = True
    worker_bytes: Callable[[Footprint, Any, int], int] | None = None

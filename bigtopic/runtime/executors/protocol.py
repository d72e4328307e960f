"""What an executor is told, and what it promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from bigtopic.runtime.params import Params
from bigtopic.runtime.rounds import Cursor, RoundReport, Settings
from bigtopic.runtime.slices import Plan
from bigtopic.runtime.work import Work

__all__ = ["Executor", "ExecutorSpec", "Progress", "Run"]

Progress = Iterator[tuple[Params, list[RoundReport]]]
"""The params after some rounds, and the reports of these rounds, again and again."""


@dataclass(frozen=True)
class Run:
    """Everything that stays the same during a run; picklable."""

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
    ) -> Progress:
        """Do rounds from the cursor on. One call at a time; the caller may stop iterating after any yield.

        Parameters
        ----------
        params : moved, see above
        cursor : where they stand
        max_rounds : end where at least so many are done and a run can be cut: at the end of a stretch (`slices`)
        max_seconds : begin no stretch after so many; with 0, nothing is done
        n_passes : nobody looks at the params at the ends of the next so many passes, this one included: an executor
            that does many rounds together may go on so far. Else it ends with the pass

        Yields
        ------
        Params after at least one round, and the reports of all rounds since the last yield. At each yield the run can
        be cut. Nothing is yielded when no round is left, or no time.
        """

    def close(self) -> None:
        """Give back threads, files and what lies on workers; again, or after a failure, without harm. After it,
        `advance` is not called."""

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
    """

    make: Callable[[Run, Any, int], Executor]
    on_client: bool = False
    synchronous: bool = True

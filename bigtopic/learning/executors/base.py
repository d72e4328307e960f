"""Executors: where rounds run. Most compute tasks somewhere and add them along the merge tree (`map_reduce`); which
tasks, and what their sum does to the params, is the same for all of these (`MapReduceExecutor`)."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from bigtopic.learning.replicas.changes import add_changes
from bigtopic.learning.replicas.share import Share
from bigtopic.learning.rounds import iteration_of, round_stats, step
from bigtopic.learning.run import Iteration, Run, Settings
from bigtopic.learning.stopping import uninterrupted
from bigtopic.learning.tasks import ShareTask, SliceTask, Task
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.slices import Exchange, Round
from bigtopic.state.lazy_array import Additions, LazyArray
from bigtopic.state.params import Overlay, Params
from bigtopic.types import Stats

__all__ = [
    "AbleWorkers", "Arrays", "Executor", "ExecutorSpec", "MapReduceExecutor", "MemoryOfRun", "Until", "Updates",
    "before_failure", "reported",
]  # fmt: skip

Arrays = Mapping[str, LazyArray | Overlay]

Updates = Iterator[tuple[Params, list[RoundReport]]]
"""Yields, repeatedly, the params after some rounds and the reports of these rounds."""

AbleWorkers = Callable[[], list[str] | None]
"""Addresses of the workers of a client that have the memory for the tasks, at this moment; None for all."""


class Until(NamedTuple):
    """Where `Executor.advance` stops; by default at the end of the pass.

    max_rounds : at the first place where at least this many are done and a run can be cut: between exchanges
    max_seconds : start no exchange after this many seconds; with 0, nothing is done
    n_passes : the caller does not read the params between the next `n_passes` passes, this one included, so an executor
        that does many rounds together may do that many. Otherwise it stops at the end of the pass
    """

    max_rounds: int | None = None
    max_seconds: float | None = None
    n_passes: int = 1


class Executor(ABC):
    """Runs the rounds of one run. Every method and model runs on every executor.

    Most are a `MapReduceExecutor`. Others define `advance`, and `close` where there is something to release.

    *Bits.* Params and reports depend only on the run, the params and the cursor: not on the number of threads and
    workers, their hosts, workers that die, or how calls of `advance` divide the run. (An executor that is not
    `synchronous` guarantees only that every round of a pass is done exactly once.)

    *Params.* They belong to the caller. `advance` may update in place those it was given, or yield others; the last
    ones yielded hold the rounds reported so far, and the caller passes them to the next `advance`. While the caller has
    control, between two yields, they do not change: it may read, copy and save them, and must not change them. Document
    state is written before the params are updated by its round. So everything that a run remembers is in the params and
    in document state, and another executor can continue from there.

    *Reports.* One for each round, in the order of the updates: their steps continue the cursor's.

    *Failures.* The iteration raises what a task, a scheme or the cluster raises, after yielding the rounds done before:
    the params yielded last hold exactly these rounds, so the caller's model is valid. (This may be inside an exchange:
    continuing from there may not give the bits of the undisturbed run. An executor that does rounds together may lose
    the rounds that it did together with the failing one.) The loss of a worker is not a failure: its work is done
    again.

    Attributes
    ----------
    run : see `bigtopic.learning.run`
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @abstractmethod
    def advance(self, params: Params, cursor: Cursor, until: Until) -> Updates:
        """Do rounds from the cursor on. One call at a time; the caller may stop iterating after any yield.

        Parameters
        ----------
        params : updated, see above
        cursor : their position in the run
        until : where to stop

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
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MapReduceExecutor(Executor):
    """Computes tasks somewhere and adds them along the merge tree; override `prefetch` and `stepping` for speed."""

    @abstractmethod
    def map_reduce(self, rounds: Sequence[Sequence[Task]], arrays: Arrays) -> list[Any]:
        """Compute the tasks of some rounds, in any order or all at once.

        When it returns or raises, no task is still running, and the state of the documents is written. Keep about as
        many results as there are threads, besides the sums: a round may cover the whole corpus.

        Parameters
        ----------
        rounds : the tasks of each, all of one kind; shares of an exchange are one round
        arrays : of the params. The same objects may come again with other values, so send them in every call. They do
            not change during the call

        Returns
        -------
        list
            For each round, the sum of what its tasks compute, along the merge tree (`learning.reduce`).
        """

    def prefetch(self, tasks: Sequence[SliceTask]) -> None:
        """Begin to read what these tasks need: their exchange follows the one that `map_reduce` gets next."""
        return None

    @contextmanager
    def stepping(self) -> Iterator[Callable[[Additions], None]]:
        """Around the steps of an exchange; yields a function that makes their additions to rows."""
        yield partial(Additions.do, n_threads=1)

    def advance(self, params: Params, cursor: Cursor, until: Until) -> Updates:
        """See `Executor.advance`. It stops at the end of the pass."""
        begun, n_rounds = time.perf_counter(), 0
        exchanges = self.run.plan.exchanges(cursor.pass_number, cursor.round, cursor.ahead)
        for exchange, following in pairwise(chain(exchanges, [None])):
            assert exchange is not None
            late = until.max_seconds is not None and time.perf_counter() - begun >= until.max_seconds
            if late or (until.max_rounds is not None and n_rounds >= until.max_rounds):
                return
            reports: list[RoundReport] = []
            cursors = [
                Cursor(cursor.pass_number, rnd.number, step)
                for step, rnd in enumerate(exchange.rounds, cursor.step + n_rounds)
            ]
            if following is not None:
                self._prefetch(following, cursor.pass_number)
            yield from reported(params, reports, partial(self._exchange, params, exchange, cursors, reports))
            n_rounds += len(reports)

    def _exchange(
        self, params: Params, exchange: Exchange, cursors: Sequence[Cursor], reports: list[RoundReport]
    ) -> None:
        """Move the params by an exchange; if it fails, the reports say which of its rounds were done."""
        settings, arrays = self.run.settings, params.without_means().arrays
        if exchange.copies:
            averaged = settings.schemes if settings.averages(cursors[-1].step + 1) else ()
            shares = [ShareTask(share) for share in _shares(exchange, cursors)]
            (changes,) = self.map_reduce([shares], arrays)
            with uninterrupted(), self.stepping():
                add_changes(params, changes, averaged, settings.later_phase)
                reports.extend(changes.reports)
        elif len(exchange.rounds) == 1:
            stats = round_stats(params, exchange.rounds[0], cursors[0], settings, self._round)
            self._steps(params, [stats], cursors, reports)
        else:
            tasks = [
                _tasks(rnd, iteration_of(cursor, 1, settings))
                for rnd, cursor in zip(exchange.rounds, cursors, strict=True)
            ]
            self._steps(params, self.map_reduce(tasks, arrays), cursors, reports)

    def _round(self, rnd: Round, arrays: Arrays, iteration: Iteration) -> Stats:
        (stats,) = self.map_reduce([_tasks(rnd, iteration)], arrays)
        assert isinstance(stats, Stats)
        return stats

    def _steps(
        self, params: Params, stats: Sequence[Stats], cursors: Sequence[Cursor], reports: list[RoundReport]
    ) -> None:
        """A step for each of some rounds that began from the same params. Their steps add up to at most 1."""
        settings, largest = self.run.settings, 1.0 / len(stats)
        with self.stepping() as do, _additions_together(params, settings, len(stats), do):
            for missed, (one, cursor) in enumerate(zip(stats, cursors, strict=True)):
                with uninterrupted():
                    reports.append(step(params, cursor, one, settings, largest, missed))

    def _prefetch(self, exchange: Exchange, pass_number: int) -> None:
        if exchange.copies:
            return
        iteration = Iteration(0, pass_number=pass_number)
        self.prefetch([task for rnd in exchange.rounds for task in _tasks(rnd, iteration)])


def _tasks(rnd: Round, iteration: Iteration) -> list[SliceTask]:
    return [SliceTask(ref, iteration) for ref in rnd.slices]


def _shares(exchange: Exchange, cursors: Sequence[Cursor]) -> list[Share]:
    cursor_of = dict(zip((rnd.number for rnd in exchange.rounds), cursors, strict=True))
    return [
        Share(rounds, [cursor_of[rnd.number] for rnd in rounds], len(cursors)) for rounds in exchange.shares
    ]


@contextmanager
def _additions_together(
    params: Params, settings: Settings, n_steps: int, do: Callable[[Additions], None]
) -> Iterator[None]:
    """In this context, several steps defer their additions to rows, if they can; the additions are made at the end."""
    arrays = params.without_means().arrays
    alone = settings.prior_schemes or settings.average or not settings.is_linear
    if n_steps == 1 or alone or any(array.dtype.kind != "f" for array in arrays.values()):
        yield
        return
    additions = Additions()
    for array in arrays.values():
        array.deferred, array.keeps_scale = additions, True
    try:
        yield
    finally:
        with uninterrupted():
            try:
                do(additions)
            finally:
                for array in arrays.values():
                    array.deferred, array.keeps_scale = None, False
                    array.fold_if_small()


def reported(params: Params, reports: list[RoundReport], work: Callable[[], None]) -> Updates:
    """Yield the params and the reports of rounds that `work` does; if it fails, of those done before."""
    try:
        work()
    except BaseException as failure:
        if reports:
            yield from before_failure(params, reports, failure)
        raise
    yield params, reports


def before_failure(params: Params, reports: list[RoundReport], failure: BaseException) -> Updates:
    """Yield the rounds done before a failure, which the caller then raises; raise it if the caller stops iterating."""
    try:
        yield params, reports
    except GeneratorExit:
        raise failure from None


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

    def of_pushes(self, n_threads: int) -> int:
        """Of a worker of an asynchronous run."""


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

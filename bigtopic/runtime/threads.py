"""The in-process executor: threads call the task functions; numba releases the interpreter lock."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from bigtopic.runtime.estep import Gathered, Turn, Work, evaluate, gather
from bigtopic.runtime.params import LazyArray, Overlay, Params
from bigtopic.runtime.pipeline import Pipeline
from bigtopic.runtime.reading import UnitReader
from bigtopic.runtime.rounds import Cursor, RoundReport, Settings, run_stretch, step, turn_of
from bigtopic.runtime.slices import Plan, Round, SliceRef
from bigtopic.types import Stats

__all__ = ["Run", "ThreadExecutor", "by_stretches"]

CACHE_BYTES = 64 << 20  # a corpus this small is decoded once for all passes
ENTRY_BYTES = 8
UNITS_AHEAD = 2  # of the next stretch


@dataclass(frozen=True)
class Run:
    """Everything that stays the same during a run; picklable."""

    parts: Sequence[Any]
    plan: Plan
    work: Work
    settings: Settings


class ThreadExecutor:
    """Runs rounds on threads of this process.

    Parameters
    ----------
    run : corpus parts, plan, kernel and schemes
    n_threads : at least 1; does not change the result
    """

    def __init__(self, run: Run, n_threads: int = 1) -> None:
        self._run = run
        self._n_threads = n_threads
        n_entries = run.plan.n_docs * run.plan.entries_per_doc
        self._reader = UnitReader(run.parts, keep_all=n_entries * ENTRY_BYTES <= CACHE_BYTES)
        helpers = n_threads - 1  # the caller's thread works too
        self._pool = ThreadPoolExecutor(helpers, thread_name_prefix="bigtopic") if helpers else None

    def advance(
        self,
        params: Params,
        cursor: Cursor,
        max_rounds: int | None = None,
        max_seconds: float | None = None,
        n_passes: int = 1,
    ) -> Iterator[tuple[Params, list[RoundReport]]]:
        """Stretches of rounds from the cursor to the end of its pass, or to the end of the one that reaches
        `max_rounds`; none begun after `max_seconds`. Nobody looks at the params at the ends of the next `n_passes`
        passes: an executor that does many rounds together may go on so far (this one does not).

        Yields the params after some rounds, at least one, and the reports of these rounds: here after each stretch,
        `params` itself, moved in place. A failure is raised after the rounds done before it were yielded.
        """
        stretches = self._prefetching(self._run.plan.stretches(cursor.epoch, cursor.round))
        return by_stretches(stretches, params, cursor, max_rounds, max_seconds, self._do)

    def read_ahead(self, cursor: Cursor) -> None:
        """Begin to read what the round at the cursor needs."""
        for rnd in islice(self._run.plan.rounds(cursor.epoch, cursor.round), 1):
            self._reader.prefetch(rnd.slices[0].unit)

    def _do(
        self, params: Params, stretch: Sequence[Round], cursor: Cursor, reports: list[RoundReport]
    ) -> None:
        settings, plan = self._run.settings, self._run.plan
        if not settings.one_turn:
            reports.extend(run_stretch(params, stretch, cursor, settings, self.map_reduce))
            return
        cursors = [replace(cursor, round=rnd.number, step=cursor.step + i) for i, rnd in enumerate(stretch)]
        turns = [turn_of(here, 1, settings) for here in cursors]

        def move(number: int, stats: Stats) -> None:
            reports.append(step(params, cursors[number], stats, settings))

        jobs = _Jobs(self._reader, self._run.work, params.arrays, turns, move)
        Pipeline(stretch, jobs, plan.delay).run(self._pool, self._n_threads)

    def map_reduce(self, rnd: Round, arrays: Mapping[str, LazyArray | Overlay], turn: Turn) -> Stats:
        """The statistics of a round at these arrays."""
        found: list[Stats] = []
        jobs = _Jobs(self._reader, self._run.work, arrays, [turn], lambda i, stats: found.append(stats))
        Pipeline([rnd], jobs).run(self._pool, self._n_threads)
        return found[0]

    def close(self) -> None:
        # Slices first: one may be waiting for a unit that only the reader can still deliver.
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._reader.close()

    def __enter__(self) -> ThreadExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prefetching(self, stretches: Iterator[list[Round]]) -> Iterator[list[Round]]:
        """The same stretches; the first units of the next one are being read meanwhile."""
        queue: deque[list[Round]] = deque()
        for stretch in stretches:
            queue.append(stretch)
            units = dict.fromkeys(rnd.slices[0].unit for rnd in stretch)
            for unit in islice(units, UNITS_AHEAD):
                self._reader.prefetch(unit)
            if len(queue) > 1:
                yield queue.popleft()
        yield from queue


@dataclass(frozen=True)
class _Jobs:
    """The jobs of a pipeline: the task functions, on one set of arrays."""

    reader: UnitReader
    work: Work
    arrays: Mapping[str, LazyArray | Overlay]
    turns: Sequence[Turn]
    step: Callable[[int, Stats], None]

    def prefetch(self, ref: SliceRef) -> None:
        self.reader.prefetch(ref.unit)

    def gather(self, number: int, ref: SliceRef) -> Gathered:
        return gather(self.reader.block(ref), self.arrays, self.work)

    def evaluate(self, number: int, ref: SliceRef, gathered: Gathered) -> Stats:
        return evaluate(ref, gathered, self.work, self.turns[number])


def by_stretches(
    stretches: Iterator[list[Round]],
    params: Params,
    cursor: Cursor,
    max_rounds: int | None,
    max_seconds: float | None,
    do: Callable[[Params, list[Round], Cursor, list[RoundReport]], None],
) -> Iterator[tuple[Params, list[RoundReport]]]:
    """What `ThreadExecutor.advance` yields; `do` moves the params by a stretch and appends its reports one by one."""
    begun = time.perf_counter()
    n_rounds = 0
    for stretch in stretches:
        late = max_seconds is not None and time.perf_counter() - begun >= max_seconds
        if late or (max_rounds is not None and n_rounds >= max_rounds):
            return
        reports: list[RoundReport] = []
        try:
            do(params, stretch, replace(cursor, step=cursor.step + n_rounds), reports)
        except BaseException:
            if reports:
                yield params, reports
            raise
        yield params, reports
        n_rounds += len(stretch)

"""The in-process executor: threads call the task functions; numba releases the interpreter lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from bigtopic.runtime.cursor import Cursor
from bigtopic.runtime.estep import Gathered, evaluate, gather
from bigtopic.runtime.executors.pipeline import Pipeline
from bigtopic.runtime.executors.protocol import Executor, ExecutorSpec, Run, Updates
from bigtopic.runtime.executors.stretches import Stretch, by_stretches, do_rounds
from bigtopic.runtime.params import LazyArray, Overlay, Params
from bigtopic.runtime.reading import UnitReader
from bigtopic.runtime.remembering import Remembering, remembering
from bigtopic.runtime.rounds import turn_of
from bigtopic.runtime.slices import Plan, Round, SliceRef
from bigtopic.runtime.work import Turn, Work
from bigtopic.types import Stats

__all__ = ["EXECUTOR", "ThreadExecutor", "keeps_all"]

CACHE_BYTES = 64 << 20  # a corpus this small is decoded once for all passes
ENTRY_BYTES = 8  # a word id and a count
UNITS_AHEAD = 2  # of the next stretch
SLICES_AHEAD = 2  # of the next stretch, besides one for each thread: the pipeline reads the later ones ahead


class ThreadExecutor(Executor):
    """Runs rounds on threads of this process.

    Parameters
    ----------
    run : see `protocol.Run`
    n_threads : at least 1; does not change the result
    """

    def __init__(self, run: Run, n_threads: int = 1) -> None:
        self._run = run
        self._n_threads = n_threads
        self._reader = UnitReader(run.parts, keep_all=keeps_all(run.plan))
        self._remembering = remembering(run.work)
        helpers = n_threads - 1  # the caller's thread works too
        self._pool = ThreadPoolExecutor(helpers, thread_name_prefix="bigtopic") if helpers else None

    def advance(
        self,
        params: Params,
        cursor: Cursor,
        max_rounds: int | None = None,
        max_seconds: float | None = None,
        n_passes: int = 1,
    ) -> Updates:
        """See `Executor.advance`; ends with the pass."""
        return by_stretches(self._run, params, cursor, max_rounds, max_seconds, self._do, self._prefetching)

    def read_ahead(self, cursor: Cursor) -> None:
        """Begin to read what the round at the cursor needs."""
        for rnd in islice(self._run.plan.rounds(cursor.epoch, cursor.round, cursor.ahead), 1):
            self._reader.prefetch(rnd.slices[0].unit)

    def _do(self, stretch: Stretch) -> None:
        settings, delay = self._run.settings, self._run.plan.delay
        if not settings.one_turn:
            do_rounds(stretch, delay, self.map_reduce)
            return
        turns = [turn_of(cursor, 1, settings) for cursor in stretch.cursors]
        self._map([rnd.slices for rnd in stretch.rounds], stretch.params.arrays, turns, stretch.step, delay)

    def map_reduce(self, rnd: Round, arrays: Mapping[str, LazyArray | Overlay], turn: Turn) -> Stats:
        """The statistics of a round at these arrays."""
        found: list[Stats] = []
        self._map([rnd.slices], arrays, [turn], lambda number, stats: found.append(stats))
        return found[0]

    def _map(
        self,
        rounds: Sequence[Sequence[SliceRef]],
        arrays: Mapping[str, LazyArray | Overlay],
        turns: Sequence[Turn],
        step: Callable[[int, Stats], None],
        delay: int = 0,
    ) -> None:
        jobs = _SliceJobs(self._reader, self._remembering, self._run.work, arrays, turns, step)
        Pipeline(rounds, jobs, delay).run(self._pool, self._n_threads)

    def close(self) -> None:
        # Slices first: one may be waiting for a unit that only the reader can deliver.
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._reader.close()
        self._remembering.close()

    def _prefetching(self, stretches: Iterator[list[Round]], epoch: int) -> Iterator[list[Round]]:
        """The same stretches; meanwhile the first units of the next one are read, and the state of its first slices."""
        queue: deque[list[Round]] = deque()
        for stretch in stretches:
            queue.append(stretch)
            units = dict.fromkeys(rnd.slices[0].unit for rnd in stretch)
            for unit in islice(units, UNITS_AHEAD):
                self._reader.prefetch(unit)
            for ref in islice((ref for rnd in stretch for ref in rnd.slices), self._n_threads + SLICES_AHEAD):
                self._remembering.prefetch(ref, epoch)
            if len(queue) > 1:
                yield queue.popleft()
        yield from queue


def keeps_all(plan: Plan) -> bool:
    """Whether all units stay in memory from pass to pass, because the corpus is small."""
    return plan.n_docs * plan.entries_per_doc * ENTRY_BYTES <= CACHE_BYTES


@dataclass(frozen=True)
class _SliceJobs:
    """The jobs of a pipeline whose tasks are slices: the task functions, on one set of arrays."""

    reader: UnitReader
    remembering: Remembering
    work: Work
    arrays: Mapping[str, LazyArray | Overlay]
    turns: Sequence[Turn]
    move: Callable[[int, Stats], None]

    def prefetch(self, ref: SliceRef) -> None:
        self.reader.prefetch(ref.unit)
        self.remembering.prefetch(ref, self.turns[0].epoch)

    def gather(self, number: int, ref: SliceRef) -> Gathered:
        return gather(self.reader.block(ref), self.arrays, self.work)

    def evaluate(self, number: int, ref: SliceRef, gathered: Gathered) -> Stats:
        return evaluate(ref, gathered, self.work, self.turns[number], self.remembering)

    def step(self, number: int, stats: Stats) -> None:
        self.remembering.flush()
        self.move(number, stats)


EXECUTOR = ExecutorSpec(lambda run, client, n_threads: ThreadExecutor(run, n_threads))

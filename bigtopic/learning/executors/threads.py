"""The in-process executor: threads call the task functions; numba releases the interpreter lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice

from bigtopic.learning.crew.memory import Largest
from bigtopic.learning.crew.segment import CrewSegment, Steps
from bigtopic.learning.crew.threads import Crew
from bigtopic.learning.estep import Gathered, evaluate
from bigtopic.learning.executors.documents import Documents, keeps_all
from bigtopic.learning.executors.pipeline import Pipeline
from bigtopic.learning.executors.protocol import Executor, ExecutorSpec, Run, Updates
from bigtopic.learning.executors.segments import Segment, by_segments, do_rounds
from bigtopic.learning.executors.until_end import UntilEnd, may_wait
from bigtopic.learning.loops import works_on
from bigtopic.learning.putting_off import Unsettled, puts_off, putting_off
from bigtopic.learning.remembering import Remembering, keeps_state, remembering
from bigtopic.learning.replicas.changes import Changes, joined
from bigtopic.learning.replicas.share import Share, share_changes
from bigtopic.learning.rounds import iteration_of, knows_factors
from bigtopic.learning.work import Iteration, Work
from bigtopic.parallel import cluster
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.delays import largest_group, longest_segment
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Round, SliceRef
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.overlay import Overlay
from bigtopic.state.params import Params
from bigtopic.types import Stats

__all__ = ["EXECUTOR", "ThreadExecutor"]

LONGEST = 4  # entries of the longest document, in means, for which a crew makes room before it has read any
READ_BLOCKS_AHEAD = 2  # of the next segment
SLICES_AHEAD = 2  # of the next segment, besides one for each thread: the pipeline reads the later ones ahead


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
        self._reader = BlockReader(run.parts, keep_all=keeps_all(run.plan))
        self._documents = Documents(run, self._reader)
        self._crew: Crew | None = None
        self._look_ahead: Callable[[], None] = _nothing
        self._remembering = _remembering(run)
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
        return by_segments(
            self._run, params, cursor, max_rounds, max_seconds, self._do, self._prefetching, self._replicate
        )

    def read_ahead(self, cursor: Cursor) -> None:
        """Begin to read what the round at the cursor needs."""
        for rnd in islice(self._run.plan.rounds(cursor.pass_number, cursor.round, cursor.ahead), 1):
            self._reader.prefetch(rnd.slices[0].read_block)

    def _do(self, segment: Segment) -> None:
        settings = self._run.settings
        if not settings.one_iteration:
            self._look_ahead()
            do_rounds(segment, self.map_reduce)
            return
        cursors, arrays = segment.cursors, segment.params.without_means().arrays
        rounds, steps = [rnd.slices for rnd in segment.rounds], self._steps(segment)

        def iteration(number: int) -> Iteration:
            return iteration_of(cursors[number], 1, settings)

        groups = segment.groups
        if not groups.most_missed:
            self._start_crew(arrays)
        with putting_off(arrays, settings, groups.most_missed, self._n_threads) as unsettled:
            if unsettled is not None and works_on(arrays, self._run.work):
                given = rounds, groups, self._reader, self._run.work.kernel, unsettled, iteration, steps
                self._crew_of(arrays).do(CrewSegment(*given), self._look_ahead)
            else:
                self._look_ahead()
                sees = groups.seen() if groups.most_missed else None
                self._map(rounds, arrays, iteration, steps.one, sees, unsettled)

    def _start_crew(self, arrays: Mapping[str, LazyArray]) -> None:
        """Start the threads of a crew while the first rounds of a run, which miss no update, are at work: to start them
        takes as long as many rounds."""
        run = self._run
        delay = run.plan.delay if self._crew is None and self._n_threads > 1 else 0
        if puts_off(arrays, run.settings, delay) and works_on(arrays, run.work):
            self._crew_of(arrays).start(longest_segment(delay))

    def _crew_of(self, arrays: Mapping[str, LazyArray]) -> Crew:
        """The threads for these params; others end."""
        work, plan = self._run.work, self._run.plan
        (name,) = work.kernel.views
        if self._crew is not None and not self._crew.serves(arrays[name]):
            self._crew.close()
            self._crew = None
        if self._crew is None:
            assert work.kernel.own_loop is not None
            longest = int(LONGEST * plan.entries_per_doc) + 1
            scratch = work.kernel.own_loop.scratch(longest, arrays[name].n_columns)
            largest = Largest(plan.batch_size, int(plan.batch_size * plan.entries_per_doc) + 1, scratch)
            self._crew = Crew(work, arrays, largest_group(plan.delay), largest, self._n_threads)
        return self._crew

    def _steps(self, segment: Segment) -> Steps:
        def one(number: int, stats: Stats) -> None:
            segment.step(number, stats)
            self._remembering.moved(segment.cursors[number].pass_number)

        # Kernels of a crew remember nothing of documents
        return Steps(one, segment.factors if knows_factors(segment.settings) else None, segment.report)

    def _replicate(self, segment: Segment) -> list[Changes]:
        self._look_ahead()
        jobs = _ReplicaJobs(self._reader, self._run, segment.params.without_means().arrays)
        Pipeline([segment.shares], jobs, plus=joined).run(self._pool, self._n_threads)
        return jobs.changes

    def map_reduce(
        self, rnd: Round, arrays: Mapping[str, LazyArray | Overlay], iteration: Iteration
    ) -> Stats:
        """The statistics of a round at these arrays."""
        found: list[Stats] = []
        self._map([rnd.slices], arrays, lambda number: iteration, lambda number, stats: found.append(stats))
        return found[0]

    def _map(
        self,
        rounds: Sequence[Sequence[SliceRef]],
        arrays: Mapping[str, LazyArray | Overlay],
        iteration: Callable[[int], Iteration],
        step: Callable[[int, Stats], None],
        sees: Sequence[int] | None = None,
        unsettled: Unsettled | None = None,
    ) -> None:
        work = self._run.work
        jobs = _SliceJobs(self._documents, self._remembering, work, arrays, iteration, step, unsettled)
        pipeline = Pipeline(rounds, jobs, sees, puts_off=unsettled is not None)
        pipeline.run(self._pool, self._n_threads)

    def close(self) -> None:
        self._look_ahead = _nothing  # which may refer to this executor
        # Slices first: one may be waiting for a read block that only the reader can deliver.
        with ExitStack() as stack:
            stack.callback(cluster.rest)
            stack.callback(self._remembering.close)
            stack.callback(self._reader.close)
            if self._pool is not None:
                stack.callback(self._pool.shutdown, wait=True, cancel_futures=True)
            if self._crew is not None:
                stack.callback(self._crew.close)

    def _prefetching(self, segments: Iterator[Segment], pass_number: int) -> Iterator[Segment]:
        """The same segments; while one is at work, the next one's first read blocks and state are read."""
        queue: deque[Segment] = deque()

        def look_ahead(later: bool = True) -> None:
            self._look_ahead = _nothing
            for segment in islice(segments, 1):
                queue.append(segment)
                read_blocks = dict.fromkeys(rnd.slices[0].read_block for rnd in segment.rounds)
                for read_block in islice(read_blocks, READ_BLOCKS_AHEAD):
                    self._reader.prefetch(read_block)
                self._read_state_ahead(segment, pass_number, later)

        look_ahead(later=False)
        while queue:
            segment, self._look_ahead = queue.popleft(), look_ahead
            yield segment
            self._look_ahead()
            for following in queue:
                self._read_state_ahead(following, pass_number)

    def _read_state_ahead(self, segment: Segment, pass_number: int, later: bool = False) -> None:
        """Of its first slices; the pipeline asks for the others. Replicas read their own."""
        own = [] if segment.shares else segment.rounds
        for ref in islice((ref for rnd in own for ref in rnd.slices), self._n_threads + SLICES_AHEAD):
            self._remembering.prefetch(ref, pass_number, later)


def _nothing() -> None:
    """All that was to be done was done."""


def _remembering(run: Run) -> Remembering:
    files = run.work.state
    if files is not None and run.unseen and may_wait(run) and keeps_state(files.bytes_in_memory()):
        return UntilEnd(files)
    return remembering(run.work, whole=True)


@dataclass
class _SliceJobs:
    """The jobs of a pipeline whose tasks are slices: the task functions, on one set of arrays."""

    documents: Documents
    remembering: Remembering
    work: Work
    arrays: Mapping[str, LazyArray | Overlay]
    iteration: Callable[[int], Iteration]
    move: Callable[[int, Stats], None]
    unsettled: Unsettled | None

    def prefetch(self, ref: SliceRef) -> None:
        self.documents.prefetch(ref)
        self.remembering.prefetch(ref, self.iteration(0).pass_number)

    def gather(self, number: int, ref: SliceRef) -> Gathered:
        arrays = self.arrays if self.unsettled is None else self.unsettled.seen
        return self.documents.gather(ref, arrays)

    def evaluate(self, number: int, ref: SliceRef, gathered: Gathered) -> Stats:
        return evaluate(ref, gathered, self.work, self.iteration(number), self.remembering)

    def step(self, number: int, stats: Stats) -> None:
        self.remembering.flush()
        self.move(number, stats)

    def seal(self) -> None:
        if self.unsettled is not None:
            self.unsettled.seal()

    def settle(self) -> None:
        if self.unsettled is not None:
            self.unsettled.settle()


@dataclass(frozen=True)
class _ReplicaJobs:
    """The jobs of a pipeline whose tasks are the shares of replicas: their changes are its only result."""

    reader: BlockReader
    run: Run
    arrays: Mapping[str, LazyArray]
    changes: list[Changes] = field(default_factory=list)

    def prefetch(self, share: Share) -> None:
        self.reader.prefetch(share.rounds[0].slices[0].read_block)

    def gather(self, number: int, share: Share) -> None:
        """A replica copies the rows that it needs itself."""

    def evaluate(self, number: int, share: Share, gathered: None) -> Changes:
        return share_changes(self.run, share, self.reader.block, self.arrays)

    def step(self, number: int, changes: Changes) -> None:
        self.changes.append(changes)

    def seal(self) -> None:
        """Nothing is put off."""

    def settle(self) -> None:
        """Nothing is put off."""


EXECUTOR = ExecutorSpec(lambda run, client, n_threads: ThreadExecutor(run, n_threads))

"""Delayed updates of kernels that have a compiled loop over slices: threads stay in compiled code, and one at a time
returns to Python, to step and to read documents.

What a round sees, and so what it computes, is what it would see in a `pipeline`. There, threads are in Python between any
two compiled calls: at a few milliseconds for each minibatch, most of many threads would wait for Python's lock.
"""

from __future__ import annotations

import ctypes
import weakref
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Thread
from typing import Any

import numpy as np

from bigtopic import buffers
from bigtopic.kernels.support.entry import frozen, padded_prior
from bigtopic.kernels.support.slice_loop import address_of
from bigtopic.learning import _crew
from bigtopic.learning.estep import check_finite, with_params
from bigtopic.learning.putting_off import Unsettled
from bigtopic.learning.reduce import Tree
from bigtopic.learning.stopping import uninterrupted
from bigtopic.learning.work import Iteration, Work
from bigtopic.plan.delays import Groups
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import NO_MAP, SliceRef, lookup_table
from bigtopic.state.additions import MOST_PARTS, Addition
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.views import linear_mean
from bigtopic.types import AxisStats, Block, Kernel, Stats

__all__ = ["ROOM", "Crew", "CrewMemory", "CrewSegment", "works_on"]

FLOAT = np.dtype(np.float32)
ROOM = 1.25  # times what a slice needs, for a thread: the next slice may be a little larger


def works_on(arrays: Mapping[str, LazyArray], work: Work) -> bool:
    """Whether a crew can do rounds of this kernel on these arrays: if it has a loop over slices, derives nothing from
    documents, reads the means of one array, and returns statistics of that array's words."""
    kernel = work.kernel
    if kernel.own_loop is None or kernel.derives is not None:
        return False
    if list(kernel.views.values()) != ["mean"] or list(kernel.statistics) != list(kernel.views):
        return False
    (array,) = (arrays[name] for name in kernel.views)
    words = array.axis in ("word", "column")
    return words and array.dtype == FLOAT and isinstance(array, LazyArray) and linear_mean(array) is not None


class Crew:
    """Threads that do the segments of a run, one after the other; between two of them they wait.

    Parameters
    ----------
    work, arrays : of the run; `works_on` is true
    largest : slices of the largest group
    n_threads : at least 1, with the one that calls `do`
    """

    def __init__(self, work: Work, arrays: Mapping[str, LazyArray], largest: int, n_threads: int) -> None:
        loop = work.kernel.own_loop
        assert loop is not None
        (name,) = work.kernel.views
        self.array, self.loop, self.memory = arrays[name], loop, CrewMemory(largest)
        self.largest: Counter[str] = Counter()  # sizes of slices, at most
        self._n_words, self._n_threads, self._entry = work.n_words, n_threads, address_of(loop.infer)
        known, hyper, n_columns = (
            work.id_maps.get("word"),
            with_params(work.hyper, arrays),
            self.array.n_columns,
        )
        gates = np.array([_allocate_lock() for _ in range(1 + n_threads)], np.int64)
        weakref.finalize(self, _free_locks, gates.tolist())
        for gate in gates[1:].tolist():
            _acquire_lock(gate, 1)
        self.shared = _crew.Crew(
            np.zeros(_crew.N_COUNTERS, np.int64),
            np.zeros((0, _crew.N_SLICE), np.int64),
            np.zeros((0, _crew.N_GROUP), np.int64),
            np.zeros((0, 1 + len(loop.figures))),
            np.zeros((0, n_columns)),
            gates,
            np.zeros(n_threads, np.int64),
            self.array.raw,
            frozen(NO_MAP if known is None else known, np.int32),
            padded_prior(hyper.doc_topic_prior, n_columns, FLOAT),
            frozen(loop.options(hyper), np.float64),
            _n_parts(n_threads),
        )
        self._threads: list[Thread] = []
        self._segment: CrewSegment | None = None
        self._failure: BaseException | None = None

    def serves(self, array: LazyArray) -> bool:
        """Whether these are the params that the threads read."""
        return array.raw is self.shared.raw

    def do(self, segment: CrewSegment, meanwhile: Callable[[], None]) -> None:
        """Do a segment. Re-raises what one of the threads raised; then they have ended.

        Parameters
        ----------
        meanwhile : called once the other threads are at work
        """
        self._make_room(segment.n_slices, segment.n_groups)
        self._segment, self._failure = segment, None
        try:
            segment.begin()
            with uninterrupted():
                while len(self._threads) < self._n_threads - 1:
                    number = 1 + len(self._threads)
                    thread = Thread(
                        target=self._work_as, args=(number,), name=f"bigtopic-crew_{number}", daemon=True
                    )
                    self._threads.append(thread)
                    thread.start()
            meanwhile()
        except BaseException as failure:
            self._fail(failure)
        self._work_as(0)
        with uninterrupted():  # they may be stepping
            if self._failure is not None:
                self.close()
            segment.end(_crew.finish(self.shared))
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the threads."""
        _crew.stop(self.shared)
        while self._threads:
            self._threads.pop().join()

    def _make_room(self, n_slices: int, n_groups: int) -> None:
        """Begin with tables as long as the largest segment so far; threads that are in compiled code know those that
        they have, so they end, and others begin."""
        shared = self.shared
        if n_slices > len(shared.slices) or n_groups > len(shared.groups):
            self.close()
            self.shared = shared._replace(
                counters=np.zeros_like(shared.counters),
                slices=np.zeros((int(ROOM * n_slices), _crew.N_SLICE), np.int64),
                groups=np.zeros((int(ROOM * n_groups), _crew.N_GROUP), np.int64),
                figures=np.zeros((int(ROOM * n_slices), shared.figures.shape[1])),
                sums=np.zeros((int(ROOM * n_slices), shared.sums.shape[1])),
                asleep=np.zeros_like(shared.asleep),
            )

    def _work_as(self, number: int) -> None:
        """What each thread does until it is told to stop, or, the first one, until the segment is done."""
        try:
            enter = self._entrance(number)
            while (why := enter()) != _crew.OVER:
                if why == _crew.GROWS:
                    enter = self._entrance(number)
                else:
                    with uninterrupted():
                        assert self._segment is not None
                        self._segment.lead()
        except BaseException as failure:
            self._fail(failure)

    def _entrance(self, number: int) -> Callable[[], int]:
        """The compiled loop, with memory for slices as large as those so far."""
        n_columns, sizes = self.array.n_columns, {name: int(n * ROOM) for name, n in self.largest.items()}
        n_entries = sizes["entries"]
        return partial(
            *(_crew.serve, self._entry, self.shared, number, lookup_table(self._n_words)),
            np.empty(sizes["docs"] + 1, np.int64),
            buffers.empty(n_entries, np.int32),
            buffers.empty(n_entries, FLOAT),
            buffers.empty((min(n_entries, self.array.n_rows), n_columns), FLOAT),
            buffers.empty(sizes["scratch"], FLOAT),
        )

    def _fail(self, failure: BaseException) -> None:
        self._failure = self._failure or failure
        _crew.stop(self.shared)


class CrewSegment:
    """The rounds of a segment, as the thread knows them that leads.

    Parameters
    ----------
    crew : the threads
    rounds : the slices of each, in order
    groups : which updates they miss
    reader, kernel : of the run
    unsettled : the params, which steps move
    iterations : one for each round
    step : updates the params by the statistics of a round, given its number
    """

    def __init__(
        self,
        crew: Crew,
        rounds: Sequence[Sequence[SliceRef]],
        groups: Groups,
        reader: BlockReader,
        kernel: Kernel,
        unsettled: Unsettled,
        iterations: Sequence[Iteration],
        step: Callable[[int, Stats], None],
    ) -> None:
        self._crew, self._array, self._loop = crew, crew.array, crew.loop
        self._rounds, self._reader, self._kernel = rounds, reader, kernel
        self._unsettled, self._iterations, self._move = unsettled, iterations, step
        (self._name,) = kernel.views
        self._refs = [ref for rnd in rounds for ref in rnd]
        self._sizes, self._at_work = groups
        self.n_slices, self.n_groups = len(self._refs), len(groups.sizes)
        self._lenses = np.empty((self.n_groups, 3, crew.array.n_columns), FLOAT)
        self._posted = self._posted_groups = 0
        self._round = self._stepped = self._sealed = self._settled = 0
        # Ids, statistics and documents of groups that are posted, and additions of those that are sealed
        self._kept: dict[int, tuple[np.ndarray, np.ndarray, Any]] = {}
        self._additions: dict[int, _Additions] = {}

    def begin(self) -> None:
        """Post the first groups."""
        shared = self._shared = self._crew.shared
        self._slices, self._groups = shared.slices[: self.n_slices], shared.groups[: self.n_groups]
        _fill(self._slices, self._groups, self._rounds, self._sizes)
        for group in range(self._at_work):
            self._see(group, self._unsettled.seen)
        _crew.begin(shared, self.n_slices, self.n_groups, self._at_work)
        for _ in range(min(self._at_work, self.n_groups)):
            self._post()
            _crew.lead(shared, self._posted, 0, 0, False, False)
        self.lead()

    def end(self, settled: int) -> None:
        """So many groups have settled."""
        self._forget(settled)

    def lead(self) -> None:
        """Step and read as long as there is something to step or to read."""
        leaves = settles = False
        while True:
            inferred, taken, settled, by_hand, leads = _crew.lead(
                self._shared, self._posted, self._stepped, self._sealed, settles, leaves
            )
            leaves = settles = False
            self._forget(settled)
            if not leads:
                return
            if by_hand:
                self._unsettled.settle()
                self._has_settled()
                settles = True
            elif not self._step_rounds(inferred) and not self._post_near(taken):
                leaves = True

    def _step_rounds(self, inferred: int) -> bool:
        """Step rounds of one group whose slices are inferred; whether there were any."""
        if inferred == self._stepped:
            return False
        begun, stop = self._round, int(self._groups[self._sealed, _crew.STOP_SLICE])
        found, kernel = self._stats(min(inferred, stop)), self._kernel
        finite = np.isfinite(self._shared.sums[self._stepped : self._stepped + len(found)]).all()
        while (n_slices := len(self._rounds[self._round])) <= len(found):
            tree = Tree(n_slices)
            for _ in range(n_slices):
                stats = found.popleft()
                if not finite:
                    rows = stats.arrays[self._name]
                    assert rows.sums is not None
                    check_finite(kernel, self._name, rows.values, rows.sums, self._iterations[self._round])
                tree.push(stats)
            self._move(self._round, tree.result())
            self._stepped += n_slices
            self._round += 1
            if self._stepped == stop:
                self._seal()
                break
        return self._round > begun

    def _stats(self, stop: int) -> deque[Stats]:
        """The statistics of the slices after those that have stepped."""
        slices, shared, loop = slice(self._stepped, stop), self._shared, self._loop
        all_ids, all_values, _ = self._kept[self._sealed]
        found: deque[Stats] = deque()
        columns = [_crew.FIRST_ID, _crew.FIRST, _crew.N_IDS]
        for ref, (first_id, first, n_ids), sums, (n_tokens, *figures) in zip(
            self._refs[slices],
            self._slices[slices, columns].tolist(),
            shared.sums[slices],
            shared.figures[slices].tolist(),
            strict=True,
        ):
            rows = AxisStats(all_ids[first_id : first_id + n_ids], all_values[first : first + n_ids]).summed(
                sums
            )
            info = dict(zip(loop.figures, figures, strict=True))
            found.append(Stats({self._name: rows}, ref.stop - ref.start, n_tokens, info))
        return found

    def _seal(self) -> None:
        """All rounds of a group have stepped: what they put off may be applied, and the second group after it knows
        what it sees."""
        additions, group = _Additions(self._unsettled.seal()), self._groups[self._sealed]
        group[_crew.ADDITIONS], group[_crew.N_ADDITIONS] = additions.address, additions.number
        self._additions[self._sealed] = additions
        self._see(self._sealed + self._at_work, self._unsettled.sealed)
        self._sealed += 1

    def _see(self, group: int, arrays: Mapping[str, LazyArray]) -> None:
        """The group sees the params as they are in these arrays."""
        if group < self.n_groups:
            linear = linear_mean(arrays[self._name])
            assert linear is not None
            self._lenses[group] = linear[1:]
            self._groups[group, _crew.LENS] = _address(self._lenses[group])

    def _forget(self, settled: int) -> None:
        """So many groups have settled."""
        while self._settled < settled:
            self._unsettled.has_settled()
            self._has_settled()

    def _has_settled(self) -> None:
        del self._kept[self._settled], self._additions[self._settled]
        self._settled += 1

    def _post_near(self, taken: int) -> bool:
        """Post the next group if it is near; whether it was posted."""
        slices = self._slices
        if self._posted == self.n_slices:
            return False
        if taken < self._posted:
            first, at_work = slices[[self._posted, taken], _crew.GROUP].tolist()
            if first > at_work + _crew.NEAR:
                return False
        self._post()
        return True

    def _post(self) -> None:
        """Read the documents of the next group, and make room for its statistics."""
        number = self._posted_groups
        first, stop = self._groups[number, [_crew.FIRST_SLICE, _crew.STOP_SLICE]].tolist()
        blocks: dict[Any, _Documents] = {}
        sizes, n_columns = [], self._array.n_columns
        for ref in self._refs[first:stop]:
            if ref.read_block not in blocks:
                blocks[ref.read_block] = _Documents(self._reader.read_block(ref))
            documents, begin = blocks[ref.read_block], ref.start - ref.read_block_start
            place, n_entries, longest = documents.slice(begin, begin + ref.stop - ref.start)
            size = {"entries": n_entries, "scratch": self._loop.scratch(longest, n_columns)}
            sizes.append(n_entries)
            self._slices[first + len(sizes) - 1, : _crew.GROUP] = (*place, *size.values())
            self._crew.largest |= Counter(size | {"docs": ref.stop - ref.start, "entries": max(1, n_entries)})
        rows = self._crew.memory.begin(number % self._at_work, self._slices[first:stop], self._groups[number], self._array)
        self._kept[number] = *rows, list(blocks.values())
        self._posted, self._posted_groups = stop, number + 1
        if stop < len(self._refs):
            self._reader.prefetch(self._refs[stop].read_block)


class _Documents:
    """The documents of a read block, whose arrays compiled code finds by their addresses."""

    def __init__(self, block: Block) -> None:
        self._indptr = np.ascontiguousarray(block.indptr, np.int64)
        words, counts = np.ascontiguousarray(block.words, np.int32), np.ascontiguousarray(block.counts, FLOAT)
        self._arrays = self._indptr, words, counts
        self._addresses = [_address(array) for array in self._arrays]

    def slice(self, start: int, stop: int) -> tuple[tuple[int, ...], int, int]:
        """Where its documents start:stop are, their entries, and the most entries of one."""
        ends = self._indptr[start : stop + 1]
        longest = int((ends[1:] - ends[:-1]).max(initial=0))
        return (*self._addresses, start, stop), int(ends[-1] - ends[0]), longest


class CrewMemory:
    """Ids and statistics of groups. Arrays for as many groups as may be at work serve all groups of a run by turns. They
    have room for as many words as there are entries, of which only as many rows are written, and so are in memory, as
    words are distinct.

    Parameters
    ----------
    n_slices : of the largest group
    """

    def __init__(self, n_slices: int) -> None:
        self._n_slices = n_slices
        self._by_turns: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def begin(
        self, turn: int, slices: np.ndarray, group: np.ndarray, array: LazyArray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Note where a group and its slices, rows of the tables, have their ids and statistics; and return these."""
        rows = np.minimum(slices[:, _crew.ENTRIES], array.n_rows)
        memory = self._by_turns.get(turn)
        if memory is None or len(memory[0]) < rows.sum() or memory[1].shape[1] != array.n_columns:
            n_ids = int(rows.max() * ROOM) * max(len(slices), self._n_slices)
            memory = buffers.empty(n_ids, np.int32), buffers.empty((n_ids, array.n_columns), FLOAT)
            self._by_turns[turn] = memory
        slices[:, _crew.FIRST_ID] = np.cumsum(rows) - rows
        group[[_crew.IDS, _crew.STATS]] = tuple(map(_address, memory))
        return memory


class _Additions:
    """What the steps of a group add to rows, as a table for compiled code.

    Attributes
    ----------
    number : of additions; -1 if compiled code cannot do them, because some are not of float32
    """

    def __init__(self, batch: Sequence[Addition]) -> None:
        self._arrays = [
            (one.raw, frozen(one.ids, np.int32), frozen(one.values, one.values.dtype), one.factor)
            for one in batch
        ]
        table = np.zeros((len(batch), _crew.N_ADDITION), np.int64)
        for row, arrays in zip(table, self._arrays, strict=True):
            row[:] = (*arrays[0].shape, len(arrays[1]), *map(_address, arrays))
        floats = all(
            a.dtype == FLOAT for raw, _, values, factor in self._arrays for a in (raw, values, factor)
        )
        self._table, self.address, self.number = table, _address(table), len(batch) if floats else -1


def _fill(
    slices: np.ndarray, groups: np.ndarray, rounds: Sequence[Sequence[SliceRef]], sizes: Sequence[int]
) -> None:
    """Fill in what the tables have of rounds before documents are there."""
    slices[:], groups[:] = 0, 0
    n_slices = [len(rnd) for rnd in rounds]
    stops = np.cumsum(n_slices)
    slices[:, _crew.GROUP] = np.repeat(np.repeat(np.arange(len(sizes)), sizes), n_slices)
    slices[:, _crew.ROUND_STOP] = np.repeat(stops, n_slices)
    groups[:, _crew.STOP_SLICE] = stops[np.cumsum(sizes) - 1]
    groups[1:, _crew.FIRST_SLICE] = groups[:-1, _crew.STOP_SLICE]


def _n_parts(n_threads: int) -> int:
    """Into which a batch of additions is divided: two for each thread, since some come late."""
    most = min(MOST_PARTS, 2 * n_threads) if n_threads > 1 else 1
    return 1 << (most.bit_length() - 1)


def _address(array: np.ndarray) -> int:
    """Of the first number of a contiguous array."""
    address: int = array.__array_interface__["data"][0]
    return address


_allocate_lock = ctypes.pythonapi.PyThread_allocate_lock
_allocate_lock.argtypes, _allocate_lock.restype = (), ctypes.c_void_p
_acquire_lock = ctypes.pythonapi.PyThread_acquire_lock
_acquire_lock.argtypes, _acquire_lock.restype = (ctypes.c_void_p, ctypes.c_int), ctypes.c_int
_free_lock = ctypes.pythonapi.PyThread_free_lock
_free_lock.argtypes, _free_lock.restype = (ctypes.c_void_p,), None


def _free_locks(addresses: Sequence[int]) -> None:
    for address in addresses:
        _free_lock(address)

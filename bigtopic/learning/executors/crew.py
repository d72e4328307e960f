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
from concurrent.futures import Executor, Future
from functools import partial
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
from bigtopic.plan.delays import group_size, n_groups
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import NO_MAP, SliceRef, lookup_table
from bigtopic.state.additions import MOST_PARTS, Addition
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.views import linear_mean
from bigtopic.types import AxisStats, Block, Stats

__all__ = ["ROOM", "Crew", "CrewMemory", "works_on"]

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
    """Threads that do the rounds of a segment.

    Parameters
    ----------
    rounds : the slices of each, in order
    delay : number of latest updates that a round may miss
    reader, work : of the run; `works_on` is true
    arrays, unsettled : the params, which steps move
    iterations : one for each round
    step : updates the params by the statistics of a round, given its number
    memory : of the run's crews
    """

    def __init__(
        self,
        rounds: Sequence[Sequence[SliceRef]],
        delay: int,
        reader: BlockReader,
        work: Work,
        arrays: Mapping[str, LazyArray],
        unsettled: Unsettled,
        iterations: Sequence[Iteration],
        step: Callable[[int, Stats], None],
        memory: CrewMemory,
    ) -> None:
        loop = work.kernel.own_loop
        assert loop is not None
        self._rounds, self._reader, self._work, self._loop = rounds, reader, work, loop
        self._unsettled, self._iterations, self._move = unsettled, iterations, step
        (self._name,) = work.kernel.views
        self._array = array = arrays[self._name]
        self._hyper = with_params(work.hyper, arrays)
        self._refs = [ref for rnd in rounds for ref in rnd]
        self._slices, self._groups = _tables(rounds, group_size(delay))
        self._n_at_work = n_groups(delay)
        self._lenses = np.empty((len(self._groups), 3, array.n_columns), FLOAT)
        self._memory = memory
        self._posted = self._posted_groups = 0
        self._round = self._stepped = self._sealed = self._settled = 0
        self._kept: dict[
            int, tuple[np.ndarray, np.ndarray, Any]
        ] = {}  # ids, statistics and documents of groups
        self._additions: dict[int, _Additions] = {}  # of groups that are sealed and not settled
        self._largest: Counter[str] = Counter()  # sizes of slices that are posted, at most
        self._shared: Any = None
        self._failure: BaseException | None = None

    def run(self, pool: Executor | None, n_threads: int) -> None:
        """Do all rounds on this thread and `n_threads - 1` of the pool. Re-raises what one of them raised."""
        n_threads = min(n_threads, len(self._refs)) if pool is not None else 1
        self._share(n_threads)
        helpers: list[Future[None]] = []
        try:
            with uninterrupted():
                for thread in range(1, n_threads):
                    assert pool is not None
                    helpers.append(pool.submit(self._work_as, thread))
        except BaseException as failure:
            self._fail(failure)
        self._work_as(0)
        with uninterrupted():  # they may be stepping
            for helper in helpers:
                helper.result()
            self._forget(_crew.finish(self._shared))
        if self._failure is not None:
            raise self._failure

    def _share(self, n_threads: int) -> None:
        """Make what the threads share, with the documents of the first group."""
        known, n_columns, n_slices = self._work.id_maps.get("word"), self._array.n_columns, len(self._refs)
        most_parts = min(MOST_PARTS, 2 * n_threads) if n_threads > 1 else 1
        gates = np.array([_allocate_lock() for _ in range(1 + n_threads)], np.int64)
        weakref.finalize(self, _free_locks, gates.tolist())
        for gate in gates[1:].tolist():
            _acquire_lock(gate, 1)
        self._shared = _crew.Crew(
            np.zeros(_crew.N_COUNTERS, np.int64),
            self._slices,
            self._groups,
            np.zeros((n_slices, 1 + len(self._loop.figures))),
            np.zeros((n_slices, n_columns)),
            gates,
            np.zeros(n_threads, np.int64),
            self._array.raw,
            frozen(NO_MAP if known is None else known, np.int32),
            padded_prior(self._hyper.doc_topic_prior, n_columns, FLOAT),
            frozen(self._loop.options(self._hyper), np.float64),
            1 << (most_parts.bit_length() - 1),
            self._n_at_work,
        )
        for group in range(self._n_at_work):
            self._see(group, self._unsettled.seen)
        self._post()
        self._lead(False)

    def _work_as(self, thread: int) -> None:
        """What each thread does until nothing is left."""
        try:
            enter = self._entrance(thread)
            while (why := enter()) != _crew.OVER:
                if why == _crew.GROWS:
                    enter = self._entrance(thread)
                else:
                    with uninterrupted():
                        self._lead()
        except BaseException as failure:
            self._fail(failure)

    def _entrance(self, thread: int) -> Callable[[], int]:
        """The compiled loop, with memory for slices as large as those that are posted."""
        n_columns, sizes = self._array.n_columns, {name: int(n * ROOM) for name, n in self._largest.items()}
        n_entries = sizes["entries"]
        return partial(
            *(
                _crew.serve,
                address_of(self._loop.infer),
                self._shared,
                thread,
                lookup_table(self._work.n_words),
            ),
            np.empty(sizes["docs"] + 1, np.int64),
            buffers.empty(n_entries, np.int32),
            buffers.empty(n_entries, FLOAT),
            buffers.empty((min(n_entries, self._array.n_rows), n_columns), FLOAT),
            buffers.empty(sizes["scratch"], FLOAT),
        )

    def _fail(self, failure: BaseException) -> None:
        self._failure = self._failure or failure
        _crew.stop(self._shared)

    def _lead(self, leads: bool = True) -> None:
        """Step and read as long as there is something to step or to read."""
        leaves, settles = not leads, False
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
        found, kernel = self._stats(min(inferred, stop)), self._work.kernel
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
        self._see(self._sealed + self._n_at_work, self._unsettled.sealed)
        self._sealed += 1

    def _see(self, group: int, arrays: Mapping[str, LazyArray]) -> None:
        """The group sees the params as they are in these arrays."""
        if group < len(self._groups):
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
        if self._posted == len(slices):
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
            self._largest |= Counter(size | {"docs": ref.stop - ref.start, "entries": max(1, n_entries)})
        rows = self._memory.begin(number, self._slices[first:stop], self._groups[number], self._array)
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
    """Ids and statistics of groups. Two arrays of each serve all groups of a run by turns, since the second group after
    one begins when it has settled. They have room for as many words as there are entries, of which only as many rows
    are written, and so are in memory, as words are distinct.

    Parameters
    ----------
    n_slices : of the largest group
    """

    def __init__(self, n_slices: int) -> None:
        self._n_slices = n_slices
        self._by_turns: list[tuple[np.ndarray, np.ndarray] | None] = [None, None, None, None]

    def begin(
        self, number: int, slices: np.ndarray, group: np.ndarray, array: LazyArray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Note where a group and its slices, rows of the tables, have their ids and statistics; and return these."""
        rows = np.minimum(slices[:, _crew.ENTRIES], array.n_rows)
        memory = self._by_turns[number % 4]
        if memory is None or len(memory[0]) < rows.sum() or memory[1].shape[1] != array.n_columns:
            n_ids = int(rows.max() * ROOM) * max(len(slices), self._n_slices)
            memory = buffers.empty(n_ids, np.int32), buffers.empty((n_ids, array.n_columns), FLOAT)
            self._by_turns[number % 4] = memory
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


def _tables(rounds: Sequence[Sequence[SliceRef]], group: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of slices and of groups, before documents are there."""
    n_slices = np.array([len(rnd) for rnd in rounds])
    stops = np.cumsum(n_slices)
    slices = np.zeros((stops[-1], _crew.N_SLICE), np.int64)
    slices[:, _crew.GROUP] = np.repeat(np.arange(len(rounds)) // group, n_slices)
    slices[:, _crew.ROUND_STOP] = np.repeat(stops, n_slices)
    groups = np.zeros((-(-len(rounds) // group), _crew.N_GROUP), np.int64)
    groups[:, _crew.STOP_SLICE] = [*stops[group - 1 : len(rounds) - 1 : group], stops[-1]]
    groups[1:, _crew.FIRST_SLICE] = groups[:-1, _crew.STOP_SLICE]
    return slices, groups


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

"""A segment, as the leading thread of a crew sees it, which steps, reads documents, and fills the tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.kernels.support.entry import frozen
from bigtopic.learning.crew import _kernels
from bigtopic.learning.crew.memory import FLOAT, GroupMemory, Largest, address
from bigtopic.learning.crew.tables import Tables
from bigtopic.learning.estep import check_finite
from bigtopic.learning.putting_off import Unsettled
from bigtopic.learning.reduce import Tree
from bigtopic.learning.work import Iteration
from bigtopic.plan.delays import Groups
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import SliceRef
from bigtopic.state.additions import Addition
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.views import linear_mean
from bigtopic.types import AxisStats, Block, Kernel, Stats

__all__ = ["CrewSegment"]


class CrewSegment:
    """The rounds of a segment, as the leading thread sees them.

    Parameters
    ----------
    rounds : the slices of each, in order
    groups : which updates they miss
    reader, kernel : of the run
    unsettled : the params, which steps move
    iteration : of a round, given its number
    step : updates the params by the statistics of a round, given its number
    """

    def __init__(
        self,
        rounds: Sequence[Sequence[SliceRef]],
        groups: Groups,
        reader: BlockReader,
        kernel: Kernel,
        unsettled: Unsettled,
        iteration: Callable[[int], Iteration],
        step: Callable[[int, Stats], None],
    ) -> None:
        self._rounds = rounds
        self._refs = [ref for rnd in rounds for ref in rnd]
        self._sizes, self._at_work = groups
        self.n_slices, self.n_groups = len(self._refs), len(groups.sizes)
        self._reader = reader
        self._kernel = kernel
        assert kernel.own_loop is not None
        self._loop = kernel.own_loop
        self._unsettled = unsettled
        (self._name,) = kernel.views
        self._array = unsettled.seen[self._name]
        self._iteration = iteration
        self._move = step
        self._seen = np.empty((self.n_groups, 3, self._array.n_columns), FLOAT)
        self._begun = False
        self._posted = self._posted_groups = 0
        self._round = self._stepped = self._sealed = self._settled = 0
        # Ids, statistics and documents of groups that are posted, and additions of those that are sealed
        self._kept: dict[int, tuple[np.ndarray, np.ndarray, Any]] = {}
        self._additions: dict[int, _Additions] = {}

    def begin(self, tables: Tables, memory: GroupMemory, largest: Largest) -> None:
        """Lead threads that are between two segments, until they have all that they need.

        Parameters
        ----------
        tables : of these threads, with room for the segment
        memory : for groups
        largest : sizes of the largest slice of the run so far, which is updated
        """
        _kernels.begin(tables, self.n_slices, self.n_groups, self._at_work)
        self._begun = True
        self._tables, self._memory, self._largest = tables, memory, largest
        self._slices, self._groups = tables.slices[: self.n_slices], tables.groups[: self.n_groups]
        _fill(self._slices, self._groups, self._rounds, self._sizes)
        for group in range(self._at_work):
            self._see(group, self._unsettled.seen)
        for _ in range(min(self._at_work, self.n_groups)):
            self._post()
            _kernels.lead(tables, self._posted, stepped=0, sealed=0, settled_one=False, gives_up=False)
        self.lead()

    def before_end(self, call: Callable[[], None]) -> None:
        """Call this before what steps have put off is done without the crew."""
        self._unsettled.before_end = call

    def end(self) -> None:
        """No thread works on the segment any more. What is left of additions that they have begun is done."""
        self._unsettled.before_end = None
        if self._begun:
            self._forget(_kernels.finish(self._tables))

    def lead(self) -> None:
        """Step and read as long as there is something to step or to read."""
        settled_one = gives_up = False
        while True:
            inferred, taken, settled, by_hand, leads = _kernels.lead(
                self._tables, self._posted, self._stepped, self._sealed, settled_one, gives_up
            )
            settled_one = gives_up = False
            if not leads:
                return  # another thread may lead already
            self._forget(settled)
            if by_hand:
                self._unsettled.settle()
                self._release_group()
                settled_one = True
            elif not self._step_rounds(inferred) and not self._post_near(taken):
                gives_up = True

    def _step_rounds(self, inferred: int) -> bool:
        """Step rounds of one group whose slices are inferred; whether there were any."""
        if inferred == self._stepped:
            return False
        begun, stop = self._round, int(self._groups[self._sealed, _kernels.STOP_SLICE])
        found = self._stats(min(inferred, stop))
        finite = np.isfinite(self._tables.sums[self._stepped : self._stepped + len(found)]).all()
        while (n_slices := len(self._rounds[self._round])) <= len(found):
            tree = Tree(n_slices)
            for _ in range(n_slices):
                if not finite:
                    self._check_finite(found[0])
                tree.push(found.popleft())
            self._move(self._round, tree.result())
            self._stepped += n_slices
            self._round += 1
            if self._stepped == stop:
                self._seal()
                break
        return self._round > begun

    def _check_finite(self, stats: Stats) -> None:
        rows = stats.arrays[self._name]
        assert rows.sums is not None
        check_finite(self._kernel, self._name, rows.values, rows.sums, self._iteration(self._round))

    def _stats(self, stop: int) -> deque[Stats]:
        """The statistics of the slices after those that have stepped."""
        wanted = slice(self._stepped, stop)
        places = self._slices[wanted, [_kernels.FIRST_ID, _kernels.FIRST_ROW, _kernels.N_IDS]].tolist()
        sums, figures = self._tables.sums[wanted], self._tables.figures[wanted].tolist()
        found: deque[Stats] = deque()
        for ref, place, own_sums, (n_tokens, *own) in zip(
            self._refs[wanted], places, sums, figures, strict=True
        ):
            info = dict(zip(self._loop.figures, own, strict=True))
            rows = self._rows(*place).summed(own_sums)
            found.append(Stats({self._name: rows}, ref.stop - ref.start, n_tokens, info))
        return found

    def _rows(self, first_id: int, first_row: int, n_ids: int) -> AxisStats:
        """Statistics of a slice of the group that steps."""
        ids, values, _ = self._kept[self._sealed]
        return AxisStats(ids[first_id : first_id + n_ids], values[first_row : first_row + n_ids])

    def _seal(self) -> None:
        """All rounds of a group have stepped: what they put off may be applied, and the first group that sees it knows
        what it sees."""
        additions, group = _Additions(self._unsettled.seal()), self._groups[self._sealed]
        group[_kernels.ADDITIONS], group[_kernels.N_ADDITIONS] = additions.address, additions.number
        self._additions[self._sealed] = additions
        self._see(self._sealed + self._at_work, self._unsettled.sealed)
        self._sealed += 1

    def _see(self, group: int, arrays: Mapping[str, LazyArray]) -> None:
        """The group sees the params as they are in these arrays."""
        if group < self.n_groups:
            linear = linear_mean(arrays[self._name])
            assert linear is not None
            self._seen[group] = linear[1:]
            self._groups[group, _kernels.LINEAR] = address(self._seen[group])

    def _forget(self, settled: int) -> None:
        """So many groups have settled."""
        while self._settled < settled:
            self._unsettled.note_settled()
            self._release_group()

    def _release_group(self) -> None:
        """Let go of what was kept for the group that has settled."""
        del self._kept[self._settled], self._additions[self._settled]
        self._settled += 1

    def _post_near(self, taken: int) -> bool:
        """Post the next group if it is near; whether it was posted."""
        slices = self._slices
        if self._posted == self.n_slices:
            return False
        if taken < self._posted:
            first, at_work = slices[[self._posted, taken], _kernels.GROUP].tolist()
            if first > at_work + _kernels.NEAR:
                return False
        self._post()
        return True

    def _post(self) -> None:
        """Read the documents of the next group, and make room for its statistics."""
        number, n_columns = self._posted_groups, self._array.n_columns
        first, stop = self._groups[number, [_kernels.FIRST_SLICE, _kernels.STOP_SLICE]].tolist()
        blocks: dict[Any, _Documents] = {}
        rows, largest = [], self._largest
        for ref in self._refs[first:stop]:
            if ref.read_block not in blocks:
                blocks[ref.read_block] = _Documents(self._reader.read_block(ref))
            block, begin = blocks[ref.read_block], ref.start - ref.read_block_start
            place, n_entries, longest = block.documents(begin, begin + ref.stop - ref.start)
            rows.append((*place, n_entries, self._loop.scratch(longest, n_columns)))
            largest.n_docs = max(largest.n_docs, ref.stop - ref.start)
        slices = self._slices[first:stop]
        slices[:, : _kernels.GROUP] = rows
        largest.n_entries = max(largest.n_entries, int(slices[:, _kernels.ENTRIES].max()))
        largest.scratch = max(largest.scratch, int(slices[:, _kernels.SCRATCH].max()))
        memory = self._memory.begin(number % self._at_work, slices, self._groups[number], self._array)
        self._kept[number] = *memory, list(blocks.values())
        self._posted, self._posted_groups = stop, number + 1
        if stop < len(self._refs):
            self._reader.prefetch(self._refs[stop].read_block)


class _Documents:
    """The documents of a read block, whose arrays compiled code finds by their addresses."""

    def __init__(self, block: Block) -> None:
        self._indptr = np.ascontiguousarray(block.indptr, np.int64)
        words, counts = np.ascontiguousarray(block.words, np.int32), np.ascontiguousarray(block.counts, FLOAT)
        self._arrays = self._indptr, words, counts
        self._addresses = [address(array) for array in self._arrays]

    def documents(self, start: int, stop: int) -> tuple[tuple[int, ...], int, int]:
        """Where its documents start:stop are, their entries, and the most entries of one."""
        ends = self._indptr[start : stop + 1]
        longest = int((ends[1:] - ends[:-1]).max(initial=0))
        return (*self._addresses, start, stop), int(ends[-1] - ends[0]), longest


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
        table = np.zeros((len(batch), _kernels.N_ADDITION), np.int64)
        for row, arrays in zip(table, self._arrays, strict=True):
            row[:] = (*arrays[0].shape, len(arrays[1]), *map(address, arrays))
        floats = all(
            a.dtype == FLOAT for raw, _, values, factor in self._arrays for a in (raw, values, factor)
        )
        self._table, self.address, self.number = table, address(table), len(batch) if floats else -1


def _fill(
    slices: np.ndarray, groups: np.ndarray, rounds: Sequence[Sequence[SliceRef]], sizes: Sequence[int]
) -> None:
    """Fill in what the tables have of rounds before documents are there."""
    slices[:], groups[:] = 0, 0
    n_slices = [len(rnd) for rnd in rounds]
    stops = np.cumsum(n_slices)
    slices[:, _kernels.GROUP] = np.repeat(np.repeat(np.arange(len(sizes)), sizes), n_slices)
    slices[:, _kernels.ROUND_STOP] = np.repeat(stops, n_slices)
    groups[:, _kernels.STOP_SLICE] = stops[np.cumsum(sizes) - 1]
    groups[1:, _kernels.FIRST_SLICE] = groups[:-1, _kernels.STOP_SLICE]

"""A segment, as the leading thread of a crew sees it, which steps, reads documents, and fills the tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from bigtopic.kernels.support.pointer import address
from bigtopic.learning.crew import _kernels, columns
from bigtopic.learning.crew.additions import AdditionTable
from bigtopic.learning.crew.at_once import Factors, StepsAtOnce
from bigtopic.learning.crew.memory import GroupMemory, Largest
from bigtopic.learning.crew.tables import Tables
from bigtopic.learning.estep import check_finite
from bigtopic.learning.loops import FLOAT
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

__all__ = ["CrewSegment", "Steps"]

PLACES = [columns.FIRST_ID, columns.FIRST_ROW, columns.N_IDS]


class Steps(NamedTuple):
    """The steps of the rounds of a segment, which are numbered.

    one : (number, statistics) updates the params
    factors : see `StepsAtOnce`
    report : (number, tokens, the kernel's figures) notes that a round has stepped, as one of a group
    """

    one: Callable[[int, Stats], None]
    factors: Factors | None
    report: Callable[[int, float, Mapping[str, float]], None]


class CrewSegment:
    """The rounds of a segment, as the leading thread sees them.

    Parameters
    ----------
    rounds : the slices of each, in order
    groups : which updates they miss
    reader, kernel : of the run
    unsettled : the params, which steps move
    iteration : of a round, given its number
    steps : of the rounds
    """

    def __init__(
        self,
        rounds: Sequence[Sequence[SliceRef]],
        groups: Groups,
        reader: BlockReader,
        kernel: Kernel,
        unsettled: Unsettled,
        iteration: Callable[[int], Iteration],
        steps: Steps,
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
        self._steps = steps
        # The rounds of each group, the first slice of each round and the one after its last, those of each group, and
        # the round of each slice
        self._rounds_of = [range(*ends) for ends in pairwise(accumulate(groups.sizes, initial=0))]
        ends = [0, *accumulate(len(slices) for slices in rounds)]
        self._slices_of = [(ends[own.start], ends[own.stop]) for own in self._rounds_of]
        self._firsts = np.array(ends[:-1])
        self._round_of = np.repeat(np.arange(len(rounds)), np.diff(ends))
        self._at_once = StepsAtOnce(rounds, self._rounds_of, steps.factors)
        self._seen = np.empty((self.n_groups, 3, self._array.n_columns), FLOAT)
        self._begun = False
        self._posted = self._posted_groups = 0
        self._round = self._stepped = self._sealed = self._settled = 0
        # Ids, statistics and documents of groups that are posted, and additions of those that are sealed
        self._kept: dict[int, tuple[np.ndarray, np.ndarray, Any]] = {}
        self._additions: dict[int, AdditionTable] = {}
        self._unnoted: np.ndarray | None = None  # factors of the last group, if it has stepped at once

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
        _fill(self._slices, self._groups, self._rounds, self._sizes, self._at_once.possible)
        for group in range(self._at_work):
            self._see(group, self._array)
        for _ in range(min(self._at_work, self.n_groups)):
            self._post()
            _kernels.lead(tables, 0, self._posted, stepped=0, sealed=0, settled_one=False, gives_up=False)
        self.lead(0)

    def before_end(self, call: Callable[[], None]) -> None:
        """Call this before what steps have put off is done without the crew."""
        self._unsettled.before_end = call

    def end(self) -> None:
        """No thread works on the segment any more. What is left of additions that they have begun is done."""
        self._unsettled.before_end = None
        if self._begun:
            self._note_group()
            self._forget(_kernels.finish(self._tables))

    def lead(self, thread: int) -> None:
        """Step and read as long as there is something to do; the caller is this thread of the crew."""
        settled_one = gives_up = False
        while True:
            inferred, gathered, taken, settled, by_hand, leads = _kernels.lead(
                self._tables, thread, self._posted, self._stepped, self._sealed, settled_one, gives_up
            )
            settled_one = gives_up = False
            if not leads:
                return  # another thread may lead already
            self._note_group()
            self._forget(settled)
            if by_hand:
                self._unsettled.settle()
                self._release_group()
                settled_one = True
            elif not (self._step(inferred) or self._post_near(taken) or self._prepare_next(gathered)):
                gives_up = True

    def _step(self, inferred: int) -> bool:
        """Step rounds of one group; whether there were any whose slices are inferred."""
        if self._stepped == self.n_slices or self._slices[self._stepped, columns.STEP_STOP] > inferred:
            return False
        if not (self._at_once.possible[self._sealed] and self._step_group()):
            self._step_rounds(inferred)
        return True

    def _step_group(self) -> bool:
        """Step all rounds of a group; False, and nothing has moved, where that is for `_step_rounds`."""
        number, (first, stop) = self._sealed, self._slices_of[self._sealed]
        self._prepare(number)
        sums, known = self._tables.sums[self._firsts_of(number)], self._at_once.take(number)
        factors = self._unsettled.step(self._name, sums, *known)
        if factors is None:
            return False
        factors = factors[self._round_of[first:stop] - self._round]  # of slices
        slices, group = self._slices[first:stop], self._groups[number]
        self._seal(AdditionTable.of_slices(slices, group, self._array.raw, factors))
        self._stepped, self._round = stop, self._rounds_of[number].stop
        self._unnoted = factors
        return True

    def _note_group(self) -> None:
        """Note the additions and reports of the group that has just stepped at once: other threads are at work
        already."""
        if self._unnoted is None:
            return
        factors, self._unnoted = self._unnoted, None
        group = self._sealed - 1
        self._unsettled.append_sealed(partial(self._batch, group, factors))
        figures = self._tables.figures[self._firsts_of(group), 1:].tolist()
        tokens = self._tokens_of(group).tolist()
        for number, n_tokens, own in zip(self._rounds_of[group], tokens, figures, strict=True):
            self._steps.report(number, n_tokens, dict(zip(self._loop.figures, own, strict=True)))

    def _batch(self, group: int, factors: np.ndarray) -> list[Addition]:
        """The additions of a group that has stepped at once, with the factors of its slices."""
        rows = self._rows(group, *self._slices_of[group])
        return [
            Addition(self._array.raw, ids, values, factor)
            for (ids, values), factor in zip(rows, factors, strict=True)
        ]

    def _step_rounds(self, inferred: int) -> None:
        """Step rounds of a group one by one, as far as their slices are inferred."""
        _, stop = self._slices_of[self._sealed]
        found = self._stats(self._sealed, self._stepped, min(inferred, stop))
        finite = np.isfinite(self._tables.sums[self._stepped : self._stepped + len(found)]).all()
        while (n_slices := len(self._rounds[self._round])) <= len(found):
            tree = Tree(n_slices)
            for _ in range(n_slices):
                if not finite:
                    self._check_finite(found[0])
                tree.push(found.popleft())
            self._steps.one(self._round, tree.result())
            self._stepped += n_slices
            self._round += 1
            if self._stepped == stop:
                self._seal(AdditionTable.of_batch(self._unsettled.seal()))
                break

    def _check_finite(self, stats: Stats) -> None:
        rows = stats.arrays[self._name]
        assert rows.sums is not None
        check_finite(self._kernel, self._name, rows.values, rows.sums, self._iteration(self._round))

    def _stats(self, group: int, first: int, stop: int) -> deque[Stats]:
        """The statistics of slices of a group."""
        sums, figures = self._tables.sums[first:stop], self._tables.figures[first:stop].tolist()
        found: deque[Stats] = deque()
        for ref, given, own_sums, (n_tokens, *own) in zip(
            self._refs[first:stop], self._rows(group, first, stop), sums, figures, strict=True
        ):
            info = dict(zip(self._loop.figures, own, strict=True))
            found.append(
                Stats({self._name: AxisStats(*given).summed(own_sums)}, ref.stop - ref.start, n_tokens, info)
            )
        return found

    def _rows(self, group: int, first: int, stop: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Ids and values of each of these slices."""
        ids, values, _ = self._kept[group]
        return [
            (ids[first_id : first_id + n_ids], values[first_row : first_row + n_ids])
            for first_id, first_row, n_ids in self._slices[first:stop, PLACES].tolist()
        ]

    def _prepare_next(self, gathered: int) -> bool:
        """Prepare the step of a group whose documents threads have gathered; whether there was one."""
        for group in range(self._sealed, min(self._sealed + self._at_work, self.n_groups)):
            if self._slices_of[group][1] > gathered:
                return False
            if self._prepare(group):
                return True
        return False

    def _prepare(self, group: int) -> bool:
        """Prepare the step of a group; whether that was to be done."""
        if not self._at_once.possible[group] or self._at_once.is_known(group):
            return False
        self._at_once.prepare(group, self._tokens_of(group))
        return True

    def _tokens_of(self, group: int) -> np.ndarray:
        """The tokens of the rounds of a group."""
        first, stop = self._slices_of[group]
        tokens: np.ndarray = np.add.reduceat(
            self._tables.figures[first:stop, 0], self._firsts_of(group) - first
        )
        return tokens

    def _firsts_of(self, group: int) -> np.ndarray:
        """The first slices of the rounds of a group."""
        rounds = self._rounds_of[group]
        found: np.ndarray = self._firsts[rounds.start : rounds.stop]
        return found

    def _seal(self, additions: AdditionTable) -> None:
        """All rounds of a group have stepped: what they put off may be applied, and the first group that sees it knows
        what it sees."""
        group = self._groups[self._sealed]
        group[columns.ADDITIONS], group[columns.N_ADDITIONS] = additions.address, additions.number
        self._additions[self._sealed] = additions
        self._see(self._sealed + self._at_work, self._unsettled.present(self._name))
        self._sealed += 1

    def _see(self, group: int, array: LazyArray) -> None:
        """The group sees the params as they are in this array."""
        if group < self.n_groups:
            linear = linear_mean(array)
            assert linear is not None
            self._seen[group] = linear[1:]
            self._groups[group, columns.LINEAR] = address(self._seen[group])

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
            first, at_work = slices[[self._posted, taken], columns.GROUP].tolist()
            if first > at_work + columns.NEAR:
                return False
        self._post()
        return True

    def _post(self) -> None:
        """Read the documents of the next group, and make room for its statistics."""
        number, n_columns = self._posted_groups, self._array.n_columns
        first, stop = self._slices_of[number]
        begin, n_ids, blocks = first, 0, []
        for _, refs in groupby(self._refs[first:stop], lambda ref: ref.read_block):
            same = list(refs)
            blocks.append(_Documents(self._reader.read_block(same[0])))
            ranges = [(ref.start - ref.read_block_start, ref.stop - ref.read_block_start) for ref in same]
            slices = self._slices[begin : begin + len(same)]
            n_ids, n_docs, n_entries, longest = blocks[-1].place(
                slices, np.array(ranges), n_ids, self._array.n_rows
            )
            slices[:, columns.SCRATCH] = scratch = self._loop.scratch(longest, n_columns)
            self._largest.widen(n_docs, n_entries, scratch)
            begin += len(same)
        group = self._groups[number]
        ids, stats = self._memory.room(number, self._at_work, n_ids, self._array)
        group[columns.IDS], group[columns.STATS] = ids.address, stats.address
        self._kept[number] = ids.array, stats.array, blocks
        self._posted, self._posted_groups = stop, number + 1
        if stop < len(self._refs):
            self._reader.prefetch(self._refs[stop].read_block)


class _Documents:
    """The documents of a read block, whose arrays compiled code finds by their addresses."""

    def __init__(self, block: Block) -> None:
        self._indptr = np.ascontiguousarray(block.indptr, np.int64)
        words, counts = np.ascontiguousarray(block.words, np.int32), np.ascontiguousarray(block.counts, FLOAT)
        self._arrays = self._indptr, words, counts
        self._addresses = np.array([address(array) for array in self._arrays])

    def place(
        self, slices: np.ndarray, ranges: np.ndarray, n_ids: int, n_rows: int
    ) -> tuple[int, int, int, int]:
        """See `_kernels.post`."""
        found: tuple[int, int, int, int] = _kernels.post(
            slices, ranges, self._indptr, self._addresses, n_ids, n_rows
        )
        return found


def _fill(
    slices: np.ndarray,
    groups: np.ndarray,
    rounds: Sequence[Sequence[SliceRef]],
    sizes: Sequence[int],
    at_once: Sequence[bool],
) -> None:
    """Fill in what the tables have before documents are there. `at_once` : whether each group steps at once."""
    slices[:], groups[:] = 0, 0
    n_slices = [len(rnd) for rnd in rounds]
    stops = np.cumsum(n_slices)
    slices[:, columns.GROUP] = np.repeat(np.repeat(np.arange(len(sizes)), sizes), n_slices)
    groups[:, columns.STOP_SLICE] = stops[np.cumsum(sizes) - 1]
    groups[1:, columns.FIRST_SLICE] = groups[:-1, columns.STOP_SLICE]
    slices[:, columns.OTHER] = columns.NONE
    pairs = np.repeat(n_slices, n_slices) == 2
    slices[pairs, columns.OTHER] = np.flatnonzero(pairs).reshape(-1, 2)[:, ::-1].ravel()
    of_rounds, of_groups = np.repeat(stops, n_slices), groups[slices[:, columns.GROUP], columns.STOP_SLICE]
    slices[:, columns.STEP_STOP] = np.where(np.array(at_once)[slices[:, columns.GROUP]], of_groups, of_rounds)

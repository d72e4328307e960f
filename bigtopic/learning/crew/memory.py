"""Memory whose addresses compiled code knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bigtopic import buffers
from bigtopic.kernels.support.pointer import address
from bigtopic.learning.loops import FLOAT
from bigtopic.state.lazy_array import LazyArray

__all__ = ["ROOM", "Addressed", "GroupMemory", "Largest"]

ROOM = 1.25  # times what a slice needs: the next one may be a little larger


@dataclass
class Largest:
    """The largest sizes of slices so far, and of one that is expected: documents, entries, and floats of scratch
    memory."""

    n_docs: int = 1
    n_entries: int = 1
    scratch: int = 1

    def widen(self, n_docs: int, n_entries: int, scratch: int) -> None:
        """Take account of slices of these sizes."""
        self.n_docs, self.n_entries = max(self.n_docs, n_docs), max(self.n_entries, n_entries)
        self.scratch = max(self.scratch, scratch)


class Addressed(NamedTuple):
    """An array and its address."""

    array: np.ndarray
    address: int


class GroupMemory:
    """Ids and statistics of groups, in arrays that serve all groups of a run by turns: of statistics, one for each
    group that may be at work; of ids, one more, since documents of the next group may be looked up before. They have
    room for as many words as there are entries; only as many rows are written, and so are in memory, as words are
    distinct.

    Parameters
    ----------
    n_slices : of the largest group
    largest : sizes of the largest slice so far
    """

    def __init__(self, n_slices: int, largest: Largest) -> None:
        self._n_slices, self._largest = n_slices, largest
        self._ids: dict[int, Addressed] = {}
        self._stats: dict[int, Addressed] = {}

    def room(self, number: int, at_work: int, n_ids: int, array: LazyArray) -> tuple[Addressed, Addressed]:
        """Room for ids and statistics of the `number`-th group of a segment.

        Parameters
        ----------
        at_work : groups that may be at work at once
        n_ids : that it has, at most
        array : whose rows these are
        """
        most = int(min(self._largest.n_entries, array.n_rows) * ROOM) * self._n_slices
        most = max(most, int(n_ids * ROOM))
        ids, stats = self._ids.get(number % (at_work + 1)), self._stats.get(number % at_work)
        if ids is None or len(ids.array) < n_ids:
            ids = self._ids[number % (at_work + 1)] = _addressed(buffers.empty(most, np.int32))
        if stats is None or len(stats.array) < n_ids or stats.array.shape[1] != array.n_columns:
            stats = _addressed(buffers.empty((most, array.n_columns), FLOAT))
            self._stats[number % at_work] = stats
        return ids, stats


def _addressed(array: np.ndarray) -> Addressed:
    return Addressed(array, address(array))

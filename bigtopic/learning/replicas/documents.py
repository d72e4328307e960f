"""The documents of a replica's share, prepared slice by slice: before its updates, or while a worker waits for others.

They do not depend on the values of the params, so they can be prepared before the params are there that the share
begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bigtopic.learning.estep import Prepared, prepare
from bigtopic.learning.work import Work
from bigtopic.plan.slices import SliceRef
from bigtopic.state.lazy_array import LazyArray
from bigtopic.types import Block

__all__ = ["ShareDocuments"]


class ShareDocuments:
    """Documents with positions among the rows of the params that the share needs.

    Parameters
    ----------
    refs : the slices of the share
    read : gives the documents of a slice
    work : of the run

    Attributes
    ----------
    ids : {axis: rows that any of the documents need, in increasing order}; complete after `prepare_all`
    prepared : the documents of each slice; with these positions after `prepare_all`
    """

    def __init__(self, refs: Sequence[SliceRef], read: Callable[[SliceRef], Block], work: Work) -> None:
        self._read: Callable[[SliceRef], Block] | None = read
        self._work = work
        self._unread = list(reversed(refs))
        self._unrenamed = list(reversed(refs))  # slices whose ids are still those of the params
        self._needed: dict[str, np.ndarray] = {}  # by axis: whether a row is needed
        self._positions: dict[str, np.ndarray] = {}  # by axis: of each needed row, among these
        self.ids: dict[str, np.ndarray] = {}
        self.prepared: dict[SliceRef, Prepared] = {}

    def prepare_all(self, arrays: Mapping[str, LazyArray]) -> None:
        """Prepare what is not prepared yet. Of the arrays, only the axes matter."""
        while self.prepare_some(arrays):
            pass

    def prepare_some(self, arrays: Mapping[str, LazyArray]) -> bool:
        """Go on with one slice; False if all are prepared. What fails is left to be done."""
        if self._unread:
            self._mark(self._unread[-1], arrays)
            self._unread.pop()
        elif self._unrenamed:
            if not self.ids:
                self._number_rows()
            self._rename(self._unrenamed[-1])
            self._unrenamed.pop()
        return bool(self._unrenamed)

    def _mark(self, ref: SliceRef, arrays: Mapping[str, LazyArray]) -> None:
        assert self._read is not None
        documents = prepare(self._read(ref), arrays, self._work)
        for axis, n_rows in {array.axis: array.n_rows for array in arrays.values()}.items():
            if (ids := documents.axes.get(axis)) is not None:
                self._needed.setdefault(axis, np.zeros(n_rows, np.int32))[ids] = 1
        self.prepared[ref] = documents

    def _number_rows(self) -> None:
        self._read = None  # which holds what was read
        for axis, needed in self._needed.items():
            self.ids[axis] = np.flatnonzero(needed).astype(np.int32)
            positions = self._positions[axis] = needed  # in the same memory
            positions[self.ids[axis]] = np.arange(len(self.ids[axis]))

    def _rename(self, ref: SliceRef) -> None:
        documents = self.prepared[ref]
        axes: dict[str, np.ndarray | None] = {}
        for axis, positions in self._positions.items():
            ids = documents.axes[axis]
            assert ids is not None
            axes[axis] = positions[ids]
        self.prepared[ref] = replace(documents, axes=axes)

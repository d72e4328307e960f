"""Memory whose addresses compiled code knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtopic import buffers
from bigtopic.learning.crew import _kernels
from bigtopic.state.lazy_array import LazyArray

__all__ = ["FLOAT", "ROOM", "GroupMemory", "Largest", "address"]

FLOAT = np.dtype(np.float32)
ROOM = 1.25  # times what a slice needs: the next one may be a little larger


def address(array: np.ndarray) -> int:
    """Of the first number of a contiguous array."""
    found: int = array.__array_interface__["data"][0]
    return found


@dataclass
class Largest:
    """The largest sizes of slices so far, and of one that is expected: documents, entries, and floats of scratch
    memory."""

    n_docs: int = 1
    n_entries: int = 1
    scratch: int = 1


class GroupMemory:
    """Ids and statistics of groups. Arrays for as many groups as may be at work serve all groups of a run by turns.
    They have room for as many words as there are entries; only as many rows are written, and so are in memory, as words
    are distinct.

    Parameters
    ----------
    n_slices : of the largest group
    largest : sizes of the largest slice so far
    """

    def __init__(self, n_slices: int, largest: Largest) -> None:
        self._n_slices, self._largest = n_slices, largest
        self._by_turns: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def begin(
        self, turn: int, slices: np.ndarray, group: np.ndarray, array: LazyArray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Note where a group and its slices, rows of the tables, have their ids and statistics; and return these."""
        rows = np.minimum(slices[:, _kernels.ENTRIES], array.n_rows)
        memory = self._by_turns.get(turn)
        if memory is None or len(memory[0]) < rows.sum() or memory[1].shape[1] != array.n_columns:
            most = min(self._largest.n_entries, array.n_rows)
            n_ids = int(most * ROOM) * max(len(slices), self._n_slices)
            memory = buffers.empty(n_ids, np.int32), buffers.empty((n_ids, array.n_columns), FLOAT)
            self._by_turns[turn] = memory
        slices[:, _kernels.FIRST_ID] = np.cumsum(rows) - rows
        group[[_kernels.IDS, _kernels.STATS]] = tuple(map(address, memory))
        return memory

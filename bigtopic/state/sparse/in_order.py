"""A pool of sparse rows as one array, row after row, whatever their order in the pool."""

from __future__ import annotations

import numpy as np

from bigtopic.state.sparse import _kernels

__all__ = ["InOrder"]

_ROWS = 1 << 12  # whose lengths are added up to find a place


class InOrder:
    """An array, (sum of lengths,), of which slices are copied out of a pool; nothing else is.

    Parameters
    ----------
    starts, lengths : int64 (n_rows,), where each row is in the pool
    pool : columns or values
    """

    def __init__(self, starts: np.ndarray, lengths: np.ndarray, pool: np.ndarray) -> None:
        self._starts, self._lengths, self._pool = starts, lengths, pool
        self._ends = np.cumsum([lengths[row : row + _ROWS].sum() for row in range(0, len(lengths), _ROWS)])
        self.shape, self.dtype = (int(lengths.sum()),), pool.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, item: slice) -> np.ndarray:
        start, stop, _ = item.indices(len(self))
        out = np.empty(max(stop - start, 0), self.dtype)
        if len(out):
            block = int(np.searchsorted(self._ends, start, "right"))
            before = int(self._ends[block - 1]) if block else 0
            _kernels.copy_from(block * _ROWS, before, start, self._starts, self._lengths, self._pool, out)
        return out

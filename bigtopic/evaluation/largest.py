"""The largest entries of columns that come in blocks of rows."""

from __future__ import annotations

import numpy as np

__all__ = ["Largest"]

_FEW = 8  # times n: rows that are sorted as they are


class Largest:
    """The n largest entries of each column, over blocks of rows; ties go to the earlier row.

    Attributes
    ----------
    positions : int64 (n_columns, n), rows of the entries, largest first; fewer than n if there are fewer rows
    values : (n_columns, n), the entries
    """

    def __init__(self, n_columns: int, n: int) -> None:
        self._n = n
        self.positions = np.zeros((n_columns, 0), np.int64)
        self.values = np.zeros((n_columns, 0), np.float32)

    def add(self, positions: np.ndarray, values: np.ndarray) -> None:
        """Rows `positions` (n,), ascending, with `values` (n, n_columns)."""
        positions, values = self._near(positions, values)
        # What was found so far comes first: a stable sort keeps ties in their order.
        values = np.hstack([self.values, values.T])
        positions = np.hstack([self.positions, np.broadcast_to(positions, (len(values), len(positions)))])
        best = np.argsort(-values, axis=1, kind="stable")[:, : self._n]
        self.positions = np.take_along_axis(positions, best, 1)
        self.values = np.take_along_axis(values, best, 1)

    def _near(self, positions: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows that are among the n largest of some column: a selection costs less than a sort of all of them."""
        if len(positions) < _FEW * self._n:
            return positions, values
        least = np.partition(values, -self._n, axis=0)[-self._n]
        near = (values >= least).any(axis=1)
        return positions[near], values[near]

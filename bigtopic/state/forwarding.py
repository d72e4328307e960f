"""A global array behind another object: whatever is not overridden is passed on."""

from __future__ import annotations

import numpy as np

from bigtopic.types import AxisStats, MutableArray

__all__ = ["Forwarding"]


class Forwarding:
    """A `types.MutableArray` that does what `array` does."""

    def __init__(self, array: MutableArray) -> None:
        self._array = array

    @property
    def n_components(self) -> int:
        return self._array.n_components

    @property
    def n_columns(self) -> int:
        return self._array.n_columns

    @property
    def n_rows(self) -> int:
        return self._array.n_rows

    @property
    def prior(self) -> np.ndarray:
        return self._array.prior

    def gather(self, ids: np.ndarray | None) -> np.ndarray:
        return self._array.gather(ids)

    def add(
        self,
        stats: AxisStats,
        weight: float | np.ndarray = 1.0,
        decay: float | np.ndarray = 1.0,
        row_weight: np.ndarray | None = None,
        row_decay: np.ndarray | None = None,
    ) -> None:
        self._array.add(stats, weight, decay, row_weight, row_decay)

    def set_prior(self, prior: np.ndarray) -> None:
        self._array.set_prior(prior)

    def totals(self) -> np.ndarray:
        return self._array.totals()

    def fold(self) -> None:
        self._array.fold()

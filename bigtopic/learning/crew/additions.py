"""Tables of what the steps of a group add to rows, for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bigtopic.kernels.support.entry import frozen
from bigtopic.kernels.support.pointer import address
from bigtopic.learning.crew import _kernels, columns
from bigtopic.learning.loops import FLOAT
from bigtopic.state.additions import Addition

__all__ = ["AdditionTable"]


class AdditionTable:
    """A table of additions, a row each, and the arrays whose addresses are in it.

    Attributes
    ----------
    address : of the table
    number : of additions; -1 if compiled code cannot do them, because some are not of float32
    """

    def __init__(self, table: np.ndarray, arrays: Any, number: int) -> None:
        self._table, self._arrays = table, arrays
        self.address, self.number = address(table), number

    @classmethod
    def of_batch(cls, batch: Sequence[Addition]) -> AdditionTable:
        """Additions that steps have put off."""
        arrays = [
            (one.raw, frozen(one.ids, np.int32), frozen(one.values, one.values.dtype), one.factor)
            for one in batch
        ]
        table = np.zeros((len(batch), columns.N_ADDITION), np.int64)
        for row, own in zip(table, arrays, strict=True):
            row[:] = (*own[0].shape, len(own[1]), *map(address, own))
        floats = all(a.dtype == FLOAT for raw, _, values, factor in arrays for a in (raw, values, factor))
        return cls(table, arrays, len(batch) if floats else -1)

    @classmethod
    def of_slices(
        cls, slices: np.ndarray, group: np.ndarray, raw: np.ndarray, factors: np.ndarray
    ) -> AdditionTable:
        """The statistics of these slices, rows of the tables, times factors, float32 (n_slices, n_columns). The memory
        of the group must outlast the table."""
        table = np.empty((len(slices), columns.N_ADDITION), np.int64)
        addresses = address(raw), address(factors)
        _kernels.tabulate(table, slices, group, factors, len(raw), addresses)
        return cls(table, (raw, factors), len(slices))

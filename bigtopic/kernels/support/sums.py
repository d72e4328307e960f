"""Column sums of statistics."""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import OUTER

__all__ = ["add_up"]


@njit(**OUTER)
def add_up(values, sums):
    """sums[k] += sum_i values[i, k]; sums of sixteen rows are in the precision of `values`."""
    n_columns = values.shape[1]
    part = np.empty(n_columns, values.dtype)
    for first in range(0, len(values), 16):
        part[:] = 0
        for i in range(first, min(first + 16, len(values))):
            source = values[i]
            for k in range(n_columns):
                part[k] += source[k]
        for k in range(n_columns):
            sums[k] += part[k]

"""Column sums of statistics."""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import OUTER

__all__ = ["add_up", "add_up_two"]


@njit(**OUTER)
def add_up(values, sums):
    """sums[k] += sum_i values[i, k]; sums of sixteen rows are in the precision of `values`."""
    add_up_two(values, values[:0], sums)


@njit(**OUTER)
def add_up_two(first, then, sums):
    """Equivalent to `add_up(np.concatenate([first, then]), sums)`."""
    n_columns, n = first.shape[1], len(first)
    part = np.empty(n_columns, first.dtype)
    for begin in range(0, n + len(then), 16):
        part[:] = 0
        for i in range(begin, min(begin + 16, n + len(then))):
            source = first[i] if i < n else then[i - n]
            for k in range(n_columns):
                part[k] += source[k]
        for k in range(n_columns):
            sums[k] += part[k]

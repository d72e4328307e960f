"""Products of a document's block of topic rows with vectors, four rows in one pass over the vector.

The number of rows is a multiple of four and the width a multiple of 32 (`_shell.scratch_rows`); who calls
pads.
"""

from __future__ import annotations

from numba import njit

__all__ = ["add_weighted_rows", "divide_by_products"]

_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def divide_by_products(counts, block, n, vector, out):
    """Equivalent to `out[:n] = counts[:n] / (block[:n] @ vector)`."""
    n_columns = vector.shape[0] // 32 * 32
    for i in range(0, n, 4):
        z0 = z1 = z2 = z3 = vector.dtype.type(0)
        row0, row1, row2, row3 = block[i], block[i + 1], block[i + 2], block[i + 3]
        for k in range(n_columns):
            z0 += vector[k] * row0[k]
            z1 += vector[k] * row1[k]
            z2 += vector[k] * row2[k]
            z3 += vector[k] * row3[k]
        out[i], out[i + 1] = counts[i] / z0, counts[i + 1] / z1
        out[i + 2], out[i + 3] = counts[i + 2] / z2, counts[i + 3] / z3


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def add_weighted_rows(block, n, weights, out):
    """Equivalent to `out += weights[:n] @ block[:n]`."""
    n_columns = out.shape[0] // 32 * 32
    for i in range(0, n, 4):
        q0, q1, q2, q3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        row0, row1, row2, row3 = block[i], block[i + 1], block[i + 2], block[i + 3]
        for k in range(n_columns):
            out[k] += (q0 * row0[k] + q1 * row1[k]) + (q2 * row2[k] + q3 * row3[k])

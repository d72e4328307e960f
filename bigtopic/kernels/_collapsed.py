"""What the collapsed kernels with responsibilities share."""

from __future__ import annotations

from numba import njit

from bigtopic.kernels._shell import INNER

__all__ = ["stay"]


@njit(**INNER)
def stay(old, known, fresh, n_components):
    """An entry whose weights are too small or too large for a number keeps its share, or begins evenly.

    `fresh` becomes `old`, or ones where the entry is not `known` yet; returns the sum.
    """
    whole = fresh.dtype.type(0)
    for k in range(n_components):
        fresh[k] = old[k] if known else 1
        whole += fresh[k]
    return whole

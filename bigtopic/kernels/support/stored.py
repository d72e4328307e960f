"""Rows of the params that a kernel copies anyway, one after the other, as it finds them in a view."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bigtopic.kernels.support.entry import frozen
from bigtopic.types import View

__all__ = ["StoredRows", "stored_rows"]


class StoredRows(NamedTuple):
    """Weights of the i-th word: `array[ids[i]] * scale + prior`.

    Attributes
    ----------
    array : (any, n_columns), read-only like all of these
    ids : int32 (n_words,)
    scale, prior : float64 (n_columns,)
    """

    array: np.ndarray
    ids: np.ndarray
    scale: np.ndarray
    prior: np.ndarray


def stored_rows(view: View, name: str) -> StoredRows:
    """The rows of an array that the kernel declares as "stored", wherever the view has them; and of one of weights."""
    array = view.arrays[name]
    n_rows, n_columns = array.shape
    ids = view.arrays.get(f"{name}:ids", np.arange(n_rows, dtype=np.int32))
    scale = view.arrays.get(f"{name}:scale", np.ones(n_columns))
    prior = view.arrays.get(f"{name}:prior", np.zeros(n_columns))
    return StoredRows(
        frozen(array, array.dtype),
        frozen(ids, np.int32),
        frozen(scale, np.float64),
        frozen(prior, np.float64),
    )

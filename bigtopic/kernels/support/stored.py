"""Rows of the params, in place or copied, for kernels that copy them one by one anyway."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bigtopic.kernels.support.entry import frozen
from bigtopic.types import View

__all__ = ["StoredRows", "stored_rows"]


class StoredRows(NamedTuple):
    """Weights of the i-th word of a slice: `array[ids[i]] * scale + prior`.

    Attributes
    ----------
    array : (n_rows, n_columns), read-only, as are the others
    ids : int32 (n_words,)
    scale, prior : float64 (n_columns,)
    """

    array: np.ndarray
    ids: np.ndarray
    scale: np.ndarray
    prior: np.ndarray


def stored_rows(view: View, name: str) -> StoredRows:
    """The rows of an array that the kernel declares as "stored", whether the view has them in place or as weights."""
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

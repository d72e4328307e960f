"""The order of documents: a keyed hash of the source row, so that order never depends on who did the work.

`key(seed, row) = mix(mix(seed) + row * golden)` with the finaliser of SplitMix64, a bijection of 64-bit integers:
two rows never share a key under one seed, and sorting by key is a uniformly random permutation for all practical
purposes. Storing documents by ascending key makes every contiguous run of them a random minibatch.

References
----------
Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.support.numbers import is_whole

__all__ = ["by_source", "checked_seed", "document_keys", "key_bounds", "mix", "source_order"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SPAN = 1 << 64


def mix(values: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64, elementwise: uint64 -> uint64, a bijection."""
    z = np.asarray(values, dtype=np.uint64)
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def checked_seed(seed: Any) -> int:
    """The seed of an order, an argument `random_state`, as a Python integer.

    Raises
    ------
    SettingError
        When it is not a whole number.
    """
    if not is_whole(seed):
        raise SettingError(f"{argument('random_state', seed)}: give a whole number")
    return int(seed)


def by_source(order: str) -> bool:
    """Whether documents are wanted in the source's order: true for "source", false for "stored".

    Raises
    ------
    SettingError
        For anything else.
    """
    if order not in ("source", "stored"):
        raise SettingError(f"order={order!r}: give 'source' or 'stored'")
    return order == "source"


def source_order(rows: np.ndarray) -> np.ndarray | None:
    """Positions that put documents with these source rows into the source's order, int64 (n_docs,).

    None where they are in it already, as every corpus of `shuffle=False` is.
    """
    if (rows[1:] >= rows[:-1]).all():
        return None
    return np.argsort(rows, kind="stable")


def document_keys(seed: int, rows: np.ndarray) -> np.ndarray:
    """Sort keys, uint64 (n_docs,), of the documents with these source rows."""
    start = mix(np.array([seed % _SPAN], dtype=np.uint64) + _GOLDEN)
    return mix(start + np.asarray(rows).astype(np.uint64) * _GOLDEN)


def key_bounds(n_ranges: int) -> np.ndarray:
    """Upper ends of `n_ranges` equal ranges of keys, all but the last: uint64 (n_ranges - 1,).

    `np.searchsorted(key_bounds(n), keys, side="right")` is the range of each key.
    """
    return np.array([i * _SPAN // n_ranges for i in range(1, n_ranges)], dtype=np.uint64)

"""Additions to rows of arrays that are put off, until threads do them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from bigtopic.kernels.support.entry import frozen
from bigtopic.state import _kernels
from bigtopic.support.side_by_side import in_parts

__all__ = ["AT_ONCE", "MOST_PARTS", "Addition", "Additions"]

AT_ONCE = 16  # additions of a call: the loop is compiled for tuples of this length
MOST_PARTS = 8  # more cost more than they gain: each looks through all ids


class Addition(NamedTuple):
    """raw[ids[i], k] += values[i, k] * factor[k]."""

    raw: np.ndarray
    ids: np.ndarray
    values: np.ndarray
    factor: np.ndarray


class Additions:
    """Additions in the order in which a row gets them, so that its bits do not depend on who does them."""

    def __init__(self) -> None:
        self._additions: list[Addition] = []

    def append(self, raw: np.ndarray, ids: np.ndarray, values: np.ndarray, factor: np.ndarray) -> None:
        """Put off an addition."""
        self._additions.append(Addition(raw, ids, values, factor))

    def do(self, n_threads: int = 1) -> None:
        """Do all that was put off, in parts that have rows of their own. The caller keeps Ctrl-C away."""
        if not self._additions:
            return
        calls = [call for same in _alike(self._additions) for call in _calls(same)]
        n = _n_parts(n_threads, min(len(self._additions), MOST_PARTS))
        places = np.empty((n, _kernels.PLACES), np.int64)
        self._additions = []
        in_parts([partial(_do, calls, part, n, places[part]) for part in range(n)])


def _n_parts(n_threads: int, most: int = MOST_PARTS) -> int:
    """How many parts some threads divide additions into: a power of two, two for each thread, since some come late, but
    at most `most`."""
    return 1 << (min(most, 2 * n_threads).bit_length() - 1) if n_threads > 1 else 1


def _alike(additions: Sequence[Addition]) -> Iterator[list[Addition]]:
    """Those to the same array, in order, of values of the same type, which one call may do."""
    arrays: dict[int, list[Addition]] = {}
    for addition in additions:
        arrays.setdefault(id(addition.raw), []).append(addition)
    for same_array in arrays.values():
        for _, alike in groupby(same_array, lambda addition: addition.values.dtype):
            yield list(alike)


def _calls(additions: Sequence[Addition]) -> list[tuple[Any, ...]]:
    """The arguments of `scatter_some`; the last call adds nothing where fewer are left."""
    none = additions[0]._replace(ids=additions[0].ids[:0], values=additions[0].values[:0])
    full = [*additions, *[none] * (-len(additions) % AT_ONCE)]
    raws, ids, values, factors = zip(*full, strict=True)
    others = (
        [frozen(some, np.int32) for some in ids],
        [frozen(some, some.dtype) for some in values],
        list(factors),
    )
    return [
        (raws[0], *(tuple(some[first : first + AT_ONCE]) for some in others))
        for first in range(0, len(full), AT_ONCE)
    ]


def _do(calls: Sequence[tuple[Any, ...]], part: int, n_parts: int, places: np.ndarray) -> None:
    for raw, ids, values, factors in calls:
        _kernels.scatter_some(raw, ids, values, factors, part, n_parts, places)

"""Additions to rows of arrays that are put off, until threads do them side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from bigtopic.kernels.support.entry import frozen
from bigtopic.side_by_side import Part, in_parts
from bigtopic.state import _kernels

__all__ = ["AT_ONCE", "MOST_PARTS", "Addition", "Additions", "n_parts"]

AT_ONCE = 16  # additions of a call: the loop is compiled for tuples of this length
MOST_PARTS = 8  # more cost more than they gain: each looks through all ids


class Addition(NamedTuple):
    """raw[ids[i], k] += values[i, k] * factor[k]."""

    raw: np.ndarray
    ids: np.ndarray
    values: np.ndarray
    factor: np.ndarray


class Additions:
    """Additions in the order in which a row gets them, so that its bits do not depend on who does them, or when.

    Parameters
    ----------
    n_threads : that may share them
    """

    def __init__(self, n_threads: int = 1) -> None:
        self._n_threads = n_threads
        self._open: list[Addition] = []
        self._sealed: deque[Callable[[], list[Addition]]] = deque()
        self._parts: list[Part] = []  # at work, or left by a failure

    def append(self, raw: np.ndarray, ids: np.ndarray, values: np.ndarray, factor: np.ndarray) -> None:
        """Put off an addition."""
        self._open.append(Addition(raw, ids, values, factor))

    def seal(self) -> Sequence[Addition]:
        """What is put off from now on is not for the same call of `do_sealed` as what was before, which is returned."""
        sealed, self._open = self._open, []
        self._sealed.append(lambda: sealed)
        return sealed

    def append_sealed(self, batch: Callable[[], list[Addition]]) -> None:
        """Put off additions that are sealed together, and asked for when they are done."""
        self._sealed.append(batch)

    def forget_sealed(self) -> None:
        """The first additions that were sealed together have been done by the caller."""
        self._sealed.popleft()

    def do_sealed(self) -> None:
        """Do the first additions that were sealed together, in parts that have rows of their own, where there are as
        many additions. After Ctrl-C, another call does what is left of the parts."""
        in_parts(self._parts)  # by themselves: they may divide the rows differently
        left = self._sealed[0]()
        if left:
            calls = [call for same in _alike(left) for call in _calls(same)]
            n = n_parts(self._n_threads, min(len(left), MOST_PARTS))
            places = np.empty((n, _kernels.PLACES), np.int64)
            self._parts = [partial(_do, deque(calls), part, n, places[part]) for part in range(n)]
        self._sealed.popleft()
        in_parts(self._parts)
        self._parts = []

    def do(self) -> None:
        """Do all that is left."""
        self.seal()
        while self._sealed:
            self.do_sealed()


def n_parts(n_threads: int, most: int = MOST_PARTS) -> int:
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


def _do(calls: deque[tuple[Any, ...]], part: int, n_parts: int, places: np.ndarray) -> None:
    while calls:  # a call that has begun is done: Ctrl-C comes when it returns
        raw, ids, values, factors = calls.popleft()
        _kernels.scatter_some(raw, ids, values, factors, part, n_parts, places)

"""Adding statistics along a fixed tree, so that no executor can change a sum.

Slices are numbered 0, 1, ... inside a round. A node of the tree is the sum of consecutive slices, and is added from two
nodes, its halves (`left_half`). The slices of a node depend only on the number of slices. So a task may compute any
node: the sums are the same to the last bit. Slices that come in order leave at most one sum for each level of the tree.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bigtopic.learning import _kernels
from bigtopic.plan.slices import lookup_table
from bigtopic.support import buffers
from bigtopic.support.side_by_side import over_rows
from bigtopic.types import AxisStats, Stats

__all__ = [
    "LARGE",
    "Tree",
    "TreeInAnyOrder",
    "add",
    "add_axis",
    "cut",
    "depth",
    "left_half",
    "sum_dtype",
]

LARGE = 1 << 24  # bytes of a sum whose memory is not kept: one piece would stay for every level of the tree
_MOST_TOKENS = np.iinfo(np.int32).max
_PLUS = 0  # in a walk, in place of a number of slices


def add(a: Stats, b: Stats) -> Stats:
    """The elementwise sum; neither argument is changed."""
    n_tokens = a.n_tokens + b.n_tokens
    arrays = {
        name: add_axis(_widened(a.arrays[name], n_tokens), _widened(b.arrays[name], n_tokens))
        for name in a.arrays
    }
    return Stats(arrays, a.n_docs + b.n_docs, n_tokens, _add_info(a.info, b.info))


def sum_dtype(dtype: np.dtype, n_tokens: float) -> np.dtype:
    """The dtype of a sum over `n_tokens` tokens: integers take eight bytes where four cannot count them."""
    return np.dtype(np.int64) if dtype == np.int32 and n_tokens > _MOST_TOKENS else dtype


def _widened(stats: AxisStats, n_tokens: float) -> AxisStats:
    dtype = sum_dtype(stats.values.dtype, n_tokens)
    return stats if dtype == stats.values.dtype else AxisStats(stats.ids, stats.values.astype(dtype))


def add_axis(a: AxisStats, b: AxisStats) -> AxisStats:
    """The same for one array."""
    if a.ids is None or b.ids is None:
        return AxisStats(None, a.values + b.values)
    if not isinstance(a.values, np.ndarray):
        return _add_lists(a, b)
    size = int(max(a.ids.max(initial=-1), b.ids.max(initial=-1))) + 1
    n = min(len(a.ids) + len(b.ids), size)
    if n == 0:
        return a
    ids, places = np.empty(n, a.ids.dtype), np.empty(n, np.int32)
    columns = a.values.shape[1]
    kept = n * columns * a.values.itemsize < LARGE
    values = buffers.empty((n, columns), a.values.dtype, kept=kept)
    n = _kernels.join_ids(a.ids, b.ids, lookup_table(size), ids, places)
    over_rows(
        lambda start, stop: _kernels.add_rows(a.values, b.values, places, start, stop, values),
        n,
        3 * columns * values.itemsize,
    )
    if 2 * n < len(ids):  # do not let a view pin twice the memory
        return AxisStats(ids[:n].copy(), values[:n].copy())
    return AxisStats(ids[:n], values[:n])


def _add_lists(a: AxisStats, b: AxisStats) -> AxisStats:
    """The same of sparse rows; ids ascend."""
    assert a.ids is not None and b.ids is not None
    ids = np.union1d(a.ids, b.ids)
    return AxisStats(ids, _spread(a, ids) + _spread(b, ids))


def _spread(stats: AxisStats, ids: np.ndarray) -> Any:
    """The rows among more rows, whose ids ascend."""
    from scipy.sparse import csr_array

    assert stats.ids is not None
    order, values = np.argsort(stats.ids), stats.values
    if (order[1:] < order[:-1]).any():
        values = values[order]
    indptr = np.zeros(len(ids) + 1, values.indptr.dtype)
    indptr[1 + np.searchsorted(ids, stats.ids[order])] = np.diff(values.indptr)
    return csr_array((values.data, values.indices, np.cumsum(indptr)), shape=(len(ids), values.shape[1]))


def _add_info(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    return {name: a.get(name, 0.0) + b.get(name, 0.0) for name in {**a, **b}}


class Tree:
    """The sum of a round: push results in slice order, then `result()`.

    Parameters
    ----------
    n_slices : of the round, or of a node of it, which is a tree of the same shape
    plus : the sum of two results, where these are not `Stats`
    """

    def __init__(self, n_slices: int, plus: Callable[[Any, Any], Any] = add) -> None:
        self._plus = plus
        self._walk = [n_slices]  # nodes to come, in post-order, the next one last
        self._sums: list[Any] = []

    def push(self, stats: Any, n_slices: int = 1) -> None:
        """Add the sum of the next `n_slices` slices, which must be a node of the tree."""
        while (size := self._walk.pop()) > n_slices:
            left = left_half(size)
            self._walk += [_PLUS, size - left, left]
        assert size == n_slices
        while self._walk and self._walk[-1] == _PLUS:
            self._walk.pop()
            stats = self._plus(self._sums.pop(), stats)
        self._sums.append(stats)

    def result(self) -> Any:
        """The sum of all slices; None when there are none."""
        assert len(self._sums) <= 1
        return self._sums[0] if self._sums else None


class TreeInAnyOrder:
    """The same for slices that come in any order, from several threads: the thread with the second half of a sum adds
    it. If slices begin in order, there are at most as many sums as threads and levels of the tree.

    Parameters
    ----------
    n_slices, plus : as of `Tree`
    """

    def __init__(self, n_slices: int, plus: Callable[[Any, Any], Any] = add) -> None:
        self._n_slices, self._plus = n_slices, plus
        self._sums: dict[tuple[int, int], Any] = {}  # by first slice and number
        self._lock = threading.Lock()

    def push(self, stats: Any, first: int, n_slices: int = 1) -> None:
        """Add the sum of the `n_slices` slices from `first` on, which must be a node of the tree."""
        while True:
            start, size, left = self._parent(first, n_slices)
            other = (start + left, size - left) if first == start else (start, left)
            with self._lock:
                sibling = self._sums.pop(other, None)
                if sibling is None:
                    self._sums[first, n_slices] = stats
                    return
            stats = self._plus(stats, sibling) if first == start else self._plus(sibling, stats)
            first, n_slices = start, size

    def _parent(self, first: int, n_slices: int) -> tuple[int, int, int]:
        """First slice and number of the parent of a node, and the number of its left half; the root has no sibling."""
        start, size = 0, self._n_slices
        while size > n_slices:
            left = left_half(size)
            half = (start, left) if first < start + left else (start + left, size - left)
            if half == (first, n_slices):
                return start, size, left
            start, size = half
        return start, size, size

    def result(self) -> Any:
        """The sum of all slices."""
        ((_, total),) = self._sums.items()
        return total


def left_half(n_slices: int) -> int:
    """Slices in the left half of a node: as many as in the right one, or one more."""
    return (n_slices + 1) // 2


def depth(n_slices: int) -> int:
    """Levels of the tree above its slices."""
    return max(n_slices - 1, 0).bit_length()


def cut(n_slices: int, n_nodes: int) -> list[int]:
    """Sizes, in order, of the nodes of the first level of the tree that has `n_nodes`; of its slices if none has."""
    sizes = [n_slices]
    while len(sizes) < min(n_nodes, n_slices):
        sizes = [half for size in sizes for half in _halves(size)]
    return sizes


def _halves(n_slices: int) -> list[int]:
    if n_slices == 1:
        return [1]
    left = left_half(n_slices)
    return [left, n_slices - left]

"""Adding statistics along a fixed tree, so that no executor can change a sum.

Slices are numbered 0, 1, ... inside a round. Sixteen consecutive slices form a complete binary subtree; 64 subtrees
are added from left to right and make a bundle; bundles are added from left to right. A task may merge a complete
subtree, or a graph a complete bundle, and hand over the result: the sums are the same to the last bit. Adding from left
to right bounds the memory: two running sums and at most four pending ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bigtopic import buffers
from bigtopic.learning import _kernels
from bigtopic.plan.slices import SUBTREE, lookup_table
from bigtopic.types import AxisStats, Stats

__all__ = ["BUNDLE", "Tree", "add", "add_axis"]

BUNDLE = 64


def add(a: Stats, b: Stats) -> Stats:
    """The elementwise sum; neither argument is changed."""
    arrays = {name: add_axis(a.arrays[name], b.arrays[name]) for name in a.arrays}
    return Stats(arrays, a.n_docs + b.n_docs, a.n_tokens + b.n_tokens, _add_info(a.info, b.info))


def add_axis(a: AxisStats, b: AxisStats) -> AxisStats:
    """The same for one array."""
    if a.ids is None or b.ids is None:
        return AxisStats(None, a.values + b.values)
    size = int(max(a.ids.max(initial=-1), b.ids.max(initial=-1))) + 1
    n = min(len(a.ids) + len(b.ids), size)
    if n == 0:
        return a
    ids = np.empty(n, a.ids.dtype)
    values = buffers.empty((n, a.values.shape[1]), a.values.dtype)
    n = _kernels.merge_rows(a.ids, a.values, b.ids, b.values, lookup_table(size), ids, values)
    if 2 * n < len(ids):  # do not let a view pin twice the memory
        return AxisStats(ids[:n].copy(), values[:n].copy())
    return AxisStats(ids[:n], values[:n])


def _add_info(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    return {name: a.get(name, 0.0) + b.get(name, 0.0) for name in {**a, **b}}


class Tree:
    """The running sum of a round: push results in slice order, then `result()`.

    Parameters
    ----------
    plus : the sum of two results, where these are not `Stats`
    """

    def __init__(self, plus: Callable[[Any, Any], Any] = add) -> None:
        self._plus = plus
        self._pending: list[tuple[int, Any]] = []
        self._bundle: Any = None
        self._subtrees = 0
        self._total: Any = None

    def push(self, stats: Any, level: int = 0) -> None:
        """Add the next complete subtree: 2**level slices, beginning at a multiple of 2**level."""
        while self._pending and self._pending[-1][0] == level:
            stats = self._plus(self._pending.pop()[1], stats)
            level += 1
        if 1 << level == SUBTREE:
            self.push_subtree(stats)
        else:
            self._pending.append((level, stats))

    def push_subtree(self, stats: Any) -> None:
        """Add the sum of the next `SUBTREE` slices, or of what is left of the round."""
        self._bundle = self._more(self._bundle, stats)
        self._subtrees += 1
        if self._subtrees == BUNDLE:
            self.push_bundle(self._bundle)

    def push_bundle(self, stats: Any) -> None:
        """Add the sum of the next `BUNDLE` subtrees, or of what is left of the round."""
        self._total = self._more(self._total, stats)
        self._bundle, self._subtrees = None, 0

    def result(self) -> Any:
        """The sum of everything pushed; None when that is nothing."""
        rest = None
        for _, stats in reversed(self._pending):
            rest = stats if rest is None else self._plus(stats, rest)
        self._pending = []
        if rest is not None:
            self._bundle = self._more(self._bundle, rest)
        if self._bundle is not None:
            self.push_bundle(self._bundle)
        return self._total

    def _more(self, total: Any, stats: Any) -> Any:
        return stats if total is None else self._plus(total, stats)

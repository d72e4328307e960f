"""Counts that a collapsed kernel changes as it goes: it begins with those of the params, and returns the changes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bigtopic.support import buffers
from bigtopic.types import View

__all__ = ["VIEWS", "counts_of", "moved"]

VIEWS = {"topic_words": "counts", "author_topics": "counts"}


def counts_of(view: View, names: Iterable[str] = VIEWS) -> tuple[np.ndarray, ...]:
    """Copies of what the params have in these arrays, float64, to be changed."""
    counts = tuple(buffers.empty(view.arrays[name].shape, np.float64) for name in names)
    for own, name in zip(counts, names, strict=True):
        own[:] = view.arrays[name]
    return counts


def moved(counts: Iterable[np.ndarray], view: View, names: Iterable[str] = VIEWS) -> dict[str, np.ndarray]:
    """By how much the counts have changed, as statistics; takes over their arrays."""
    found = dict(zip(names, counts, strict=True))
    for name, values in found.items():
        values -= view.arrays[name]
    return found

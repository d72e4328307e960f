"""Counts that a collapsed kernel changes as it goes: it begins with those of the params, and returns the changes."""

from __future__ import annotations

import numpy as np

from bigtopic import buffers
from bigtopic.types import View

__all__ = ["VIEWS", "counts_of", "moved"]

VIEWS = {"topic_words": "counts", "author_topics": "counts"}


def counts_of(view: View) -> tuple[np.ndarray, np.ndarray]:
    """Copies of what the params have of words and of authors, float64, to be changed."""
    words, authors = (buffers.empty(view.arrays[name].shape, np.float64) for name in VIEWS)
    words[:], authors[:] = (view.arrays[name] for name in VIEWS)
    return words, authors


def moved(by_word: np.ndarray, by_author: np.ndarray, view: View) -> dict[str, np.ndarray]:
    """By how much the counts have changed, as statistics; takes over their arrays."""
    found = {"topic_words": by_word, "author_topics": by_author}
    for name, values in found.items():
        values -= view.arrays[name]
    return found

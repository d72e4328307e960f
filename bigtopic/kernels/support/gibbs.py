"""Steps that Gibbs samplers against fixed topics share: tokens and rows of documents worked on together, and sums.

The arrays of compiled loops are those of `_labels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.support.draw import ENDS, put
from bigtopic.kernels.support.entry import INNER, OUTER
from bigtopic.kernels.support.labels import TOGETHER
from bigtopic.kernels.support.memory import prefetch
from bigtopic.kernels.support.tokens import fractional
from bigtopic.kernels.support.vector import LANES, larger, largest, load, spread, store
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Scratch

__all__ = [
    "LEAST_PRIOR",
    "add",
    "count_tokens",
    "gather",
    "largest_sum",
    "refuse_fractions",
    "room",
    "scratch",
]

LEAST_PRIOR = 1e-18  # keeps products with it normal numbers in float32
_AHEAD = 4  # words


@njit(**OUTER)
def count_tokens(indptr, words, counts, topic_words, known, n_tokens):
    """known[word] <- whether a topic knows the word; n_tokens[d] <- tokens of such words in document d."""
    for word in range(topic_words.shape[0]):
        most = spread(topic_words.dtype.type(0))
        for k in range(0, topic_words.shape[1], LANES):
            most = larger(most, load(topic_words, (word, k)))
        known[word] = largest(most) > 0
    for d in range(indptr.shape[0] - 1):
        n_tokens[d] = 0
        for i in range(indptr[d], indptr[d + 1]):
            n_tokens[d] += np.int64(counts[i]) if known[words[i]] else 0


@njit(**INNER)
def gather(first, words, counts, topic_words, known, block, held, j, rows):
    """Copy the rows of the words to `block` from `first` on, clear what is held, and list the tokens of known words."""
    n_columns, n = topic_words.shape[1], 0
    for i in range(words.shape[0]):
        word, ahead = words[i], words[min(i + _AHEAD, words.shape[0] - 1)]
        place = first + i * n_columns
        for k in range(0, n_columns, LANES):
            prefetch(topic_words, ahead, k)
            store(block, place + k, load(topic_words, (word, k)))
            store(held, place + k, spread(block.dtype.type(0)))
        for _ in range(np.intp(counts[i]) if known[word] else 0):
            put(rows, n * TOGETHER + j, place)
            n += 1


@njit(**INNER)
def add(first, words, counts, n_samples, n_tokens, by_theta, prior, held, mean, stats):
    """Add a document's statistics. `mean` (n_columns,) becomes alpha + N, the mean of what was counted."""
    one, n_columns = mean.dtype.type(1), mean.shape[0]
    zero, once = spread(mean.dtype.type(0)), spread(mean.dtype.type(one / n_samples))
    for k in range(0, n_columns, LANES):
        number = zero
        for i in range(words.shape[0]):
            number = number + load(held, first + i * n_columns + k)
        store(mean, k, once * number)
    for i in range(words.shape[0]):
        ahead = words[min(i + _AHEAD, words.shape[0] - 1)]
        share = spread(mean.dtype.type(counts[i] / n_tokens))
        for k in range(0, n_columns, LANES):
            prefetch(stats, ahead, k)
            own = share * load(mean, k) if by_theta else once * load(held, first + i * n_columns + k)
            store(stats, (words[i], k), load(stats, (words[i], k)) + own)
    for k in range(0, n_columns, LANES):
        store(mean, k, load(mean, k) + load(prior, k))


def refuse_fractions(docs: Docs) -> None:
    """Raises an `InputError` when a count is not a whole number."""
    fractions = np.flatnonzero(docs.counts != np.floor(docs.counts))
    if len(fractions):
        raise fractional(docs, int(fractions[0]))


def largest_sum(lengths: np.ndarray) -> int:
    """The most distinct words of documents that are worked on together, for their lengths in the order of the work."""
    padded = np.zeros(-(-len(lengths) // TOGETHER) * TOGETHER, np.int64)
    padded[len(padded) - len(lengths) :] = lengths
    return int(padded.reshape(-1, TOGETHER).sum(axis=1).max(initial=1))


def room(n_words: int, most_tokens: int, n_columns: int, dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """The arrays of a sampler from `rows` to `n_tokens`, for documents that are worked on together.

    Parameters
    ----------
    n_words : distinct words of these documents, summed
    most_tokens : of the longest one
    """
    by_document = n_columns * TOGETHER
    return (
        buffers.empty(most_tokens * TOGETHER, np.int64),
        buffers.empty(most_tokens * TOGETHER, np.int32),
        *(buffers.empty(n_words * n_columns, dtype) for _ in range(2)),
        *(buffers.empty(by_document, dtype) for _ in range(3)),
        np.zeros(ENDS * TOGETHER, dtype),
        np.empty(TOGETHER, dtype),
        np.empty(TOGETHER, np.int64),
        np.empty(TOGETHER, np.uint64),
        np.empty(TOGETHER, np.int64),
    )


def scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Of documents worked on together: places and labels of tokens, rows of words, and what is held of these."""
    n_entries = size.longest * TOGETHER * size.columns["topic_words"]
    n_tokens = size.longest_tokens * TOGETHER
    return Scratch([n_tokens * 8, n_tokens * 4, *[n_entries * 4] * 2])

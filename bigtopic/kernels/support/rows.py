"""The rows of a document's words, copied to a block that stays in the cache, and loops over that block.

Row i of `block` belongs to the document's word i, `tokens[i]` its count. Words are worked on in groups of GROUP, so the
block is padded with words of count 0 to whole groups.

`StoredRows` are rows of the params, in place or copied, for kernels that copy them one by one anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bigtopic.kernels.support.entry import frozen, inner
from bigtopic.kernels.support.vector import LANES, larger, largest, load, prefetch, spread, store, total
from bigtopic.types import CallSize, Scratch, View

__all__ = [
    "AHEAD",
    "GROUP",
    "StoredRows",
    "add_shares",
    "gather_scaled",
    "mixture_gradient",
    "rows_scratch",
    "stored_rows",
    "vertex_gradient",
]

GROUP = 4  # words that are worked on together
AHEAD = 4  # words


@inner
def gather_scaled(words, counts, topic_words, block, tokens):
    """Copy the rows of the words, each divided by its maximum.

    Returns the padded number of words, the tokens, and the tokens of words that no topic knows (they count 0).
    """
    one, n, known, dropped = block.dtype.type(1), words.shape[0], 0.0, 0.0
    padded = (n + GROUP - 1) // GROUP * GROUP
    for i in range(padded):
        tokens[i] = 0
        best = one - one
        if i < n:
            word, ahead = words[i], words[min(i + AHEAD, n - 1)]
            most = spread(best)
            for k in range(0, block.shape[1], LANES):
                prefetch(topic_words, ahead, k)
                most = larger(most, load(topic_words, (word, k)))
            best = largest(most)
        if best > 0:
            tokens[i] = counts[i]
            known += counts[i]
            inverse = spread(one / best)
            for k in range(0, block.shape[1], LANES):
                store(block, (i, k), inverse * load(topic_words, (word, k)))
        else:
            for k in range(0, block.shape[1], LANES):
                store(block, (i, k), spread(one))
            if i < n:
                dropped += counts[i]
    return padded, known, dropped


@inner
def mixture_gradient(tokens, block, n, weights, gradient):
    """gradient_k <- sum_v (c_v / x_v) W_vk, x = W weights, with the rows of a group read once for both."""
    zero = spread(weights.dtype.type(0))
    for k in range(0, weights.shape[0], LANES):
        store(gradient, k, zero)
    for i in range(0, n, GROUP):
        x0 = x1 = x2 = x3 = zero
        for k in range(0, weights.shape[0], LANES):
            own = load(weights, k)
            x0, x1 = x0 + own * load(block, (i, k)), x1 + own * load(block, (i + 1, k))
            x2, x3 = x2 + own * load(block, (i + 2, k)), x3 + own * load(block, (i + 3, k))
        q0, q1 = spread(tokens[i] / total(x0)), spread(tokens[i + 1] / total(x1))
        q2, q3 = spread(tokens[i + 2] / total(x2)), spread(tokens[i + 3] / total(x3))
        for k in range(0, weights.shape[0], LANES):
            sums = load(gradient, k) + q0 * load(block, (i, k)) + q1 * load(block, (i + 1, k))
            store(gradient, k, sums + q2 * load(block, (i + 2, k)) + q3 * load(block, (i + 3, k)))


@inner
def vertex_gradient(tokens, block, n, best, move, explained, gradient):
    """Take the step towards `best` in the words, and sum up their c W / y, with each row read once for both."""
    zero = spread(explained.dtype.type(0))
    for k in range(0, gradient.shape[0], LANES):
        store(gradient, k, zero)
    for i in range(0, n, GROUP):
        for m in range(i, i + GROUP):
            explained[m] += move * block[m, best]
        q0, q1 = spread(tokens[i] / explained[i]), spread(tokens[i + 1] / explained[i + 1])
        q2, q3 = spread(tokens[i + 2] / explained[i + 2]), spread(tokens[i + 3] / explained[i + 3])
        for k in range(0, gradient.shape[0], LANES):
            part = load(gradient, k) + q0 * load(block, (i, k)) + q1 * load(block, (i + 1, k))
            store(gradient, k, part + q2 * load(block, (i + 2, k)) + q3 * load(block, (i + 3, k)))


@inner
def add_shares(words, tokens, block, weights, stats):
    """Add a document's tokens, each shared among the topics in proportion to weights_k W_vk."""
    for i in range(words.shape[0]):
        word, ahead = words[i], words[min(i + AHEAD, words.shape[0] - 1)]
        x = spread(weights.dtype.type(0))
        for k in range(0, block.shape[1], LANES):
            prefetch(stats, ahead, k)
            x = x + load(weights, k) * load(block, (i, k))
        ratio = spread(tokens[i] / total(x))
        for k in range(0, block.shape[1], LANES):
            own = ratio * load(weights, k) * load(block, (i, k))
            store(stats, (word, k), load(stats, (word, k)) + own)


def rows_scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """The block of the longest document."""
    return Scratch([(size.longest + GROUP) * size.columns["topic_words"] * 4])


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

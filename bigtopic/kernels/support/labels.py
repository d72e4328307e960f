"""The labels of the tokens of some documents, drawn against fixed weights: a token of each document by turns.

A draw waits for the label before it; draws of several documents wait at the same time. Documents change nothing in each
other.

In what follows j is one of the documents, longer ones have larger j, and i is a place in its list of tokens. Arrays are
flat: mass[j * n_columns + k] is alpha_k + N_k of document j, numbers the same without alpha, prior is alpha
for each document. block and held have a row of n_columns for each word; rows[i * TOGETHER + j] says where the row of a
token begins. sums, ends and targets are what `draw.find` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bigtopic.kernels.support.draw import ENDS, find, get, put, scan
from bigtopic.kernels.support.entry import Call, frozen, inner, outer
from bigtopic.kernels.support.expected_logs import with_psi
from bigtopic.kernels.support.random import uniform
from bigtopic.kernels.support.tokens import whole_counts
from bigtopic.kernels.support.vector import LANES, larger, largest, load, prefetch, spread, store, total
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Scratch

__all__ = [
    "LEAST_PRIOR",
    "TOGETHER",
    "Sampled",
    "add",
    "count_labels",
    "count_tokens",
    "gather",
    "hold_conditionals",
    "largest_sum",
    "room",
    "sampled",
    "scratch",
    "start_labels",
    "sweep_labels",
]

TOGETHER = 4


@inner
def _count(place, change, prior, numbers, mass):
    """Change a count. It is a whole number, so that nothing drifts however often labels change."""
    number = get(numbers, place) + change
    put(numbers, place, number)
    put(mass, place, get(prior, place) + number)


@inner
def start_labels(
    j, n_tokens, n_components, n_columns, by_words, row_key, prior,
    rows, labels, block, mass, numbers, sums, ends, targets,
):  # fmt: skip
    """Draw the first label of each token, and count all of them but the first token's."""
    one, zero = mass.dtype.type(1), mass.dtype.type(0)
    own = slice(j * n_columns, (j + 1) * n_columns)
    for k in range(n_columns):
        mass[own][k], numbers[own][k] = one if k < n_components else zero, zero
    for i in range(n_tokens):
        u, at = uniform(row_key, i), i * TOGETHER + j
        label = min(np.intp(u * n_components), n_components - 1)
        if by_words:
            lane = scan(u, j, rows[at], n_columns, mass, block, sums, ends, targets)
            label = find(lane, j, rows[at], n_columns, mass, block, sums, ends, targets)
        labels[at] = label
        numbers[own][label] += i > 0
    for k in range(n_columns):
        mass[own][k] = prior[own][k] + numbers[own][k]


@inner
def _following(i, j, n_tokens, labels):
    """The label of the token after this one, or of the first after the last."""
    return get(labels, ((i + 1) if i + 1 < get(n_tokens, j) else 0) * TOGETHER + j)


@inner
def sweep_labels(
    n_tokens, sweep, keep, row_keys, n_columns, prior,
    rows, labels, block, mass, numbers, held, sums, ends, targets, lanes,
):  # fmt: skip
    """Draw each label anew; `keep` (1 or 0) of it is held. The token that comes next is never counted."""
    active, one = 0, mass.dtype.type(1)
    for i in range(n_tokens[TOGETHER - 1]):
        while get(n_tokens, active) <= i:
            active += 1
        for j in range(active, TOGETHER):
            u, row = uniform(get(row_keys, j), sweep * get(n_tokens, j) + i), get(rows, i * TOGETHER + j)
            put(lanes, j, scan(u, j, row, n_columns, mass, block, sums, ends, targets))
        for j in range(active, TOGETHER):
            row = get(rows, i * TOGETHER + j)
            label = find(get(lanes, j), j, row, n_columns, mass, block, sums, ends, targets)
            put(labels, i * TOGETHER + j, label)
            put(held, row + label, get(held, row + label) + keep)
            _count(j * n_columns + label, one, prior, numbers, mass)
            _count(j * n_columns + _following(i, j, n_tokens, labels), -one, prior, numbers, mass)


@inner
def hold_conditionals(n_tokens, n_columns, prior, rows, labels, block, mass, numbers, held, inverses):
    """Hold each token's conditional probabilities given all other labels."""
    active, one = 0, mass.dtype.type(1)
    for i in range(n_tokens[TOGETHER - 1]):
        while get(n_tokens, active) <= i:
            active += 1
        for j in range(active, TOGETHER):
            row, weights = get(rows, i * TOGETHER + j), spread(mass.dtype.type(0))
            for k in range(0, n_columns, LANES):
                weights = weights + load(mass, j * n_columns + k) * load(block, row + k)
            put(inverses, j, one / total(weights))
        for j in range(active, TOGETHER):
            row, inverse = get(rows, i * TOGETHER + j), spread(get(inverses, j))
            for k in range(0, n_columns, LANES):
                share = inverse * load(mass, j * n_columns + k) * load(block, row + k)
                store(held, row + k, load(held, row + k) + share)
            _count(j * n_columns + get(labels, i * TOGETHER + j), one, prior, numbers, mass)
            _count(j * n_columns + _following(i, j, n_tokens, labels), -one, prior, numbers, mass)


@inner
def count_labels(j, n_tokens, labels, counted):
    """counted[k] <- the labels of topic k that document j has."""
    counted[:] = 0
    for i in range(n_tokens):
        counted[get(labels, i * TOGETHER + j)] += 1


LEAST_PRIOR = 1e-18  # keeps products with it normal numbers in float32
_AHEAD = 4  # words


@outer
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


@inner
def gather(first, words, counts, topic_words, known, block, held, j, rows):
    """Copy the rows of the words to `block` from `first` on, clear `held`, and list the tokens of known words."""
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


@inner
def add(first, words, counts, n_samples, n_tokens, by_theta, prior, held, mean, stats):
    """Add a document's statistics. `mean` (n_columns,) becomes alpha + N, the mean of the counts."""
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


class Sampled(NamedTuple):
    """What a sampler of the labels of some documents works with, all as its compiled loop takes it.

    Attributes
    ----------
    order : the documents, those with the fewest tokens first: documents that are worked on together end together
    n_tokens : int64 (n_docs,), tokens of words that a topic knows
    inputs : indptr, words, counts, rows of the documents and of the words, which of these are known, and the prior
    room : see `room`; then the prior with its psi, and room for the labels of a document by topic
    """

    order: np.ndarray
    n_tokens: np.ndarray
    inputs: tuple[np.ndarray, ...]
    room: tuple[np.ndarray, ...]

    def info(self, docs: Docs, n_sweeps: int) -> dict[str, float]:
        """Figures after so many sweeps."""
        dropped = docs.counts.sum(dtype=np.float64) - self.n_tokens.sum()
        return {"iterations": np.count_nonzero(self.n_tokens) * n_sweeps, "dropped_tokens": dropped}


def sampled(call: Call) -> Sampled:
    """What a sampler needs for these documents.

    Raises
    ------
    InputError
        When a count is not a whole number.
    """
    docs, alpha = call.docs, np.maximum(call.hyper.doc_topic_prior, LEAST_PRIOR)
    whole_counts(docs)
    known, n_tokens = np.empty(len(call.topic_words), np.bool_), np.empty(docs.n_docs, np.int64)
    count_tokens(*call.inputs, known, n_tokens)
    order = np.argsort(n_tokens, kind="stable")
    n_words, most_tokens = largest_sum(np.diff(docs.indptr)[order]), int(n_tokens.max(initial=1))
    prior = frozen(np.tile(call.prior(alpha), TOGETHER), call.dtype)
    rows = room(n_words, most_tokens, call.n_columns, call.dtype)
    inputs = (*call.documents, call.rows, call.topic_words, known, prior)
    return Sampled(order, n_tokens, inputs, (*rows, *with_psi(alpha), np.empty(len(alpha))))


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
        np.zeros(TOGETHER, np.uint64),
        np.zeros(TOGETHER, np.int64),
    )


def scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Memory of documents worked on together: places and labels of tokens, rows of words, and counts by word."""
    n_entries = size.longest * TOGETHER * size.columns["topic_words"]
    n_tokens = size.longest_tokens * TOGETHER
    return Scratch([n_tokens * 8, n_tokens * 4, *[n_entries * 4] * 2])

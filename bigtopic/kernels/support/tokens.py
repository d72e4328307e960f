"""Tokens of a slice by word, and the topics that their labels give each document.

A document's topics lie in blocks of LANES neighbouring ones. Those that it has had a label of are `n_held[d]` blocks of
`held` from `begins[d]` on, numbers of labels; block i has the topics from `firsts[i]` on. In `places` is where a
document has each block of all topics, or -1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.errors import InputError
from bigtopic.kernels.support.entry import (
    frozen,
    inline,
    inner,
    outer,
    uncounted,
)
from bigtopic.kernels.support.rows import StoredRows
from bigtopic.kernels.support.vector import LANES, spread, store
from bigtopic.support import buffers
from bigtopic.types import Docs

__all__ = [
    "FLOOR",
    "LANE",
    "SHIFT",
    "TAKES_WEIGHTS",
    "Sampler",
    "add_labels",
    "fractional",
    "frozen_by_word",
    "hold_labels",
    "hold_topics",
    "put_doc_topics",
    "sorted_by_word",
    "whole_counts",
]

SHIFT, LANE = np.uint64(4), np.uint64(LANES - 1)  # topic k is in lane k & LANE of block k >> SHIFT
FLOOR = 1e-10  # of a count with its prior: what rounding leaves of a tiny one is 0
TAKES_WEIGHTS = (
    "choose a method that takes weights: one that does not sample, such as online-cvb0, vb, author-vb or "
    "dual-mf"
)
_MOST_TOKENS = np.iinfo(np.int32).max  # that a number of four bytes can name


@outer
def _sort_by_word(indptr, words, counts, starts, entries, token_starts, tokens):
    starts[:], token_starts[:] = 0, 0
    for i in range(words.shape[0]):
        starts[words[i] + 1] += counts[i] > 0
        token_starts[words[i] + 1] += max(counts[i], 0)
    for v in range(starts.shape[0] - 1):
        starts[v + 1] += starts[v]
        token_starts[v + 1] += token_starts[v]
    token = 0
    for d in range(indptr.shape[0] - 1):
        tokens[d] = token
        for i in range(indptr[d], indptr[d + 1]):
            if counts[i] > 0:
                place = starts[words[i]]
                entries[place, 0], entries[place, 1], entries[place, 2] = d, token, counts[i]
                starts[words[i]] = place + 1
                token += counts[i]
    for v in range(starts.shape[0] - 1, 0, -1):
        starts[v] = starts[v - 1]
    starts[0], tokens[indptr.shape[0] - 1] = 0, token


def sorted_by_word(docs: Docs) -> Mapping[str, np.ndarray]:
    """Entries by word, and where the tokens of documents begin.

    Returns
    -------
    "entries" (n_entries, 3), entries with tokens, in the order of words, then of documents: document, its first token
    of the word, and count, in numbers of four bytes where these can name every token; "starts" int64 (n_words + 1,),
    the entries of word v are starts[v] : starts[v + 1]; "token_starts" int64 (n_words + 1,), likewise for its tokens in
    this order; "tokens" int64 (n_docs + 1,), the first token of each document

    Raises
    ------
    InputError
        When a count is not a whole number.
    """
    counts = whole_counts(docs)
    entries = buffers.empty((len(counts), 3), np.int32 if counts.sum() <= _MOST_TOKENS else np.int64)
    starts, token_starts = (buffers.empty(docs.n_words + 1, np.int64) for _ in range(2))
    tokens = np.empty(docs.n_docs + 1, np.int64)
    _sort_by_word(
        frozen(docs.indptr, np.int64),
        frozen(docs.words, np.int32),
        frozen(counts, np.int64),
        starts,
        entries,
        token_starts,
        tokens,
    )
    return {
        "entries": entries[: starts[-1]],
        "starts": starts,
        "token_starts": token_starts,
        "tokens": tokens,
    }


class Sampler:
    """Sweeps over the labels of some documents, as `FewTopics` and `ManyTopics` make them.

    Parameters
    ----------
    docs : the documents
    by_word : their entries, see `sorted_by_word`
    topic_words : eta_v + N_kv
    totals : float64 (n_columns,), their sums over all words and the labels, which change with these
    prior : (n_components,), alpha
    labels : int16 (n_tokens, n_replicas), -1 where there is none yet; are drawn anew
    change : (n_words, n_columns), becomes by how many tokens the labels of a word have changed in a sweep, or None
    drawn : instead of `change` where `topic_words` are float64 weights without the labels, and a token has one: int16
        (n_tokens,), the labels in the order of words, becomes those that are drawn

    Attributes
    ----------
    held : float32 (n_docs, n_columns), labels of each document
    tokens, by_word : arrays of `by_word`, as compiled loops take them
    inputs, room, outputs : what else they take
    """

    def __init__(
        self,
        docs: Docs,
        by_word: Mapping[str, np.ndarray],
        topic_words: StoredRows,
        totals: np.ndarray,
        prior: np.ndarray,
        labels: np.ndarray,
        change: np.ndarray | None = None,
        drawn: np.ndarray | None = None,
    ) -> None:
        self.prior, self.totals, self.n_replicas, self.labels = (
            prior,
            totals,
            labels.shape[1],
            labels.reshape(-1),
        )
        self.tokens, self.by_word = frozen(by_word["tokens"], np.int64), frozen_by_word(by_word)
        self.inputs = frozen(docs.rows, np.int64), topic_words, len(prior), self.n_replicas
        self.room, self.outputs = self._prepare(totals, docs.n_docs), (change, drawn)

    def _prepare(self, totals: np.ndarray, n_docs: int) -> tuple[Any, ...]:
        """What the compiled sweep works with."""
        raise NotImplementedError

    def sweep(self, seed: int) -> None:
        """Draw all labels once more. With a document's source row and a label's place in it, `seed` is the key of its
        draw."""
        raise NotImplementedError


def frozen_by_word(by_word: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`starts`, `entries` and `token_starts` as compiled loops take them."""
    starts, token_starts = (frozen(by_word[name], np.int64) for name in ("starts", "token_starts"))
    return starts, frozen(by_word["entries"], by_word["entries"].dtype), token_starts


@uncounted
def hold_labels(tokens, labels, n_replicas, held):
    """Count the labels of each document, (n_docs, n_columns); `tokens` and `labels` as for `hold_topics`."""
    held[:] = 0
    for d in range(held.shape[0]):
        for t in range(tokens[d] * n_replicas, tokens[d + 1] * n_replicas):
            if labels[t] >= 0:
                held[d, np.uint64(labels[t])] += held.dtype.type(1)


@inline
def add_labels(first, last, labels, counts):
    """Count these labels, from the first to before the last, in `counts` (n_columns,); -1 is none."""
    for t in range(first, last):
        if labels[t] >= 0:
            counts[np.uint64(labels[t])] += 1.0


@inner
def hold_topics(tokens, labels, n_replicas, n_blocks, held, firsts, begins, n_held, places):
    """Fill what the module describes.

    `tokens` comes from `sorted_by_word`; `labels` int16 (n_labels,), n_replicas for each token, -1 where there is none.
    `held` has room for twice the labels of each document, because it may lose all and come to have others, or for all
    blocks.
    """
    begin = 0
    for d in range(tokens.shape[0] - 1):
        n, first, last = 0, tokens[d] * n_replicas, tokens[d + 1] * n_replicas
        for b in range(n_blocks):
            places[d * n_blocks + b] = -1
        for t in range(first, last):
            if labels[t] >= 0:
                b, lane = labels[t] >> SHIFT, labels[t] & LANE
                place = places[d * n_blocks + b]
                if place < 0:
                    place, n = n, n + 1
                    places[d * n_blocks + b], firsts[begin + place] = place, b << SHIFT
                    store(held, (begin + place) * LANES, spread(np.float32(0)))
                held[(begin + place) * LANES + lane] += 1
        begins[d], n_held[d] = begin, n
        begin += min(2 * (last - first), n_blocks)


@outer
def put_doc_topics(prior, n_replicas, held, firsts, begins, n_held, doc_topics):
    """The documents' topics: prior and labels, divided by their sum."""
    n_components = doc_topics.shape[1]
    for d in range(doc_topics.shape[0]):
        whole = 0.0
        for k in range(n_components):
            doc_topics[d, k] = prior[k]
            whole += prior[k]
        for i in range(begins[d], begins[d] + n_held[d]):
            for k in range(firsts[i], min(firsts[i] + LANES, n_components)):
                tokens = held[i * LANES + k - firsts[i]] / n_replicas
                doc_topics[d, k] += tokens
                whole += tokens
        for k in range(n_components):
            doc_topics[d, k] /= whole


@outer
def _whole(counts, whole):
    """The counts as whole numbers; returns the first that is none, or -1."""
    wrong = -1
    for i in range(counts.shape[0] - 1, -1, -1):
        whole[i] = counts[i]
        if whole[i] != counts[i]:
            wrong = i
    return wrong


def whole_counts(docs: Docs) -> np.ndarray:
    """The counts as int64.

    Raises
    ------
    InputError
        When one is not a whole number: a weight has no tokens to label.
    """
    counts = np.empty(len(docs.counts), np.int64)
    wrong = _whole(frozen(docs.counts, docs.counts.dtype), counts)
    if wrong >= 0:
        raise fractional(docs, wrong)
    return counts


def fractional(docs: Docs, entry: int) -> InputError:
    """The error for an entry whose count is not a whole number."""
    row = docs.source_row(int(np.searchsorted(docs.indptr, entry, side="right")) - 1)
    return InputError(
        f"document {row} has a count of {docs.counts[entry]:g}, but labels are of whole tokens; {TAKES_WEIGHTS}"
    )

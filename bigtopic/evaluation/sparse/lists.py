"""Topics as lists: of each word the topics that the model has statistics of, and what all others have alike.

    p(w | k) = offset_k + e_wk        e_wk > 0 of the topics k in the list of w, else 0

So sums over words, or topics, are sums over lists and a number for each topic or word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bigtopic.evaluation.sparse import _kernels
from bigtopic.types import Lists

__all__ = [
    "Parts",
    "columns_of",
    "largest",
    "largest_frex",
    "lists_of",
    "parts_of",
    "probabilities_of",
    "sums_over_topics",
]


def lists_of(source: Any, ids: np.ndarray | None = None) -> Any:
    """p(word | topic) of these words (all for None) as `Lists`, where a source has them; else None."""
    lists = getattr(source, "lists", None)
    return None if lists is None else lists(ids)


def largest(
    lists: Lists, n_components: int, n: int, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The n words with the largest p(w | k), times a weight of the word, of each topic; ties are in their order.

    Parameters
    ----------
    weights : float64 (n_words,), from 0; None for 1

    Returns
    -------
    words : int64 (n_components, n), positions in the lists; scores : float64, likewise
    """
    n_words = len(lists.starts)
    weights = np.ones(n_words) if weights is None else np.asarray(weights, np.float64)
    words, scores = np.zeros((n_components, n), np.int64), np.zeros((n_components, n))
    _kernels.largest(*lists[:6], weights, np.argsort(-weights, kind="stable"), words, scores)
    return words, scores


def columns_of(lists: Lists, topics: np.ndarray) -> np.ndarray:
    """p(w | k) of some topics, float32 (n_words, n_topics)."""
    places = np.full(len(lists.factor), -1, np.int64)
    places[topics] = np.arange(len(topics))
    columns = np.empty((len(lists.starts), len(topics)), np.float32)
    _kernels.take_columns(*lists[:6], places, columns)
    return columns


def probabilities_of(lists: Lists, words: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """p(words[i] | topics[i]), float32 (n,); words are positions in the lists."""
    found = np.empty(len(words), np.float32)
    _kernels.probabilities_of(*lists[:6], words, topics, found)
    return found


class Parts(NamedTuple):
    """A function of p(w | k) in two parts: `of_others` (n_components,), where there are no statistics, and what is more
    in the lists: `columns` and `values`, of word w from indptr[w] to indptr[w + 1]."""

    of_others: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    @property
    def n_words(self) -> int:
        return len(self.indptr) - 1

    def over_words(self) -> np.ndarray:
        """The function summed up over the words, float64 (n_components,)."""
        n = len(self.of_others)
        found: np.ndarray = self.n_words * self.of_others + np.bincount(self.columns, self.values, n)
        return found


def parts_of(lists: Lists, n_components: int, function: Any = np.asarray) -> Parts:
    """A function of p(w | k), given as float64, in two parts; a copy of the lists."""
    lengths = lists.stops - lists.starts
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    columns, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    _kernels.copy(*lists[:6], columns, values)
    of_others = function(lists.offset[:n_components].astype(np.float64))
    return Parts(of_others, indptr, columns, function(values.astype(np.float64)) - of_others[columns])


def sums_over_topics(lists: Lists, weights: np.ndarray) -> np.ndarray:
    """sum_k weights[k] p(w | k), float64 (n_words,), of weights (n_components,)."""
    from scipy.sparse import csr_array

    parts = parts_of(lists, len(weights))
    more = csr_array((parts.values, parts.columns, parts.indptr), shape=(parts.n_words, len(weights)))
    return np.asarray(more @ weights + weights @ parts.of_others)


def largest_frex(lists: Lists, n_components: int, n: int) -> np.ndarray:
    """The n words with the largest FREX of each topic, see `questions.words`: int64 (n_components, n).

    Cost: the lists, and logarithms of their lengths.
    """
    from scipy.sparse import csr_array

    parts, n_words = parts_of(lists, n_components), len(lists.starts)
    kept = np.flatnonzero(parts.values > 0)
    indptr = np.searchsorted(kept, parts.indptr)
    more = csr_array((parts.values[kept], parts.columns[kept], indptr), shape=(n_words, n_components))
    inverses = 1 / (more.sum(axis=1) + parts.of_others.sum())
    by_topic = more.tocsc()
    own = by_topic.data + np.repeat(parts.of_others, np.diff(by_topic.indptr))
    words, scores = np.zeros((n_components, n), np.int64), np.zeros((n_components, n))
    order = np.argsort(-inverses, kind="stable")
    _kernels.frex(
        by_topic.indptr,
        by_topic.indices,
        own,
        parts.of_others,
        inverses,
        np.sort(inverses),
        order,
        words,
        scores,
    )
    return words

"""The expected number of rows of the params that some documents need, from document frequencies.

Of N documents, df_v contain word v. A draw of n of them without replacement misses the word with probability about
(1 - n / N)^df_v, so that

    rows(n) = sum over v of 1 - (1 - n / N)^df_v,    N = (sum over v of df_v) / (ids of a document, mean)

which for n = N is the number of words that occur. Without document frequencies, the number of ids of n documents is the
estimate: an upper bound.

Cost: the vocabulary once; then, for each n, the distinct frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary

__all__ = ["ExpectedRows"]

_WORDS = ("word", "column")


class ExpectedRows:
    """Distinct ids of documents drawn at random.

    Parameters
    ----------
    axes : what is on the axes that documents have ids on, with its `document_frequency` where that is known
    sizes : {axis: rows of the params}
    n_docs : documents that minibatches are drawn from
    entries_per_doc : mean number of distinct words of a document
    """

    def __init__(
        self, axes: Mapping[str, Vocabulary], sizes: Mapping[str, int], n_docs: int, entries_per_doc: float
    ) -> None:
        self._sizes = {axis: len(known) for axis, known in axes.items()} | dict(sizes)
        self._ids_per_doc = dict.fromkeys(_WORDS, entries_per_doc)
        self._frequencies = {axis: _tabulated(known) for axis, known in axes.items()}
        if (authors := self._frequencies.get("author")) is not None:
            self._ids_per_doc["author"] = _sum(authors) / max(n_docs, 1)
        self._of = cache(self._expected)

    def __call__(self, axis: str, n_docs: int) -> float:
        """Rows of an axis that `n_docs` documents need; all rows of an axis on which documents have no ids."""
        return self._of(axis, n_docs)

    def _expected(self, axis: str, n_docs: int) -> float:
        size = float(self._sizes[axis])
        if axis == "row":
            return min(size, n_docs)
        if axis not in (*_WORDS, "author"):
            return size
        n_ids = n_docs * self._ids_per_doc.get(axis, 1.0)
        found = self._frequencies.get("word" if axis == "column" else axis)
        if found is None:
            return min(size, n_ids)
        df, times = found
        share = min(1.0, n_ids / max(_sum(found), 1.0))
        return min(size, n_ids, float(times @ (1.0 - (1.0 - share) ** df)))


def _tabulated(known: Vocabulary) -> tuple[np.ndarray, np.ndarray] | None:
    """The distinct document frequencies, and how many rows have each; None where there are none."""
    df = known.document_frequency
    if df is None or not df.any():
        return None
    return np.unique(df, return_counts=True)


def _sum(found: tuple[np.ndarray, np.ndarray]) -> float:
    return float(found[0] @ found[1])

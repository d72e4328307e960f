"""How often each word is in exactly the documents of a corpus or view, counted on threads or a Dask client.

The vocabulary of a view has the frequencies of the corpus as it was ingested: those of a train view have seen the
test documents. A model must outlive its corpus, which may be appended to or deleted, so it counts when it begins to
learn, not when it is asked: one pass that reads, against passes that read and infer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.runtime.cluster import bounded_map, default_threads

__all__ = ["counted_vocabulary"]

_ENTRIES = 1 << 20
_FEWEST_ENTRIES = 1 << 13
_SPANS = 8  # of a small corpus, so that every processor has work


def counted_vocabulary(corpus: Any, client: Any = None, n_threads: int | None = None) -> Vocabulary:
    """The words of a corpus with the frequencies of exactly its documents; one pass for views, none for others.

    Equivalent to `corpus.recounted().vocabulary`, in parallel, and without a tie to the corpus' store.
    """
    known = corpus.vocabulary.loaded()
    if corpus.counted and known.frequency is not None:
        return known.with_counts(known.document_frequency, known.frequency)
    n_words = corpus.n_words
    document_frequency, frequency = np.zeros(n_words, np.int64), np.zeros(n_words)
    n_entries = min(_ENTRIES, max(_FEWEST_ENTRIES, corpus.nnz // _SPANS))  # never by the number of workers
    for ids, df, tf in bounded_map(
        _count,
        corpus.spans(n_entries),
        shared=(n_words,),
        client=client,
        n_threads=n_threads or default_threads(),
    ):
        document_frequency[ids] += df
        frequency[ids] += tf
    return known.with_counts(document_frequency, frequency)


def _count(n_words: int, span: tuple[Any, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The words of a run of documents, and their documents and tokens there."""
    part, start, stop = span
    block = part.read(start, stop)
    df = np.bincount(block.words, minlength=n_words)
    ids = np.flatnonzero(df)
    tf = np.bincount(block.words, weights=block.counts, minlength=n_words)
    return ids.astype(np.int32), df[ids], tf[ids]

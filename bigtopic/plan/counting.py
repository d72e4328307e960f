"""Frequencies of words and authors in exactly the documents of a corpus or view, counted on threads or a Dask client.

The vocabulary of a view has the frequencies of the corpus as it was ingested: for a train view, they include the test
documents. A model must outlive its corpus, which may be extended or deleted, so it counts when it starts to learn and
not on demand: one more pass that reads, compared with passes that read and infer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import document_tokens
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.parallel.cluster import default_threads
from bigtopic.parallel.mapping import bounded_map
from bigtopic.plan import _kernels
from bigtopic.plan.slices import lookup_table

__all__ = ["counted_authors", "counted_vocabulary"]

_ENTRIES = 1 << 20
_SPANS = 8  # at least, so that every processor has work


def counted_vocabulary(corpus: Any, client: Any = None, n_threads: int | None = None) -> Vocabulary:
    """The words of a corpus with the frequencies of exactly its documents; one pass for views, none for others.

    Equivalent to `corpus.recounted().vocabulary`, in parallel, and without a tie to the corpus' store.
    """
    known = corpus.vocabulary.loaded()
    if corpus.counted and known.frequency is not None:
        return known.with_counts(known.document_frequency, known.frequency)
    return known.with_counts(*_counted(_count_words, corpus.n_words, corpus, client, n_threads))


def counted_authors(corpus: Any, client: Any = None, n_threads: int | None = None) -> Vocabulary:
    """The authors of a corpus with their documents (`document_frequency`) and tokens (`frequency`), in one pass."""
    known = corpus.author_vocabulary
    if known is None:
        return Vocabulary((), None, np.zeros(0, np.int64), np.zeros(0))
    return known.loaded().with_counts(*_counted(_count_authors, known.size, corpus, client, n_threads))


def _counted(
    count: Callable[..., Any], size: int, corpus: Any, client: Any, n_threads: int | None
) -> tuple[np.ndarray, np.ndarray]:
    document_frequency, frequency = np.zeros(size, np.int64), np.zeros(size)
    n_entries = min(_ENTRIES, corpus.nnz // _SPANS)  # never by the number of workers
    if corpus.nnz < _ENTRIES:
        n_entries, client, n_threads = _ENTRIES, None, 1  # it takes a few milliseconds
    for ids, df, tf in bounded_map(
        count,
        corpus.spans(n_entries),
        shared=(size,),
        client=client,
        n_threads=n_threads or default_threads(),
        name="bt-count",
    ):
        document_frequency[ids] += df
        frequency[ids] += tf
    return document_frequency, frequency


Counts = tuple[np.ndarray, np.ndarray, np.ndarray]


def _count_words(size: int, span: tuple[Any, int, int]) -> Counts:
    """The words of a run of documents, and their documents and tokens there."""
    part, start, stop = span
    block = part.read(start, stop)
    return _count(block.words, block.counts, size)


def _count_authors(size: int, span: tuple[Any, int, int]) -> Counts:
    """The same for authors."""
    part, start, stop = span
    block = part.read(start, stop)
    if block.authors is None or block.author_indptr is None:
        return _count(np.zeros(0, np.int32), np.zeros(0), size)
    return _count(block.authors, np.repeat(document_tokens(block), np.diff(block.author_indptr)), size)


def _count(ids: np.ndarray, weights: np.ndarray, size: int) -> Counts:
    """Distinct ids below `size`, how often each occurs, and the sum of its weights; costs the ids, not their axis."""
    n = min(len(ids), size)
    distinct, times, sums = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n)
    n = _kernels.count_ids(ids, weights, lookup_table(size), distinct, times, sums)
    return distinct[:n], times[:n], sums[:n]

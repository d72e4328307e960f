"""A corpus in the types of other libraries: SciPy, AnnData, Dask."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.corpus.blocks import take_segments
from bigtopic.corpus.documents import DocumentsInParts
from bigtopic.corpus.order import by_source, source_order
from bigtopic.errors import require

__all__ = ["to_anndata", "to_delayed", "to_scipy"]


def to_scipy(corpus: DocumentsInParts, order: str) -> Any:
    """`scipy.sparse.csr_matrix` (n_docs, n_words); each block is scattered to its place, nothing is held twice."""
    from scipy import sparse

    place = np.arange(corpus.n_docs)
    where = source_order(corpus.rows(order="stored")) if by_source(order) else None
    if where is not None:
        place[where] = np.arange(corpus.n_docs)
    lengths = np.zeros(corpus.n_docs, np.int64)
    entries = [part.entries(0, part.n_docs) for part in corpus.parts]
    lengths[place] = np.concatenate(entries) if entries else 0
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    done = 0
    for block in corpus.blocks():
        targets = take_segments(indptr, place[done : done + block.n_docs])[1]
        indices[targets], data[targets] = block.words, block.counts
        done += block.n_docs
    if indptr[-1] < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    matrix = sparse.csr_matrix((data, indices, indptr), shape=(corpus.n_docs, corpus.n_words))
    matrix.has_canonical_format = True
    return matrix


def to_anndata(corpus: DocumentsInParts, order: str) -> Any:
    """`anndata.AnnData` in memory."""
    anndata, pandas = require("anndata", "anndata"), require("pandas", "pandas")
    columns = corpus.read_columns(order=order)
    row = "source_row"
    while row in columns:  # a column of the user's keeps its name
        row = f"{row}_"
    obs = pandas.DataFrame({row: corpus.rows(order), **columns}, index=corpus.document_ids(order).astype(str))
    vocabulary = corpus.recounted().vocabulary
    var = pandas.DataFrame(
        {"document_frequency": vocabulary.document_frequency, "frequency": vocabulary.frequency},
        index=vocabulary[:],
    )
    return anndata.AnnData(X=to_scipy(corpus, order), obs=obs, var=var)


def to_delayed(corpus: DocumentsInParts, n_entries: int) -> list[Any]:
    """One `dask.delayed` `Block` per span; a task carries the part, which is small, and reads where it runs."""
    from dask import delayed

    read = delayed(_read, pure=True)
    return [read(part, start, stop) for part, start, stop in corpus.spans(n_entries)]


def _read(part: Any, start: int, stop: int) -> Any:
    return part.read(start, stop)

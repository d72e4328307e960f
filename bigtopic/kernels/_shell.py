"""What every kernel does between the caller's arrays and its compiled loop."""

from __future__ import annotations

import numpy as np

from bigtopic.types import Docs

__all__ = ["csr", "frozen", "longest", "prior_row"]


def frozen(array: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    """A read-only, contiguous, aligned view of `array` (a copy only if it must be).

    numba compiles one signature per dtype, order and writability: this makes them one. A compiled loop that
    writes to such an array does not compile.
    """
    view = np.require(array, dtype, ["C", "A"]).view()
    view.flags.writeable = False
    return view


def csr(docs: Docs, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`indptr`, `words`, `counts` of the documents as a compiled loop takes them."""
    return frozen(docs.indptr, np.int64), frozen(docs.words, np.int32), frozen(docs.counts, dtype)


def longest(docs: Docs) -> int:
    """Distinct words of the longest document; at least 1."""
    return max(1, int(np.diff(docs.indptr).max(initial=0)))


def prior_row(doc_topic_prior: np.ndarray, n_columns: int, dtype: np.dtype) -> np.ndarray:
    """The prior of the topics of a document, padded with zeros to (n_columns,)."""
    row = np.zeros(n_columns, dtype)
    row[: len(doc_topic_prior)] = doc_topic_prior
    return frozen(row, dtype)

"""A run of documents as a reader returns it, before its words have their final ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bigtopic.corpus.columns import Cells

__all__ = ["RawBlock"]


@dataclass(frozen=True)
class RawBlock:
    """Documents of one chunk of a source as CSR. Plain arrays and lists, so that it pickles.

    Attributes
    ----------
    indptr : int64 (n_docs + 1,), starting at 0
    words : int32 (nnz,), ascending and unique within a document; ids into `vocabulary`, or, where that is None,
        ids of the source's own fixed vocabulary
    counts : float32 (nnz,), positive
    vocabulary : this block's own words, or None when the source has fixed ids
    ids : the documents' names, or None
    columns : {name: (n_docs,)}: bool, int64, float64 (NaN where absent), an object array of str ("" where absent), or
        `Cells` where only the rest of the column tells which of these it is
    author_indptr, authors : int64 (n_docs + 1,) and int32 (n_pairs,) into `author_names`, or None
    author_names : this block's own authors
    doubtful_author : a text taken for one author that may name several, or None
    first_row : row of the first document in its source, where the file says so, or None
    n_zeros : explicit zeros that were dropped
    n_unknown : tokens that were dropped because a given vocabulary lacks their word
    parents : where documents were divided: which document of the chunk each is a piece of, int64 (n_docs,)
    texts : the documents' text, if it is to be kept and the source has one
    stopped : {stop word: tokens of it that were dropped}
    """

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    vocabulary: list[str] | None = None
    ids: list[str] | None = None
    columns: Mapping[str, np.ndarray | Cells] = field(default_factory=dict)
    author_indptr: np.ndarray | None = None
    author_names: list[str] | None = None
    authors: np.ndarray | None = None
    doubtful_author: str | None = None
    first_row: int | None = None
    n_zeros: int = 0
    n_unknown: float = 0.0
    texts: Sequence[str] | None = None
    stopped: Mapping[str, int] = field(default_factory=dict)
    parents: np.ndarray | None = None

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

"""Documents as the layers exchange them. Plain data: no behaviour beyond views of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Block", "Docs"]


@dataclass(frozen=True)
class Block:
    """A run of documents as CSR, with word ids of the corpus (or of its reader: see `mapped`).

    Attributes
    ----------
    indptr : int64 (n_docs + 1,), starting at 0
    words : int32 (nnz,)
    counts : float32 (nnz,), positive
    rows : int64 (n_docs,), the documents' rows in the source; they key all randomness
    author_indptr, authors : int64 (n_docs + 1,) and int32 (n_pairs,), or None
    """

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    rows: np.ndarray
    author_indptr: np.ndarray | None = None
    authors: np.ndarray | None = None

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, item: slice) -> Block:
        """Documents `start:stop` (step 1); arrays are views wherever they can be."""
        start, stop, step = item.indices(self.n_docs)
        assert step == 1
        stop = max(start, stop)
        own, indptr = slice(self.indptr[start], self.indptr[stop]), self.indptr[start : stop + 1]
        block = Block(indptr - own.start, self.words[own], self.counts[own], self.rows[start:stop])
        if self.author_indptr is None or self.authors is None:
            return block
        first, last = self.author_indptr[start], self.author_indptr[stop]
        author_indptr = self.author_indptr[start : stop + 1] - first
        return replace(block, author_indptr=author_indptr, authors=self.authors[first:last])


@dataclass(frozen=True)
class Docs:
    """A slice of documents as a kernel sees it: word (and author) ids are local, 0 .. n_local - 1.

    Attributes
    ----------
    indptr : int64 (n_docs + 1,)
    words : int32 (nnz,), ids into the rows of the view's word arrays
    counts : float32 (nnz,)
    rows : int64 (n_docs,), keys for randomness: source rows in learning, hashes of the content in inference
    n_words : number of distinct words of the slice
    author_indptr, authors, n_authors : the same for authors, or None, None, 0
    derived : what `Kernel.derives` returned of these documents, or None
    source_rows : int64 (n_docs,), for messages, where `rows` are hashes; else None
    """

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    rows: np.ndarray
    n_words: int
    author_indptr: np.ndarray | None = None
    authors: np.ndarray | None = None
    n_authors: int = 0
    derived: Mapping[str, np.ndarray] | None = None
    source_rows: np.ndarray | None = None

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

    def source_row(self, document: int) -> int:
        """Row in the source of a document of this slice."""
        return int((self.rows if self.source_rows is None else self.source_rows)[document])

"""The authors of documents, as compiled loops take them."""

from __future__ import annotations

import numpy as np

from bigtopic.errors import InputError
from bigtopic.kernels.support.entry import frozen
from bigtopic.types import Block, Docs

__all__ = ["author_documents", "author_lists", "check_signed", "first_unsigned", "unsigned"]


def author_lists(docs: Docs | Block) -> tuple[np.ndarray, np.ndarray, int]:
    """`author_indptr`, `authors`, and the number of authors of the document with the most.

    Raises
    ------
    InputError
        When a document has tokens and no author.
    """
    check_signed(docs)
    if docs.author_indptr is None or docs.authors is None:
        return np.zeros(docs.n_docs + 1, np.int64), np.empty(0, np.int32), 0
    most = int(np.diff(docs.author_indptr).max(initial=0))
    return frozen(docs.author_indptr, np.int64), frozen(docs.authors, np.int32), most


def check_signed(docs: Docs | Block) -> None:
    """Refuse documents that have tokens and no author.

    Raises
    ------
    InputError
        Names the first one in the source.
    """
    if (row := first_unsigned(docs)) is not None:
        raise unsigned(row)


def first_unsigned(docs: Docs | Block) -> int | None:
    """The first row of the source whose document has tokens and no author; None if all have."""
    n_authors = np.zeros(docs.n_docs) if docs.author_indptr is None else np.diff(docs.author_indptr)
    rows = docs.rows[(n_authors == 0) & (np.diff(docs.indptr) > 0)]
    return int(rows.min()) if len(rows) else None


def unsigned(row: int) -> InputError:
    """The error about a document without authors."""
    return InputError(
        f"the document in row {row} of the source has no author; give it one, or leave it out with "
        "corpus.select(rows=...)"
    )


def author_documents(docs: Docs) -> np.ndarray:
    """The number of documents of each author, float32 (n_authors, 1)."""
    authors = np.empty(0, np.int32) if docs.authors is None else docs.authors
    return np.bincount(authors, minlength=docs.n_authors).astype(np.float32)[:, None]

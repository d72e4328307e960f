"""The authors of documents, as compiled loops take them."""

from __future__ import annotations

import numpy as np

from bigtopic.errors import InputError
from bigtopic.kernels.support.entry import frozen
from bigtopic.types import Docs

__all__ = ["author_lists"]


def author_lists(docs: Docs) -> tuple[np.ndarray, np.ndarray, int]:
    """`author_indptr`, `authors`, and the number of authors of the document with the most.

    Raises
    ------
    InputError
        When a document has tokens and no author.
    """
    if docs.author_indptr is None or docs.authors is None:
        author_indptr, authors = np.zeros(docs.n_docs + 1, np.int64), np.empty(0, np.int32)
    else:
        author_indptr, authors = docs.author_indptr, docs.authors
    n_authors = np.diff(author_indptr)
    unsigned = (n_authors == 0) & (np.diff(docs.indptr) > 0)
    if unsigned.any():
        row = int(docs.rows[np.argmax(unsigned)])
        raise InputError(
            f"the document in row {row} of the source has no author; give it one, or leave it out with "
            "corpus.select(rows=...)"
        )
    return frozen(author_indptr, np.int64), frozen(authors, np.int32), int(n_authors.max(initial=0))

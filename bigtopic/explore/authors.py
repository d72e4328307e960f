"""Authors of documents as a column with any number of values for each document: the authors with most documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import take_segments
from bigtopic.corpus.store import Corpus
from bigtopic.explore.columns import MOST_VALUES, Column

__all__ = ["NAME", "read_authors", "stored_authors"]

NAME = "authors"


def read_authors(
    corpus: Corpus, to_corpus: np.ndarray, folder: Path, tell: Callable[[int], object]
) -> Column:
    """The `MOST_VALUES` authors with most documents in a store, by document, in files of a folder.

    Parameters
    ----------
    corpus : has authors
    to_corpus : where each document of the store is in the corpus, (n_docs,), -1 for nowhere
    tell : called with numbers of documents that have been read
    """
    lengths, authors, names = [np.zeros(1, np.int64)], [], corpus.authors or []
    for block in corpus.blocks():
        assert block.author_indptr is not None and block.authors is not None
        lengths.append(np.diff(block.author_indptr))
        authors.append(block.authors)
        tell(block.n_docs)
    indptr = np.concatenate(lengths).cumsum()
    known = np.append(indptr, indptr[-1])  # the last document has none
    own, entries = take_segments(known, np.where(to_corpus < 0, corpus.n_docs, to_corpus))
    found = np.concatenate(authors)[entries]
    counts = np.bincount(found, minlength=len(names))
    kept = np.argsort(-counts, kind="stable")[:MOST_VALUES]
    codes = np.full(len(names), -1, np.int32)
    codes[kept] = np.arange(len(kept))
    np.save(folder / f"{NAME}.npy", codes[found])
    np.save(folder / f"{NAME}-indptr.npy", own)
    return Column(NAME, "O", [names[i] for i in kept.tolist()], counts[kept], codes[found], indptr=own)


def stored_authors(described: Mapping[str, Any], folder: Path) -> Column:
    """The column that `read_authors` wrote. Raises OSError or ValueError for damaged files."""
    codes, indptr = (
        np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        for name in (NAME, f"{NAME}-indptr")
    )
    return replace(Column.of(described, codes), indptr=indptr)

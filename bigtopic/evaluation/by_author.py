"""The documents of each author as one document: for coherence by authors, who use words in different documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import WITH_AUTHORS, InputError, argument
from bigtopic.evaluation.streaming import documents_of

__all__ = ["by_author"]


def by_author(corpus: Any) -> Corpus:
    """A corpus in memory whose documents are the authors of another; a document counts for each of its authors.

    `coherence(model, by_author(corpus))` is author coherence: two words go together where an author uses both.

    Parameters
    ----------
    corpus : documents with authors, or the path of their corpus

    Returns
    -------
    Corpus
        Ids are the authors' names; authors without words are left out. It takes 8 bytes for each distinct word of each
        author

    Raises
    ------
    InputError
        When the documents have no authors.

    References
    ----------
    Mortensen (2017), "The author-topic model", section 2.4.
    """
    from scipy.sparse import csr_matrix

    corpus = documents_of(corpus)
    if corpus.author_vocabulary is None:
        raise InputError(f"{argument('corpus')}: its documents have no authors; {WITH_AUTHORS}")
    whole = csr_matrix((corpus.n_authors, corpus.n_words), dtype=np.float32)
    for block in corpus.blocks():
        if block.authors is None:
            continue
        shape = block.n_docs, corpus.n_authors
        ones = np.ones(len(block.authors), np.float32)
        wrote = csr_matrix((ones, block.authors, block.author_indptr), shape)
        counts = csr_matrix((block.counts, block.words, block.indptr), (block.n_docs, corpus.n_words))
        whole = whole + wrote.T @ counts
    used = np.flatnonzero(np.diff(whole.indptr))
    names = [corpus.author_vocabulary[int(author)] for author in used]
    return from_matrix(whole[used], corpus.vocabulary, shuffle=False, ids=names)

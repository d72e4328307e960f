"""Documents of authors as one: their words, and the coherence that follows from them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic.errors import InputError
from bigtopic.evaluation import by_author, coherence

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import signed


def test_words_of_each_author():
    docs = signed.documents([8, 0, 15, 1, 22, 9], 30, 9, seed=3)
    expected = np.zeros((9, 30))
    for words, counts, authors in signed.listed(docs):
        for author in authors:
            expected[author, words] += counts
    used = np.flatnonzero(expected.sum(axis=1))
    found = by_author(signed.corpus_of(docs, n_parts=2))
    np.testing.assert_array_equal(found.to_scipy().toarray(), expected[used])
    assert found.document_ids().tolist() == [f"a{i}" for i in used] and 0 < len(used) < 9
    assert found.vocabulary[:] == [f"w{i}" for i in range(30)]


def test_words_that_an_author_uses_apart_go_together():
    """Word 0 and word 1 are never in one document; author 0 uses both, authors 1 and 2 use others."""
    docs = signed.Docs(
        np.arange(5),
        np.array([0, 1, 2, 2]),
        np.ones(4),
        np.arange(4),
        3,
        np.arange(5),
        np.array([0, 0, 1, 2]),
        3,
    )
    corpus = signed.corpus_of(docs)
    topics = [["w0", "w1"]]
    assert coherence(topics, corpus, n_top=2).value == -1
    assert coherence(topics, by_author(corpus), n_top=2).value == pytest.approx(1)


def test_documents_without_authors_are_refused(corpus):
    with pytest.raises(InputError, match="have no authors; ingest them with authors="):
        by_author(corpus)

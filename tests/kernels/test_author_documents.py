"""Topics of documents under a fixed author-topic model: by their authors, or as of a new one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.types import View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

KERNEL = kernels.load("author_documents")
N_WORDS, N_AUTHORS, K = 30, 7, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


@pytest.fixture
def docs():
    return signed.documents([8, 0, 15, 1, 22, 9], N_WORDS, N_AUTHORS, seed=3)


@pytest.fixture
def weights():
    rng = np.random.default_rng(5)
    return 0.1 + rng.gamma(0.5, 4, (N_WORDS, K)), 0.1 + rng.gamma(0.5, 4, (N_AUTHORS, K))


def test_the_mean_of_explicit_responsibilities(docs, weights):
    topics, theta = weights[0] / weights[0].sum(axis=0), weights[1] / weights[1].sum(axis=1, keepdims=True)
    found = signed.run(KERNEL, docs, *weights).doc_topics
    for (words, counts, authors), own in zip(signed.listed(docs), found, strict=True):
        shares = theta[authors].mean(axis=0) * topics[words]
        shares /= shares.sum(axis=1, keepdims=True)
        expected = counts @ shares / counts.sum() if len(words) else theta[authors].mean(axis=0)
        np.testing.assert_allclose(own, expected, rtol=1e-10)


def test_documents_without_known_authors_are_those_of_lda(docs, weights):
    """All of them, or the third and the last alone."""
    view = signed.view(KERNEL, *weights)
    told = signed.hyper(KERNEL, K, ALPHA)
    vb = kernels.load("vb")
    of_lda = vb.run(
        docs, View({"topic_words": view.arrays["topic_words"]}, {}), case.hyper(vb, ALPHA, K), 0, None
    )
    none = replace(docs, author_indptr=None, authors=None, n_authors=0)
    np.testing.assert_array_equal(KERNEL.run(none, view, told, 0, None).doc_topics, of_lda.doc_topics)
    n = np.diff(docs.author_indptr)
    n[[2, 5]] = 0
    kept = np.repeat(n > 0, np.diff(docs.author_indptr))
    some = replace(docs, author_indptr=np.concatenate([[0], np.cumsum(n)]), authors=docs.authors[kept])
    found = KERNEL.run(some, view, told, 0, None).doc_topics
    by_author = KERNEL.run(docs, view, told, 0, None).doc_topics
    np.testing.assert_array_equal(found[[2, 5]], of_lda.doc_topics[[2, 5]])
    np.testing.assert_array_equal(found[[0, 1, 3, 4]], by_author[[0, 1, 3, 4]])


def test_single_precision(docs, weights):
    single, double = (
        signed.run(KERNEL, docs, *weights, dtype=dtype).doc_topics for dtype in (np.float32, np.float64)
    )
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=1e-6)

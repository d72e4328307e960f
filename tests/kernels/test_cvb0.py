"""CVB0: exact where it can be, the same fixed points as a responsibility for every token."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.types import Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("cvb0")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


@pytest.fixture
def docs():
    return case.documents([8, 15, 1, 22], N_WORDS, seed=3)


def test_one_token_is_exact(topic_words):
    words = np.arange(N_WORDS, dtype=np.int32)
    docs = Docs(np.arange(N_WORDS + 1), words, np.ones(N_WORDS, np.float32), np.arange(N_WORDS), N_WORDS)
    posterior = ALPHA * topic_words / (topic_words @ ALPHA)[:, None]
    result = case.infer(KERNEL, docs, topic_words, ALPHA)
    np.testing.assert_allclose(result.stats["topic_words"][:, :N_COMPONENTS], posterior, rtol=1e-12)


def test_same_fixed_points_as_token_by_token(docs, topic_words):
    result = case.infer(KERNEL, docs, topic_words, ALPHA, max_doc_update_iter=400)
    token_level = case.reference("cvb0")["token_level"]
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        theta = token_level(docs.words[own], docs.counts[own], topic_words, ALPHA, 400)
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-6, atol=1e-9)


def test_a_strong_prior_decides_alone(docs, topic_words):
    result = case.infer(KERNEL, docs, topic_words, 1e9 * ALPHA)
    np.testing.assert_allclose(result.doc_topics, np.tile(ALPHA / ALPHA.sum(), (4, 1)), rtol=1e-6)
    np.testing.assert_allclose(
        result.stats["topic_words"][docs.words[0], :N_COMPONENTS],
        docs.counts[docs.words == docs.words[0]].sum()
        * (ALPHA * topic_words[docs.words[0]] / (ALPHA @ topic_words[docs.words[0]])),
        rtol=1e-6,
    )


def test_sweeps_stop_at_the_tolerance(docs, topic_words):
    sweeps = [
        case.infer(KERNEL, docs, topic_words, ALPHA, max_doc_update_iter=50, mean_change_tol=tol).info[
            "iterations"
        ]
        for tol in (0.0, 1e-3, 1e9)
    ]
    assert sweeps[0] == 50 * docs.n_docs > sweeps[1] > sweeps[2] == 2 * docs.n_docs


@pytest.mark.parametrize("options", [{}, {"max_doc_update_iter": 30, "mean_change_tol": 0.01}])
def test_company_changes_no_bit(topic_words, options):
    """Documents are worked on in pairs; a document alone gives the same numbers."""
    docs = case.documents([8, 0, 15, 1, 22, 15, 3], N_WORDS, seed=5)
    whole = case.infer(KERNEL, docs, topic_words, ALPHA, dtype=np.float32, **options)
    for d in range(docs.n_docs):
        alone, ids = case.localised(docs, d, d + 1)
        result = case.infer(KERNEL, alone, topic_words[ids], ALPHA, dtype=np.float32, **options)
        np.testing.assert_array_equal(result.doc_topics[0], whole.doc_topics[d])


def test_float32_does_not_drift(topic_words):
    """Adding differences for hundreds of sweeps must not lose tokens, nor make a mass negative."""
    docs = case.documents([25] * 4, N_WORDS, seed=6)
    docs = Docs(docs.indptr, docs.words, docs.counts * 500, docs.rows, N_WORDS)
    result = case.infer(KERNEL, docs, topic_words, 1e-4, dtype=np.float32, max_doc_update_iter=500)
    exact = case.infer(KERNEL, docs, topic_words, 1e-4, max_doc_update_iter=500)
    assert (result.doc_topics >= 0).all()
    np.testing.assert_allclose(result.doc_topics, exact.doc_topics, atol=1e-3)


def test_dropped_tokens_are_told(docs, topic_words):
    unknown = topic_words.copy()
    unknown[docs.words[0]] = 0
    result = case.infer(KERNEL, docs, unknown, ALPHA)
    assert result.info["dropped_tokens"] == docs.counts[docs.words == docs.words[0]].sum()

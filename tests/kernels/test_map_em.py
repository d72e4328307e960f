"""EM for the maximum a posteriori: it rises, it ends at the maximum, and it says when there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from bigtopic import kernels
from bigtopic.errors import SettingError
from bigtopic.types import Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("map_em")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([1.3, 1.0, 2.2, 1.6])
EXACT = {"max_doc_update_iter": 3000, "mean_change_tol": 0.0}


def nonempty(docs):
    for d in np.flatnonzero(np.diff(docs.indptr)):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        yield d, docs.words[own], docs.counts[own].astype(float)


@pytest.mark.parametrize("alpha", [1.0, 1.1, ALPHA], ids=["1", "1.1", "vector"])
def test_no_step_goes_down(docs, topic_words, alpha):
    objective, prior = case.reference("map_em")["objective"], np.broadcast_to(alpha, N_COMPONENTS)
    runs = [
        case.infer(KERNEL, docs, topic_words, alpha, max_doc_update_iter=n, mean_change_tol=0.0).doc_topics
        for n in range(1, 40)
    ]
    for d, words, counts in nonempty(docs):
        values = [objective(words, counts, topic_words, prior, topics[d]) for topics in runs]
        assert min(np.diff(values)) > -1e-10
        assert values[-1] > values[0] or len(words) == 1


@pytest.mark.parametrize("alpha", [1.0, 1.1, 2.0])
def test_the_duality_gap_vanishes(docs, topic_words, alpha):
    doc_topics = case.infer(KERNEL, docs, topic_words, alpha, **EXACT).doc_topics
    duality_gap, prior = case.reference("ope")["duality_gap"], np.full(N_COMPONENTS, alpha)
    for d, words, counts in nonempty(docs):
        assert duality_gap(words, counts, topic_words, prior, doc_topics[d]) < 1e-3 * counts.sum()


def test_an_optimiser_that_knows_nothing_of_topics_agrees(docs, topic_words):
    """scipy climbs the same function of the logarithms of theta."""
    objective = case.reference("map_em")["objective"]
    doc_topics = case.infer(KERNEL, docs, topic_words, 1.7, **EXACT).doc_topics
    prior = np.full(N_COMPONENTS, 1.7)
    for d, words, counts in nonempty(docs):

        def loss(logs, words=words, counts=counts):
            theta = np.exp(logs - logs.max())
            return -objective(words, counts, topic_words, prior, theta / theta.sum())

        best = minimize(loss, np.zeros(N_COMPONENTS), method="BFGS", tol=1e-10)
        theta = np.exp(best.x - best.x.max())
        np.testing.assert_allclose(doc_topics[d], theta / theta.sum(), atol=1e-4)


def test_one_token_goes_to_the_topic_that_likes_it_best(topic_words):
    """At alpha = 1, likelihood alone decides: a vertex."""
    words = np.arange(N_WORDS, dtype=np.int32)
    docs = Docs(np.arange(N_WORDS + 1), words, np.ones(N_WORDS, np.float32), np.arange(N_WORDS), N_WORDS)
    doc_topics = case.infer(KERNEL, docs, topic_words, 1.0, **EXACT).doc_topics
    assert np.array_equal(doc_topics.argmax(axis=1), topic_words.argmax(axis=1))
    clear = np.partition(topic_words, -2, axis=1)[:, -2] < 0.9 * topic_words.max(axis=1)
    np.testing.assert_allclose(doc_topics.max(axis=1)[clear], 1, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.999, np.array([2.0, 0.1, 1.0, 1.0]), np.nan])
def test_a_prior_below_one_is_refused(docs, topic_words, alpha):
    with pytest.raises(SettingError, match=r"doc_topic_prior=.*at least 1.*doc_topic_prior=1.*vb"):
        case.infer(KERNEL, docs, topic_words, alpha)


def test_tolerance_saves_iterations(docs, topic_words):
    counts = [
        case.infer(KERNEL, docs, topic_words, 1.1, mean_change_tol=tol).info["iterations"]
        for tol in (0.0, 1e-3, 1e9)
    ]
    n_docs = np.count_nonzero(np.diff(docs.indptr))
    assert counts[0] == 100 * n_docs > counts[1] > counts[2] == n_docs


def test_float32_stays_normal(topic_words):
    """Topics that nothing speaks for fade to the floor: no number below it slows the loop, no mass is lost."""
    docs = case.documents([25] * 4, N_WORDS, seed=6)
    single = case.infer(KERNEL, docs, topic_words, 1.0, dtype=np.float32, **EXACT)
    double = case.infer(KERNEL, docs, topic_words, 1.0, **EXACT)
    assert (single.doc_topics > 1e-24).all()
    np.testing.assert_allclose(single.doc_topics, double.doc_topics, atol=1e-3)
    counts = np.bincount(docs.words, docs.counts, N_WORDS)
    np.testing.assert_allclose(single.stats["topic_words"].sum(axis=1), counts, rtol=1e-5)


def test_a_document_of_unknown_words_is_empty(docs, topic_words):
    result = case.infer(KERNEL, docs, np.zeros_like(topic_words), ALPHA)
    np.testing.assert_allclose(result.doc_topics, np.tile(ALPHA / ALPHA.sum(), (5, 1)), rtol=1e-12)
    assert result.info["dropped_tokens"] == docs.counts.sum()
    assert not result.stats["topic_words"].any()

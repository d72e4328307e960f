"""OPE: exact identities of its averages, and certificates of how good its points are where there are any."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.errors import SettingError

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("ope")
N_WORDS, N_COMPONENTS = 60, 6


@pytest.mark.parametrize("n_iter", [1, 20, 200])
def test_topics_are_the_average_of_start_and_vertices(docs, topic_words, n_iter):
    result = case.infer(KERNEL, docs, topic_words, 0.01, n_iter=n_iter, seed=12)
    start = case.reference("ope")["start"]
    for d in np.flatnonzero(np.diff(docs.indptr)):
        visits = n_iter * result.doc_topics[d] - start(N_COMPONENTS, 12, int(docs.rows[d]))
        np.testing.assert_allclose(visits, np.round(visits), atol=1e-10)
        assert np.round(visits).sum() == n_iter - 1


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_gap_to_the_optimum(alpha):
    """For alpha >= 1 the function is concave: how far from its maximum, per token, mean of 100 documents."""
    topic_words = case.topics(200, 20, seed=9, concentration=0.1)
    docs = case.documents([20, 60] * 50, 200, seed=10)
    runs = {n: case.infer(KERNEL, docs, topic_words, alpha, n_iter=n).doc_topics for n in (100, 500)}
    duality_gap, prior = case.reference("ope")["duality_gap"], np.full(20, alpha)
    gaps = {n: [] for n in runs}
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        document = docs.words[own], docs.counts[own], topic_words
        best = objective_optimum(*document, alpha)
        for n, doc_topics in runs.items():
            gap = best - objective(*document, prior, doc_topics[d])
            assert gap <= duality_gap(*document, prior, doc_topics[d])
            gaps[n].append(gap / docs.counts[own].sum())
    assert -1e-3 < np.mean(gaps[100]) < 0.02
    assert -1e-3 < np.mean(gaps[500]) < 0.003


def objective(words, counts, topic_words, prior, theta):
    return counts @ np.log(topic_words[words] @ theta) + ((prior - 1) * np.log(theta)).sum()


def objective_optimum(words, counts, topic_words, alpha):
    """EM for the maximum a posteriori, which rises to the optimum of a concave function."""
    weights, theta = topic_words[words], np.full(20, 1 / 20)
    for _ in range(300):
        theta = theta * ((counts / (weights @ theta)) @ weights) + alpha - 1
        theta /= theta.sum()
    return objective(words, counts, topic_words, np.full(20, alpha), np.maximum(theta, 1e-300))


def test_seed_and_row_decide(docs, topic_words):
    first = case.infer(KERNEL, docs, topic_words, 0.01, seed=1).doc_topics
    assert not np.array_equal(first, case.infer(KERNEL, docs, topic_words, 0.01, seed=2).doc_topics)


def test_eps_keeps_away_from_the_faces(docs, topic_words):
    options = {"n_iter": 150, "eps": 0.01}  # the coins of more than one word of 64 bits
    result = case.infer(KERNEL, docs, topic_words, 2.0, seed=5, **options)
    walk = case.reference("ope")["walk"]
    for d in np.flatnonzero(np.diff(docs.indptr)):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        theta = walk(
            docs.words[own],
            docs.counts[own].astype(float),
            topic_words,
            np.full(6, 2.0),
            options,
            5,
            int(docs.rows[d]),
        )
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-9)
    assert result.doc_topics[np.diff(docs.indptr) > 0].min() > 0.01 * 149 / 150


def test_statistic_theta_is_blind_to_words(docs, topic_words):
    result = case.infer(KERNEL, docs, topic_words, 0.01, statistic="theta")
    of_token = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    expected = np.zeros((N_WORDS, N_COMPONENTS))
    np.add.at(expected, docs.words, docs.counts[:, None] * result.doc_topics[of_token])
    np.testing.assert_allclose(result.stats["topic_words"][:, :N_COMPONENTS], expected, rtol=1e-12)


@pytest.mark.parametrize("options", [{"statistic": "gamma"}, {"eps": -0.1}, {"eps": 1 / N_COMPONENTS}])
def test_settings_that_make_no_sense(docs, topic_words, options):
    with pytest.raises(SettingError, match=next(iter(options))):
        case.infer(KERNEL, docs, topic_words, 0.01, **options)

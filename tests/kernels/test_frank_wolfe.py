"""Frank-Wolfe: exact identities of its averages, and how near the optimum it comes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.errors import SettingError

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("frank_wolfe")
N_WORDS, N_COMPONENTS = 60, 6


def document(docs, d):
    own = slice(docs.indptr[d], docs.indptr[d + 1])
    return docs.words[own], docs.counts[own].astype(float)


@pytest.mark.parametrize("n_iter", [1, 20, 200])
def test_topics_are_a_weighted_average_of_the_vertices_chosen(docs, topic_words, n_iter):
    result = case.infer(KERNEL, docs, topic_words, 0.01, n_iter=n_iter)
    walk = case.reference("frank_wolfe")["walk"]
    total = (n_iter + 1) * (n_iter + 2) / 2
    for d in np.flatnonzero(np.diff(docs.indptr)):
        _, chosen = walk(*document(docs, d), topic_words, n_iter)
        sums = np.full(N_COMPONENTS, 1e-10)
        sums[chosen[0]] += 1 - N_COMPONENTS * 1e-10
        np.add.at(sums, chosen[1:], np.arange(n_iter) + 2)
        np.testing.assert_allclose(result.doc_topics[d], sums / total, rtol=1e-12)


@pytest.mark.parametrize("n_iter", [1, 3, 10])
def test_few_topics_are_visited(n_iter):
    """Each step visits at most one new topic; all the others keep what they began with."""
    docs = case.documents([40] * 30, 200, seed=1)
    doc_topics = case.infer(KERNEL, docs, case.topics(200, 50, seed=2), 0.1, n_iter=n_iter).doc_topics
    visited = (doc_topics > 1e-9).sum(axis=1)
    assert visited.max() <= n_iter + 1 and visited.max() > 1
    untouched = doc_topics[doc_topics <= 1e-9]
    np.testing.assert_allclose(untouched, 2e-10 / ((n_iter + 1) * (n_iter + 2)), rtol=1e-9)


def test_gap_to_the_optimum():
    """How far from the maximum of a concave function, per token, mean of 40 documents; no further than the duality
    gap says. The same in both precisions."""
    topic_words = case.topics(200, 20, seed=9, concentration=0.1)
    docs = case.documents([20, 60] * 20, 200, seed=10)
    duality_gap, one = case.reference("ope")["duality_gap"], np.ones(20)
    objective, optimum = (case.reference("map_em")[name] for name in ("objective", "optimum"))
    best = [optimum(*document(docs, d), topic_words, one) for d in range(docs.n_docs)]
    for dtype in (np.float32, np.float64):
        gaps = []
        for n_iter in (20, 100, 500):
            doc_topics = case.infer(KERNEL, docs, topic_words, 0.3, n_iter=n_iter, dtype=dtype).doc_topics
            gaps.append([])
            for d, theta in enumerate(doc_topics.astype(float)):
                told = (*document(docs, d), topic_words, one, theta / theta.sum())
                gap = best[d] - objective(*told)
                assert gap <= duality_gap(*told)
                gaps[-1].append(gap / docs.counts[docs.indptr[d] : docs.indptr[d + 1]].sum())
        coarse, middle, fine = np.mean(gaps, axis=1)
        assert coarse > middle > fine > -1e-4
        assert middle < 0.02 and fine < 0.003


def test_the_prior_and_the_seed_play_no_part(docs, topic_words):
    first = case.infer(KERNEL, docs, topic_words, 0.01, seed=1)
    second = case.infer(KERNEL, docs, topic_words, 3.0, seed=2)
    np.testing.assert_array_equal(first.doc_topics, second.doc_topics)
    np.testing.assert_array_equal(first.stats["topic_words"], second.stats["topic_words"])


def test_a_word_that_only_a_hidden_topic_knows(topic_words):
    """A topic that begins with 1e-10 explains a word better than the first: its tokens still count once."""
    docs = case.documents([12] * 5, N_WORDS, seed=8)
    topic_words = topic_words.copy()
    topic_words[docs.words[0]] = [0, 0, 0, 0, 0, 1]
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12)):
        result = case.infer(KERNEL, docs, topic_words, 0.1, n_iter=1, dtype=dtype)
        counts = np.bincount(docs.words, docs.counts, N_WORDS)
        np.testing.assert_allclose(result.stats["topic_words"].sum(axis=1), counts, rtol=tolerance)


def test_statistic_theta_is_blind_to_words(docs, topic_words):
    result = case.infer(KERNEL, docs, topic_words, 0.01, statistic="theta")
    of_token = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    expected = np.zeros((N_WORDS, N_COMPONENTS))
    np.add.at(expected, docs.words, docs.counts[:, None] * result.doc_topics[of_token])
    np.testing.assert_allclose(result.stats["topic_words"][:, :N_COMPONENTS], expected, rtol=1e-12)


def test_settings_that_make_no_sense(docs, topic_words):
    with pytest.raises(SettingError, match=r"statistic='gamma': must be one of theta, phi"):
        case.infer(KERNEL, docs, topic_words, 0.01, statistic="gamma")

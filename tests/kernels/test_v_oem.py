"""V-OEM: inner iterations that go on, a start that tells topics apart, and topics that are certain."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic import kernels

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("v_oem")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


@pytest.fixture
def docs():
    return case.documents([8, 0, 15, 1, 22], N_WORDS, seed=3, first_row=40)


def iterations(docs, topic_words, n_inner, n_iter):
    """The result of the last of some inner iterations over the same topics."""
    state = None
    told = case.hyper(KERNEL, ALPHA, N_COMPONENTS, n_iter=n_iter)
    for _ in range(n_inner):
        result = KERNEL.run(docs, case.view(KERNEL, topic_words), told, 7, state)
        state = result.state
    return result


@pytest.mark.parametrize(("n_inner", "n_iter"), [(20, 1), (4, 5), (2, 10)])
def test_inner_iterations_go_on_with_the_previous_responsibilities(docs, topic_words, n_inner, n_iter):
    """While topics stay, twenty inner iterations of one update are one of twenty; what is remembered is float32."""
    once, many = iterations(docs, topic_words, 1, 20), iterations(docs, topic_words, n_inner, n_iter)
    np.testing.assert_allclose(many.stats["topic_words"], once.stats["topic_words"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(many.doc_topics, once.doc_topics, rtol=1e-5)


def test_topics_and_their_prior_may_change_between_inner_iterations(docs, topic_words):
    """Responsibilities of the second inner iteration: its topics' words and its prior, and the expected counts that
    the first inner iteration left."""
    other, priors = case.topics(N_WORDS, N_COMPONENTS, seed=9), (ALPHA, ALPHA[::-1] + 0.7)
    told = [case.hyper(KERNEL, prior, N_COMPONENTS, n_iter=1) for prior in priors]
    first = KERNEL.run(docs, case.view(KERNEL, topic_words), told[0], 7, None)
    second = KERNEL.run(docs, case.view(KERNEL, other), told[1], 7, first.state)
    reference, expected = case.reference("v_oem"), np.zeros((N_WORDS, N_COMPONENTS))
    for d in np.flatnonzero(np.diff(docs.indptr)):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        of_word = np.repeat(np.arange(own.stop - own.start), docs.counts[own].astype(int))
        tokens = docs.words[own][of_word]
        r = reference["start"](len(of_word), of_word, N_COMPONENTS, 7, int(docs.rows[d]))
        for topics, prior in zip((topic_words, other), priors, strict=True):
            r = reference["iterate"](r, topics[tokens], prior)
        np.add.at(expected, tokens, r)
        gamma = priors[1] + r.sum(axis=0)
        np.testing.assert_allclose(second.doc_topics[d], gamma / gamma.sum(), rtol=1e-5)
    np.testing.assert_allclose(second.stats["topic_words"][:, :N_COMPONENTS], expected, rtol=1e-5, atol=1e-6)


def test_state_is_only_read(docs, topic_words):
    result = iterations(docs, topic_words, 1, 3)
    before = result.state["expected_counts"].copy()
    told = case.hyper(KERNEL, ALPHA, N_COMPONENTS, n_iter=2)
    KERNEL.run(docs, case.view(KERNEL, topic_words), told, 7, result.state)
    np.testing.assert_array_equal(result.state["expected_counts"], before)


def test_expected_counts_have_the_mass_of_the_tokens(docs, topic_words):
    counts = np.array([own.sum() for own in np.split(docs.counts, docs.indptr[1:-1])])
    for n_inner in (1, 3):
        found = iterations(docs, topic_words, n_inner, 2).state["expected_counts"]
        np.testing.assert_allclose(found.sum(axis=1), counts, rtol=1e-6)


def test_the_start_tells_topics_apart_that_begin_alike(docs):
    """Even topics and an even prior: without chance, every topic would have the same words for ever."""
    even = np.full((N_WORDS, N_COMPONENTS), 1 / N_WORDS)
    stats = case.infer(KERNEL, docs, even, 0.5).stats["topic_words"][:, :N_COMPONENTS]
    known = stats.sum(axis=1) > 0
    assert (stats[known].std(axis=1) > 1e-3 * stats[known].mean(axis=1)).all()
    other = case.infer(KERNEL, docs, even, 0.5, seed=8).stats["topic_words"][:, :N_COMPONENTS]
    assert not np.allclose(stats, other)


def test_certain_topics_are_point_estimates(docs, topic_words):
    """exp(E log p) of Dirichlet distributions with ever more mass is p."""
    mean, distances = case.infer(KERNEL, docs, topic_words, ALPHA).stats["topic_words"], []
    for mass in (1e4, 1e5, 1e6, 1e7):
        weights = np.exp(psi(mass * topic_words + 1e-9) - psi(mass))
        stats = case.infer(kernels.load("v_oem_expected_log"), docs, weights, ALPHA).stats["topic_words"]
        distances.append(np.abs(stats - mean).max())
    assert all(10 * np.array(distances[1:]) < 2 * np.array(distances[:-1]))


@pytest.mark.parametrize("n_inner", [1, 4])
def test_expected_logs_are_those_of_the_last_responsibilities(docs, topic_words, n_inner):
    """From the equations, after inner iterations that each see the same topics."""
    infer, expected = case.reference("v_oem")["infer"], np.zeros(N_COMPONENTS)
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        options = {"n_iter": 5 * n_inner}
        stats, _ = infer(docs.words[own], docs.counts[own], topic_words, ALPHA, options, 7, int(docs.rows[d]))
        gamma = ALPHA + stats.sum(axis=0)
        expected += psi(gamma) - psi(gamma.sum())
    told = case.hyper(KERNEL, ALPHA, N_COMPONENTS, n_iter=5)._replace(statistics=("doc_topic_prior",))
    state = None
    for _ in range(n_inner):
        result = KERNEL.run(docs, case.view(KERNEL, topic_words), told, 7, state)
        state = result.state
    np.testing.assert_allclose(result.stats["doc_topic_prior"][0, :N_COMPONENTS], expected, rtol=1e-5)

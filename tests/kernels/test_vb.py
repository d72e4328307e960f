"""Variational Bayes: its bound, its fixed point, and numbers that float32 must survive."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln

from bigtopic import kernels
from bigtopic.errors import SettingError
from bigtopic.types import Docs, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("vb")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


def gammas(docs, result, prior=ALPHA):
    """gamma sums to the prior's total and the document's tokens."""
    tokens = np.add.reduceat(np.append(docs.counts, 0), docs.indptr[:-1]) * (np.diff(docs.indptr) > 0)
    return result.doc_topics * (prior.sum() + tokens)[:, None]


def test_fixed_point(docs, topic_words):
    result = case.infer(KERNEL, docs, topic_words, ALPHA, max_doc_update_iter=5000, mean_change_tol=1e-13)
    phi = case.reference("vb")["phi"]
    for d, gamma in enumerate(gammas(docs, result)):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        again = ALPHA + docs.counts[own] @ phi(docs.words[own], topic_words, gamma)
        np.testing.assert_allclose(gamma, again, rtol=1e-9)


def test_the_bound_has_no_slope_at_the_fixed_point(docs, topic_words):
    """By finite differences of the sum of its terms in each gamma_dk."""
    result = case.infer(KERNEL, docs, topic_words, ALPHA, max_doc_update_iter=5000, mean_change_tol=1e-13)
    brute_force, step = case.reference("vb")["bound"], 1e-4
    for d, gamma in enumerate(gammas(docs, result)):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        terms = docs.words[own], docs.counts[own].astype(float), topic_words, ALPHA
        for way in step * gamma * np.eye(N_COMPONENTS):
            slope = (brute_force(*terms, gamma + way) - brute_force(*terms, gamma - way)) / (2 * step)
            assert abs(slope) < 1e-6


@pytest.mark.parametrize("iterations", [1, 3, 100])
def test_bound_is_the_sum_of_its_terms(docs, topic_words, iterations):
    result = case.infer(KERNEL, docs, topic_words, ALPHA, bound=True, max_doc_update_iter=iterations)
    brute_force = case.reference("vb")["bound"]
    total = 0.0
    for d, gamma in enumerate(gammas(docs, result)):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        total += brute_force(docs.words[own], docs.counts[own].astype(float), topic_words, ALPHA, gamma)
    np.testing.assert_allclose(result.info["bound"], total, rtol=1e-11)


def test_bound_knows_the_shift_of_its_rows(docs, topic_words):
    """Rows divided by exp(shift) change nothing but what the shift puts back."""
    plain = case.infer(KERNEL, docs, topic_words, ALPHA, bound=True)
    shift = np.log(topic_words.max(axis=1))
    rows = case.padded(topic_words / np.exp(shift)[:, None], np.float64)
    shifted = View({"topic_words": rows, "topic_words:shift": shift}, {})
    result = KERNEL.run(docs, shifted, case.hyper(KERNEL, ALPHA, N_COMPONENTS, bound=True), 0, None)
    np.testing.assert_allclose(result.info["bound"], plain.info["bound"], rtol=1e-12)
    np.testing.assert_allclose(result.stats["topic_words"], plain.stats["topic_words"], rtol=1e-10)


def test_bound_rises_with_iterations(docs, topic_words):
    values = [
        case.infer(
            KERNEL, docs, topic_words, ALPHA, bound=True, max_doc_update_iter=n, mean_change_tol=0.0
        ).info["bound"]
        for n in range(1, 40)
    ]
    assert min(np.diff(values)) > -1e-10
    assert values[-1] > values[0]


def test_bound_is_below_the_likelihood_and_near(topic_words):
    """log p(w) by summing over all labels of five tokens."""
    words = np.array([2, 9, 17, 21], np.int32)
    counts = np.array([1, 2, 1, 1], np.float32)
    docs = Docs(np.array([0, 4]), words, counts, np.array([0]), N_WORDS)
    tokens = np.repeat(words, counts.astype(int))
    likelihood = 0.0
    for labels in itertools.product(range(N_COMPONENTS), repeat=len(tokens)):
        n = np.bincount(labels, minlength=N_COMPONENTS)
        log = (
            gammaln(ALPHA.sum())
            - gammaln(ALPHA.sum() + len(tokens))
            + (gammaln(ALPHA + n) - gammaln(ALPHA)).sum()
        )
        likelihood += np.exp(log) * topic_words[tokens, labels].prod()
    bound = case.infer(KERNEL, docs, topic_words, ALPHA, bound=True).info["bound"]
    assert np.log(likelihood) - 1.0 < bound < np.log(likelihood)


def test_no_bound_unless_asked_for(docs, topic_words):
    assert "bound" not in case.infer(KERNEL, docs, topic_words, ALPHA).info


def test_tolerance_saves_iterations(docs, topic_words):
    counts = [
        case.infer(KERNEL, docs, topic_words, ALPHA, mean_change_tol=tol).info["iterations"]
        for tol in (0.0, 1e-3, 1.0)
    ]
    assert counts[0] == 100 * docs.n_docs > counts[1] > counts[2]


@pytest.mark.parametrize("alpha", [1e-3, 0.01])
def test_float32_survives_sparse_views(docs, alpha):
    """exp(psi(0.001)) is 0 in float32, and a word may be known to one topic only, by a number near the smallest."""
    rows = np.zeros((N_WORDS, N_COMPONENTS))
    rows[np.arange(N_WORDS), np.arange(N_WORDS) % N_COMPONENTS] = 1e-30
    rows[::3] += np.array([1.0, 1e-9, 1e-20, 0.0])
    result = case.infer(KERNEL, docs, rows, alpha, dtype=np.float32)
    assert np.isfinite(result.doc_topics).all()
    counts = np.bincount(docs.words, docs.counts, N_WORDS)
    np.testing.assert_allclose(result.stats["topic_words"].sum(axis=1), counts, rtol=1e-5)


def test_dropped_tokens_are_told(docs, topic_words):
    unknown = topic_words.copy()
    unknown[docs.words[0]] = 0
    result = case.infer(KERNEL, docs, unknown, ALPHA)
    assert result.info["dropped_tokens"] == docs.counts[docs.words == docs.words[0]].sum()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("stop", ["gamma", "bound", "theta"])
def test_each_rule_stops_where_the_reference_stops(docs, topic_words, stop, tolerance):
    options = {"stop": stop, "mean_change_tol": tolerance}
    result = case.infer(KERNEL, docs, topic_words, ALPHA, **options)
    infer = case.reference("vb")["infer"]
    for d in np.flatnonzero(np.diff(docs.indptr)):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        words, counts = docs.words[own], docs.counts[own].astype(float)
        _, theta = infer(words, counts, topic_words, ALPHA, {**KERNEL.options, **options})
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-9)


def test_rules_differ(docs, topic_words):
    """The same tolerance: the change of gamma is that of theta times the tokens of the document."""
    n = {
        stop: case.infer(KERNEL, docs, topic_words, ALPHA, stop=stop, mean_change_tol=1e-4).info["iterations"]
        for stop in ("gamma", "bound", "theta")
    }
    assert n["gamma"] > n["theta"] and len(set(n.values())) == 3


@pytest.mark.parametrize("stop", ["bound", "theta"])
def test_a_rule_without_tolerance_does_all_iterations(docs, topic_words, stop):
    result = case.infer(KERNEL, docs, topic_words, ALPHA, stop=stop, mean_change_tol=0.0)
    assert result.info["iterations"] == 100 * docs.n_docs


def test_the_bound_that_stops_knows_the_shift_of_its_rows(docs, topic_words):
    """Its relative gain would be another if factors of rows were left out."""
    options = {"stop": "bound", "mean_change_tol": 1e-4}
    plain = case.infer(KERNEL, docs, topic_words, ALPHA, **options)
    shift = np.log(topic_words.max(axis=1)) + 3.0
    rows = case.padded(topic_words / np.exp(shift)[:, None], np.float64)
    shifted = View({"topic_words": rows, "topic_words:shift": shift}, {})
    result = KERNEL.run(docs, shifted, case.hyper(KERNEL, ALPHA, N_COMPONENTS, **options), 0, None)
    assert result.info["iterations"] == plain.info["iterations"]
    np.testing.assert_allclose(result.doc_topics, plain.doc_topics, rtol=1e-10)


def test_a_rule_that_does_not_exist(docs, topic_words):
    with pytest.raises(SettingError, match=r"stop='beta': must be one of gamma, bound, theta"):
        case.infer(KERNEL, docs, topic_words, ALPHA, stop="beta")

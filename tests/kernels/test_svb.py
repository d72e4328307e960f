"""SVB: inner iterations that go on never lower the bound, and come to rest."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln, psi

from bigtopic import kernels
from bigtopic.errors import SettingError
from bigtopic.methods.method import UntilRest
from bigtopic.types import View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("svb")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


def iterations(docs, n_inner, **options):
    """Variational Bayes of these documents as one minibatch: results of each inner iteration, with the weights that it
    saw."""
    told = case.hyper(KERNEL, ALPHA, N_COMPONENTS, bound=True, **options)
    prior = 0.2 + 3 * case.topics(N_WORDS, N_COMPONENTS, seed=4)
    weights, state = prior, None
    for _ in range(n_inner):
        rows = case.padded(np.exp(psi(weights) - psi(weights.sum(axis=0))), np.float64)
        result = KERNEL.run(docs, View({"topic_words": rows}, {}), told, 0, state)
        yield prior, weights, result
        weights, state = prior + result.stats["topic_words"][:, :N_COMPONENTS], result.state


def topics_part(prior, weights):
    """E log p(topics) - E log q(topics), in nats."""
    expected = psi(weights) - psi(weights.sum(axis=0))
    value = ((prior - weights) * expected + gammaln(weights) - gammaln(prior)).sum()
    return value + (gammaln(prior.sum(axis=0)) - gammaln(weights.sum(axis=0))).sum()


def test_the_first_inner_iteration_is_variational_bayes(docs):
    _, weights, result = next(iterations(docs, 1))
    rows = np.exp(psi(weights) - psi(weights.sum(axis=0)))
    plain = case.infer(kernels.load("vb"), docs, rows, ALPHA, bound=True)
    np.testing.assert_array_equal(result.stats["topic_words"], plain.stats["topic_words"])
    np.testing.assert_array_equal(result.doc_topics, plain.doc_topics)
    assert result.info["bound"] == plain.info["bound"]


@pytest.mark.parametrize("n_steps", [1, 3])
def test_the_bound_never_goes_down(docs, n_steps):
    """From inner iteration to inner iteration, with a few steps for the documents in each."""
    found = iterations(docs, 60, max_doc_update_iter=n_steps, mean_change_tol=0.0)
    bounds = np.array(
        [result.info["bound"] + topics_part(prior, weights) for prior, weights, result in found]
    )
    assert (np.diff(bounds) > -1e-9 * np.abs(bounds[1:])).all()
    assert bounds[-1] > bounds[0] + 1


def test_an_inner_iteration_tells_how_far_it_moved(docs):
    results = [result for _, _, result in iterations(docs, 80, mean_change_tol=1e-9)]
    moved = [result.info["moved"] for result in results]
    assert moved[0] == results[0].info["tokens"] == docs.counts.sum()
    distance = np.abs(results[3].state["gamma"] - results[2].state["gamma"]).sum()
    assert moved[3] == pytest.approx(distance, rel=1e-5)
    assert moved[-1] < 1e-3 * moved[1]


def test_inner_iterations_end_at_rest():
    rule = UntilRest(most=5, tol=0.1)
    assert rule(1, {"moved": 50.0, "tokens": 50.0}) and rule(4, {"moved": 5.1, "tokens": 50.0})
    assert not rule(2, {"moved": 4.9, "tokens": 50.0}) and not rule(5, {"moved": 50.0, "tokens": 50.0})


@pytest.mark.parametrize("settings", [{"most": 0}, {"most": 2.5}, {"most": True}, {"tol": -1}, {"tol": 1.0}])
def test_rules_that_are_none(settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        UntilRest(**settings)

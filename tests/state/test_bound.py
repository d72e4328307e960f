"""The part of the bound that belongs to the params: minus the divergence of each Dirichlet from its prior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, psi

from bigtopic.state import lazy_array
from bigtopic.state.bound import global_part
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.types import AxisStats

N_ROWS, N_COMPONENTS = 11, 4


def minus_divergence(weights: np.ndarray, prior: np.ndarray) -> float:
    """E_q[log p - log q] of one Dirichlet, q = Dirichlet(weights), p = Dirichlet(prior)."""
    expected = psi(weights) - psi(weights.sum())
    log_p = gammaln(prior.sum()) - gammaln(prior).sum() + ((prior - 1) * expected).sum()
    log_q = gammaln(weights.sum()) - gammaln(weights).sum() + ((weights - 1) * expected).sum()
    return float(log_p - log_q)


def some_array(normalised_over: str | None, table: np.ndarray, seed: int = 0) -> LazyArray:
    array = LazyArray.zeros(
        N_ROWS, N_COMPONENTS, axis="author", dtype="float64", normalised_over=normalised_over
    )
    array.set_prior(table)
    values = np.zeros((N_ROWS, 16))
    values[:, :N_COMPONENTS] = np.random.default_rng(seed).gamma(0.7, 5, (N_ROWS, N_COMPONENTS))
    array.add(AxisStats(None, values))
    array.add(AxisStats(None, values), weight=0.3, decay=0.8)  # a scale that is not 1
    return array


@pytest.mark.parametrize("shape", [(1, 1), (N_ROWS, 1), (1, N_COMPONENTS), (N_ROWS, N_COMPONENTS)])
@pytest.mark.parametrize("normalised_over", ["axis", "components"])
def test_topics_and_authors(normalised_over, shape, monkeypatch):
    monkeypatch.setattr(lazy_array, "FOLD_ROWS", 4)  # several blocks of rows
    table = np.random.default_rng(1).random(shape) + 0.05
    array = some_array(normalised_over, table)
    weights = array.gather(None)[:, :N_COMPONENTS]
    prior = np.broadcast_to(table, weights.shape)
    if normalised_over == "axis":
        weights, prior = weights.T, prior.T
    expected = sum(minus_divergence(w, p) for w, p in zip(weights, prior, strict=True))
    assert global_part(Params({"one": array})) == pytest.approx(expected, rel=1e-10)


def test_arrays_add_up_and_what_is_not_a_distribution_has_no_part():
    table = np.full((1, 1), 0.2)
    topics, authors = some_array("axis", table), some_array("components", table, seed=1)
    prior, free = some_array(None, table), some_array("axis", np.zeros((1, 1)))
    parts = [global_part(Params({"one": array})) for array in (topics, authors)]
    everything = {"topics": topics, "authors": authors, "doc_topic_prior": prior, "free": free}
    assert global_part(Params(everything)) == pytest.approx(sum(parts))
    assert all(part < 0 for part in parts)

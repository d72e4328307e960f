"""The prior that an array's own rows make likeliest: against dense formulas, and what a minibatch reads of the rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic.schemes import own_prior
from bigtopic.schemes.dirichlet import newton_step
from bigtopic.schemes.own_prior import OwnPrior

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.dense_array import N_COMPONENTS, N_ROWS, info, random_array, random_stats


def expected_logs(array) -> np.ndarray:
    weights = array.gather(None)[:, :N_COMPONENTS]
    return psi(weights) - psi(weights.sum(axis=0))


def test_one_number_from_all_rows_where_the_minibatch_is_the_corpus():
    array = random_array()
    mean = expected_logs(array).mean(keepdims=True)[0]
    OwnPrior().step(array, random_stats(), info(n_docs=1000))
    np.testing.assert_allclose(
        array.prior[0], newton_step(np.array([0.05]), mean, repeats=N_ROWS), rtol=1e-10
    )


@pytest.mark.parametrize("rows_at_once", [7, 4096])
def test_one_number_for_each_row(rows_at_once, monkeypatch):
    monkeypatch.setattr(own_prior, "_ROWS", rows_at_once)
    array = random_array()
    logs = expected_logs(array).mean(axis=1)
    OwnPrior(shape="asymmetric").step(array, random_stats(), info(n_docs=1000))
    np.testing.assert_allclose(array.prior[:, 0], newton_step(np.full(N_ROWS, 0.05), logs), rtol=1e-10)
    before = array.prior.copy()
    OwnPrior(shape="asymmetric").step(array, random_stats(), info(n_docs=1000))
    assert (array.prior != before).any()  # from a prior of each row


def test_an_asymmetric_prior_moves_once_a_pass():
    array = random_array()
    for step in range(1, 26):
        before = array.prior
        OwnPrior(shape="asymmetric").step(array, random_stats(), info(step, n_docs=100))
        assert (array.prior is before) == (step % 10 != 0)


def test_a_minibatch_reads_as_many_rows_as_it_has_and_is_right_in_the_mean():
    """The mean logarithm of the rows drawn in 400 updates is that of all rows, to within four standard errors."""
    found = []
    for step in range(1, 401):
        array = random_array()
        OwnPrior().step(array, random_stats(), info(step))
        assert 1 <= len(array.touched) <= 4
        (ids,) = own_prior.sampled_rows(array, random_stats(), info(step))
        assert set(ids.tolist()) == array.touched
        found.append(own_prior._mean_logs(random_array(), ids).mean())
    exact = expected_logs(random_array()).mean()
    assert abs(np.mean(found) - exact) < 4 * np.std(found) / 20

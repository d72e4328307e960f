"""The prior that an array's own rows make likeliest: against dense formulas, and what a minibatch reads of the rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic.errors import SettingError
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
    OwnPrior(begin=0).step(array, random_stats(), info(n_docs=1000))
    np.testing.assert_allclose(
        array.prior[0], newton_step(np.array([0.05]), mean, repeats=N_ROWS), rtol=1e-10
    )


@pytest.mark.parametrize("shrinkage", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rows_at_once", [7, 4096])
def test_one_number_for_each_row(rows_at_once, shrinkage, monkeypatch):
    monkeypatch.setattr(own_prior, "_ROWS", rows_at_once)
    array = random_array()
    logs = expected_logs(array).mean(axis=1)
    scheme = OwnPrior(shape="asymmetric", begin=0, shrinkage=shrinkage)
    scheme.step(array, random_stats(), info(n_docs=1000))
    drawn = (1 - shrinkage) * logs + shrinkage * logs.mean()
    np.testing.assert_allclose(array.prior[:, 0], newton_step(np.full(N_ROWS, 0.05), drawn), rtol=1e-10)
    before = array.prior.copy()
    scheme.step(array, random_stats(), info(n_docs=1000))
    assert (array.prior != before).any()  # from a prior of each row


def test_a_minibatch_takes_the_share_that_its_pass_would_have_taken_by_and_by():
    """1 - (1 - rho_11) ... (1 - rho_20) of the step, with ten minibatches a pass."""
    array = random_array()
    scheme = OwnPrior(shape="asymmetric", learning_decay=0.8, learning_offset=5.0, begin=0, shrinkage=0.0)
    moved = newton_step(np.full(N_ROWS, 0.05), expected_logs(array).mean(axis=1))
    scheme.step(array, random_stats(), info(20, n_docs=100))
    left = np.prod([1 - (5.0 + step) ** -0.8 for step in range(11, 21)])
    np.testing.assert_allclose(array.prior[:, 0], moved + left * (0.05 - moved), rtol=1e-10)


def test_topics_that_are_alike_have_a_prior_without_bounds_only_where_nothing_draws_it_to_one_number():
    """Steps until nothing moves, with topics whose weights follow the prior."""
    ends = {}
    for shrinkage in (0.0, 0.5):
        array = random_array()
        alike = 1e4 * np.random.default_rng(0).dirichlet(np.full(N_ROWS, 0.5))
        array.statistics[:, :N_COMPONENTS] = alike[:, None]
        for step in range(1, 200):
            scheme = OwnPrior(shape="asymmetric", begin=0, shrinkage=shrinkage)
            scheme.step(array, random_stats(), info(step, n_docs=1000))
        ends[shrinkage] = array.prior.sum()
    assert ends[0.0] > 1e4 > 10 * ends[0.5]


@pytest.mark.parametrize("shrinkage", [-0.1, 1.1, float("nan"), "half", True], ids=repr)
def test_a_shrinkage_that_is_no_share_is_refused(shrinkage):
    with pytest.raises(SettingError, match=r"shrinkage=.*must be between 0 and 1"):
        OwnPrior(shrinkage=shrinkage)


def test_an_asymmetric_prior_moves_once_a_pass():
    array = random_array()
    for step in range(1, 26):
        before = array.prior
        OwnPrior(shape="asymmetric", begin=0).step(array, random_stats(), info(step, n_docs=100))
        assert (array.prior is before) == (step % 10 != 0)


def test_a_minibatch_reads_as_many_rows_as_it_has_and_is_right_in_the_mean():
    """The mean logarithm of the rows drawn in 400 updates is that of all rows, to within four standard errors."""
    found = []
    for step in range(1, 401):
        array = random_array()
        OwnPrior(begin=0).step(array, random_stats(), info(step))
        assert 1 <= len(array.touched) <= 4
        (ids,) = own_prior.sampled_rows(array, random_stats(), info(step))
        assert set(ids.tolist()) == array.touched
        found.append(own_prior._mean_logs(random_array(), ids).mean())
    exact = expected_logs(random_array()).mean()
    assert abs(np.mean(found) - exact) < 4 * np.std(found) / 20

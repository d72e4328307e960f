"""Newton's step for Dirichlet parameters: finite differences, recovery from draws, and what it does at the edges."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import polygamma, psi

from bigtopic.errors import BigtopicWarning, SettingError
from bigtopic.optimize import dirichlet_mle
from bigtopic.schemes.dirichlet import (
    LEAST,
    MOST,
    fixed_point_step,
    gradient,
    inverse_digamma,
    log_likelihood,
    newton_step,
)
from bigtopic.schemes.newton import FixedPoint, Newton
from bigtopic.state.lazy_array import LazyArray
from bigtopic.types import AxisStats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.dense_array import info

TRUTH = np.array([0.5, 1.0, 2.0, 0.2])


def mean_logs(alpha: np.ndarray = TRUTH, n_rows: int = 5000) -> np.ndarray:
    return np.log(np.random.default_rng(0).dirichlet(alpha, n_rows)).mean(axis=0)


def maximum(prior: np.ndarray, logs: np.ndarray, repeats: int = 1) -> np.ndarray:
    for _ in range(60):
        prior = newton_step(prior, logs, repeats)
    return prior


def information(alpha: np.ndarray, n_rows: int) -> np.ndarray:
    """Fisher's information of `n_rows` draws."""
    return n_rows * (np.diag(polygamma(1, alpha)) - polygamma(1, alpha.sum()))


@pytest.mark.parametrize("repeats", [1, 7])
def test_gradient_by_finite_differences(repeats):
    at, logs, h = np.array([0.3, 1.7, 0.9]), np.array([-2.0, -0.7, -1.1]), 1e-6
    for k, move in enumerate(h * np.eye(3)):
        up, down = (log_likelihood(at + sign * move, logs, repeats) for sign in (1, -1))
        slope = (up - down) / (2 * h * repeats)
        assert gradient(at, logs, repeats)[k] == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("repeats", [1, 7])
def test_a_step_solves_the_equations_of_newton(repeats):
    """The Hessian by finite differences of the gradient, near the maximum, where the step is not halved."""
    logs, h = mean_logs(TRUTH if repeats == 1 else np.repeat(TRUTH, repeats))[::repeats], 1e-6
    at = 1.05 * TRUTH
    columns = [
        (gradient(at + move, logs, repeats) - gradient(at - move, logs, repeats)) / (2 * h)
        for move in h * np.eye(4)
    ]
    expected = at - np.linalg.solve(np.array(columns).T, gradient(at, logs, repeats))
    np.testing.assert_allclose(newton_step(at, logs, repeats), expected, rtol=1e-6)


@pytest.mark.parametrize("start", [0.01, 0.25, 30.0])
def test_draws_of_a_known_distribution_give_it_back(start):
    logs = mean_logs()
    found = maximum(np.full(4, start), logs)
    np.testing.assert_allclose(gradient(found, logs), 0, atol=1e-9)
    error = found - TRUTH
    assert error @ information(TRUTH, 5000) @ error < 18.5  # chi-square of 4, 0.999


@pytest.mark.parametrize("step", [newton_step, fixed_point_step])
def test_the_likelihood_never_falls(step):
    logs, at = mean_logs(), np.array([40.0, 0.001, 3.0, 700.0])
    for _ in range(30):
        moved = step(at, logs)
        assert (moved > 0).all() and log_likelihood(moved, logs) >= log_likelihood(at, logs)
        at = moved


@pytest.mark.parametrize("step", [newton_step, fixed_point_step])
def test_shared_parameters_are_those_of_equal_components(step):
    logs = mean_logs()
    one = step(np.array([0.7]), logs.mean(keepdims=True), repeats=4)
    many = step(np.full(4, 0.7), np.full(4, logs.mean()))
    np.testing.assert_allclose(many, one[0], rtol=1e-12)


def test_without_a_maximum_the_parameters_end_at_their_limits():
    alike = maximum(np.ones(3), np.log([0.5, 0.3, 0.2]))
    assert alike.max() == MOST and (alike <= MOST).all()
    logs = np.array([-1e6, -0.8, -0.9])
    lacking = maximum(np.ones(3), logs)
    assert lacking[0] == pytest.approx(LEAST)
    np.testing.assert_allclose(gradient(lacking, logs)[1:], 0, atol=1e-9)


@pytest.mark.parametrize(("start", "limit"), [(1e-20, LEAST), (1e20, MOST)])
def test_a_step_from_outside_the_limits_is_that_from_the_limit(start, limit):
    """Else every step would be downhill from 1e-20, at documents that were inferred with it."""
    numbers = np.array([[40, 0, 0, 0], [0, 25, 15, 0], [10, 10, 10, 10]])
    gammas = start + numbers
    logs = (psi(gammas) - psi(gammas.sum(axis=1, keepdims=True))).mean(axis=0)
    np.testing.assert_array_equal(newton_step(np.full(4, start), logs), newton_step(np.full(4, limit), logs))


@pytest.mark.parametrize("step", [newton_step, fixed_point_step])
def test_one_component_has_nothing_to_learn(step):
    np.testing.assert_array_equal(step(np.array([0.4]), np.zeros(1)), [0.4])


def test_psi_is_inverted():
    values = np.concatenate(
        [-np.geomspace(1e4, 1e-3, 50), [-2.22, psi(1.0), 0.0], np.geomspace(1e-3, 20, 50)]
    )
    np.testing.assert_allclose(psi(inverse_digamma(values)), values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("truth", [TRUTH, np.full(30, 0.02), np.array([20.0, 50.0])], ids=len)
def test_both_solvers_find_the_maximum(shape, truth):
    logs = psi(truth) - psi(truth.sum())
    found = {solver: dirichlet_mle(logs, shape=shape, solver=solver) for solver in ("newton", "fixed_point")}
    np.testing.assert_allclose(found["fixed_point"], found["newton"], rtol=1e-6)
    at, told = (
        (found["newton"], logs) if shape == "asymmetric" else (found["newton"][:1], logs.mean(keepdims=True))
    )
    slopes = gradient(at, told, repeats=len(logs) // len(at))
    np.testing.assert_allclose(slopes * at, 0, atol=1e-7)
    if shape == "asymmetric":
        np.testing.assert_allclose(at, truth, rtol=1e-6)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"mean_logs": [0.1, -1.0]}, "mean_logs="),
        ({"mean_logs": [[-1.0, -1.0]]}, "mean_logs="),
        ({"mean_logs": [-np.inf, -1.0]}, "mean_logs="),
        ({"mean_logs": ["-1", "minus two"]}, "mean_logs="),
        ({"mean_logs": [-1.0, [-2.0]]}, "mean_logs="),
        ({"solver": "bisection"}, "solver='bisection'.*newton, fixed_point"),
        ({"shape": "round"}, "shape='round'.*symmetric, asymmetric"),
    ],
)
def test_what_has_no_maximum_likelihood_is_refused(told, message):
    with pytest.raises(SettingError, match=message):
        dirichlet_mle(**{"mean_logs": [-1.0, -1.0], **told})


def test_too_few_steps_warn():
    with pytest.warns(BigtopicWarning, match="max_iter=3"):
        dirichlet_mle(mean_logs(), solver="fixed_point", max_iter=3)


def array(prior: np.ndarray) -> LazyArray:
    made = LazyArray.zeros(1, len(prior), axis="none", dtype="float64", normalised_over=None)
    made.set_prior(prior[None])
    return made


def statistics(logs: np.ndarray, n_docs: int) -> AxisStats:
    values = np.zeros((1, 16))
    values[0, : len(logs)] = n_docs * logs
    return AxisStats(None, values)


@pytest.mark.parametrize(("n_docs", "share"), [(1000, 1.0), (10, 5.0**-0.6)])
def test_a_minibatch_takes_a_share_of_the_step_and_the_whole_corpus_all_of_it(n_docs, share):
    own, logs = array(np.full(4, 0.4)), mean_logs()
    Newton(learning_decay=0.6, learning_offset=3.0, begin=0).step(
        own, statistics(logs, n_docs), info(2, n_docs)
    )
    expected = 0.4 + share * (newton_step(np.full(4, 0.4), logs) - 0.4)
    np.testing.assert_allclose(own.first_row(), expected, rtol=1e-12)


def test_a_step_of_the_other_scheme_is_that_of_the_fixed_point():
    own, logs = array(np.full(4, 0.4)), mean_logs()
    FixedPoint(begin=0).step(own, statistics(logs, 1000), info(1, 1000))
    np.testing.assert_allclose(psi(own.first_row()), logs + psi(1.6), rtol=1e-12)


@pytest.mark.parametrize("scheme", [Newton, FixedPoint])
def test_a_symmetric_prior_stays_symmetric(scheme):
    own, logs = array(np.full(4, 0.4)), mean_logs()
    for step in range(1, 200):
        scheme(shape="symmetric").step(own, statistics(logs, 1000), info(step, 1000))
    found = own.first_row()
    assert np.ptp(found) == 0
    assert gradient(found, np.full(4, logs.mean()))[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("n_docs", [1000, 10])
@pytest.mark.parametrize("begin", [0, 0.3, 1, 2.5])
@pytest.mark.parametrize(
    "rate", [{}, {"learning_decay": 1.0, "hold": 4}, {"learning_decay": None, "learning_scale": 0.25}]
)
def test_learning_begins_when_the_steps_before_sum_to_begin(rate, begin, n_docs):
    """Whole steps where the minibatch is the corpus, else those of the schedule."""
    scheme, logs = Newton(begin=begin, **rate), mean_logs()
    own, moved = array(np.full(4, 0.4)), 0.0
    for step in range(1, 40):
        moved += 1.0 if n_docs == 1000 else scheme.schedule()(step, None)
        scheme.step(own, statistics(logs, n_docs), info(step, n_docs))
        assert (own.first_row() == 0.4).all() == (moved <= begin)
        if moved > begin:
            return
    raise AssertionError("it has not begun")


@pytest.mark.parametrize("begin", [-1, 1e9, float("nan"), "late", True, None], ids=repr)
def test_a_begin_that_is_none_is_refused(begin):
    with pytest.raises(SettingError, match=r"begin=.*must be between 0 and 1000 whole steps"):
        Newton(begin=begin)


def test_steps_that_never_sum_to_begin_never_begin():
    assert Newton(learning_decay=1.0, begin=900).first_update(whole=False) == np.inf


def test_another_shape_is_refused():
    with pytest.raises(SettingError, match=r"shape='round'.*symmetric, asymmetric"):
        Newton(shape="round")

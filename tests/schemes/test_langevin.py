"""Langevin dynamics against their equations, and against the laws that are known without data."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import gamma, ks_2samp, kstest, ncx2

from bigtopic import schemes
from bigtopic.errors import SettingError
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay
from bigtopic.types import AxisStats, RoundInfo

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import langevin as reference

NAMES = ["langevin", "lazy_langevin"]
N_WORDS, N_COMPONENTS = 300, 40
LIKELY = 1e-3  # a test of a law that holds fails so often, for a seed that nobody chose


def load(name, **settings):
    """The scheme with a step size that stays the same, unless settings say another."""
    return schemes.load(name)(**{"learning_offset": 1e12, **settings})


def arrays(weights):
    n = weights.shape[1]
    array, missed = (LazyArray.zeros(len(weights), n, axis="word", dtype="float64") for _ in range(2))
    array.raw[:, :n] = weights
    array.fold()
    return array, missed


def run(scheme, weights, n_steps, counts=None, scale=0.0, seed=0):
    """Q after some updates, each with the same counts of the same words: (ids, values), or none."""
    array, missed = arrays(weights)
    ids, values = counts or (np.zeros(0, np.int32), np.zeros((0, weights.shape[1])))
    padded = np.zeros((len(ids), array.n_columns))
    padded[:, : weights.shape[1]] = values
    for step in range(1, n_steps + 1):
        info = RoundInfo(step, 1, 1.0, scale, 1.0, seed, n_steps, companions={"missed": missed})
        scheme.step(array, AxisStats(np.asarray(ids, np.int32), padded), info)
        sums = array.gather(None).sum(axis=0)
        np.testing.assert_allclose(array.totals(), sums, rtol=1e-9, atol=1e-9)
    return array.gather(None)[:, : weights.shape[1]]


def starts(seed=0):
    return np.random.default_rng(seed).gamma(2.0, size=(12, 5))


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_the_minibatch_take_the_step_of_the_equations(name):
    weights, counts = starts(), np.random.default_rng(1).gamma(0.5, size=(12, 5))
    scheme = load(name, prior=0.3, step_size=0.05, learning_decay=0.55, learning_offset=100.0)
    array, missed = arrays(weights)
    padded = np.zeros((12, 16))
    padded[:, :5] = counts
    for update in (1, 2, 3):  # with every word in each, none misses any
        told = RoundInfo(update, 20, 1.0, 90.0, 1.0, seed=5, companions={"missed": missed})
        scheme.step(array, AxisStats(None, padded), told)
        weights = reference.step(
            weights, counts, 20, 90.0, update, 5, prior=0.3, step_size=0.05, decay=0.55, offset=100.0
        )
        np.testing.assert_allclose(array.gather(None)[:, :5], weights, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_step_nothing_moves(name):
    weights = starts()
    moved = run(load(name, step_size=0.0), weights, 4, ([1, 5], np.ones((2, 5))), scale=100.0)
    np.testing.assert_allclose(moved, weights, rtol=1e-13)


@pytest.mark.parametrize("prior", [0.05, 1.0, 3.0])
def test_without_data_lazy_weights_are_gamma(prior):
    """Whatever the size and number of steps, from whatever start, after a long time."""
    moved = run(load("lazy_langevin", prior=prior, step_size=0.5), np.full((N_WORDS, N_COMPONENTS), 4.0), 80)
    assert kstest(moved.ravel(), gamma(prior).cdf).pvalue > LIKELY


def test_without_data_dense_weights_are_gamma_for_small_steps():
    """Far from 0, where small steps are mirrored: their mean and their variance are the prior."""
    prior, rate = 3.0, 0.01
    moved = run(load("langevin", prior=prior, step_size=rate), np.full((100, 200), prior), 600)
    errors = np.sqrt(prior / moved.size), np.sqrt((3 * prior**2 + 6 * prior - prior**2) / moved.size)
    assert abs(moved.mean() - prior) < 4 * errors[0]
    # one step keeps (1 - rate)^2 of the variance and adds 2 rate prior, so that it is prior / (1 - rate / 2)
    assert abs(moved.var() - prior / (1 - rate / 2)) < 4 * errors[1]


def test_what_a_row_missed_has_the_law_of_the_process():
    """Rates change with each update, through a word that has counts and others' columns that have more."""
    weights, prior = np.full((N_WORDS, N_COMPONENTS), 2.5), 0.7
    weights[0] = 50.0
    counts = ([0], np.full((1, N_COMPONENTS), 3.0))
    scheme = load("lazy_langevin", prior=prior, step_size=0.02, learning_offset=10.0)
    array, missed = arrays(weights)
    sums, gone, tau = weights.sum(axis=0), np.zeros(N_COMPONENTS), np.zeros(N_COMPONENTS)
    padded = np.zeros((1, array.n_columns))
    padded[:, :N_COMPONENTS] = counts[1]
    for step in range(1, 26):
        rate, pull = scheme.rate(step), 1 + 30.0 * 3.0 / sums
        gone, fade = gone + rate * pull, np.exp(-rate * pull)
        tau = tau * fade + (1 - fade) / pull
        told = RoundInfo(step, 1, 1.0, 30.0, 1.0, 9, 25, companions={"missed": missed})
        scheme.step(array, AxisStats(np.zeros(1, np.int32), padded), told)
        sums = array.totals()[:N_COMPONENTS] + prior * tau * (N_WORDS - 1)
    assert gone.std() > 0
    found = array.gather(None)[1:, :N_COMPONENTS]
    law = ncx2(2 * prior, 2 * 2.5 * np.exp(-gone) / tau)
    assert kstest(law.cdf(2 * found / tau).ravel(), "uniform").pvalue > LIKELY


def test_lazy_and_dense_weights_have_one_law_for_small_steps():
    weights, counts = np.full((N_WORDS, N_COMPONENTS), 3.0), ([7], np.full((1, N_COMPONENTS), 8.0))
    settings = {"prior": 3.0, "step_size": 0.002}
    lazy, dense = (run(load(name, **settings), weights, 150, counts, 40.0, seed=2) for name in NAMES[::-1])
    others = np.arange(N_WORDS) != 7
    assert dense[others].mean() < 2.9  # pulled down by the counts of the one word
    assert ks_2samp(lazy[others].ravel(), dense[others].ravel()).pvalue > LIKELY


@pytest.mark.parametrize("name", NAMES)
def test_noise_is_of_the_row_whoever_moves_with_it(name):
    """A row without counts beside another, or at another place, changes no bit of it."""
    some, more = ([3, 8], np.ones((2, 5))), ([8, 2, 3], np.array([[1.0], [0.0], [1.0]]) * np.ones(5))
    first, second = (run(load(name, prior=0.5), starts(), 1, counts, 10.0, seed=3) for counts in (some, more))
    np.testing.assert_array_equal(first[[3, 8]], second[[3, 8]])
    assert (run(load(name, prior=0.5), starts(), 1, some, 10.0, seed=4)[3] != first[3]).all()


@pytest.mark.parametrize("name", NAMES)
def test_provisional_params_move_alike(name):
    """An overlay of the arrays, as inner iterations have it, moves to the same weights, and leaves its base."""
    weights, values = starts(), np.zeros((2, 16))
    values[:, :5] = 2.0
    ends = []
    for wrap in (lambda array: array, Overlay):
        bases = arrays(weights)
        array, missed = (wrap(base) for base in bases)
        for step in (1, 2, 3):
            told = RoundInfo(step, 1, 1.0, 4.0, 1.0, 7, 3, companions={"missed": missed})
            load(name, prior=0.4, step_size=0.1).step(
                array, AxisStats(np.array([step, 9], np.int32), values), told
            )
        ends.append(array.gather(None))
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9)
    np.testing.assert_array_equal(bases[0].gather(None)[:, :5], weights)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "settings",
    [
        {"prior": 0.0},
        {"prior": np.nan},
        {"step_size": -0.1},
        {"step_size": 1.5},
        {"learning_decay": 0.0},
        {"learning_decay": None},
        {"learning_offset": 0.0},
    ],
    ids=str,
)
def test_settings_that_make_no_sense(name, settings):
    with pytest.raises(SettingError, match=f"{next(iter(settings))}=.*must be"):
        schemes.load(name)(**settings)

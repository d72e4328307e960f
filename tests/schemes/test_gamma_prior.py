"""SPLDA's step of the document-topic prior, against its equations and where it ends."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic.errors import SettingError
from bigtopic.schemes.gamma_prior import RATE, GammaPrior
from bigtopic.schemes.newton import Newton
from bigtopic.state.lazy_array import LazyArray
from bigtopic.types import AxisStats, RoundInfo, Stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.dense_array import info

FIRST = np.array([0.5, 0.2, 0.9])


def drawn() -> np.ndarray:
    """Labels of documents of different lengths, some of them empty; (400, 3)."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.3, 1.0, 0.5], 400)
    return np.array([rng.multinomial(5 * (d % 8), own) for d, own in enumerate(shares)])


NUMBERS = drawn()


def made(prior: np.ndarray) -> LazyArray:
    array = LazyArray.zeros(1, len(prior), axis="none", dtype="float64", normalised_over=None)
    array.set_prior(prior[None])
    return array


class Learner:
    """A prior, and the scheme that learns it from labels."""

    def __init__(self, prior: np.ndarray, scheme: GammaPrior | Newton) -> None:
        self.array, self.scheme = made(prior), scheme
        self.beside = {name: made(np.zeros(len(prior))) for name in GammaPrior.companions}

    def see(self, numbers: np.ndarray, step: int) -> np.ndarray:
        alpha = self.array.first_row()
        logs = psi(alpha + numbers) - psi((alpha + numbers).sum(axis=1, keepdims=True))
        values = np.zeros((1, 16))
        values[0, : len(alpha)] = logs.sum(axis=0)
        told: RoundInfo = info(step, len(numbers), float(numbers.sum()), len(numbers))
        self.scheme.step(self.array, AxisStats(None, values), told._replace(companions=self.beside))
        return self.array.first_row()


@pytest.mark.parametrize("shape", ["symmetric", "asymmetric"])
def test_documents_one_by_one_are_those_of_the_equations(shape):
    learner, alpha = Learner(FIRST, GammaPrior(shape)), FIRST
    shapes, rates = 1 + RATE * FIRST, RATE
    for step, n in enumerate(NUMBERS[:30], start=1):
        a = alpha * (psi(alpha + n) - psi(alpha))
        shapes = shapes + (a.mean() if shape == "symmetric" else a)
        rates += psi(n.sum() + alpha.sum()) - psi(alpha.sum())
        alpha = (shapes - 1) / rates
        np.testing.assert_allclose(learner.see(n[None], step), alpha, rtol=1e-12)


def test_statistics_of_a_provisional_prior_bound_the_likelihood_there():
    learner, other, n = Learner(FIRST, GammaPrior()), FIRST[::-1] + 0.3, NUMBERS[13]
    values = np.zeros((1, 16))
    values[0, : len(other)] = psi(other + n) - psi(n.sum() + other.sum())
    stats = AxisStats(None, values)
    told = info(1, 1, float(n.sum()), 1)._replace(
        companions=learner.beside, stats=Stats({}, 1, 1.0, prior=other)
    )
    learner.scheme.step(learner.array, stats, told)
    a = other * (psi(other + n) - psi(other))
    b = psi(n.sum() + other.sum()) - psi(other.sum())
    np.testing.assert_allclose(learner.array.first_row(), (RATE * FIRST + a) / (RATE + b), rtol=1e-12)


def test_it_comes_closer_to_the_likeliest_prior_and_rests_there():
    """The documents' lengths differ, of which it knows only the mean."""
    newton = Learner(FIRST, Newton())
    for step in range(1, 100):
        likeliest = newton.see(NUMBERS, step)
    np.testing.assert_allclose(Learner(likeliest, GammaPrior()).see(NUMBERS, 1), likeliest, rtol=1e-9)
    for start in (2 * likeliest, likeliest / 3):
        learner = Learner(start, GammaPrior())
        away = [np.abs(np.log(learner.see(NUMBERS, step) / likeliest)).max() for step in range(1, 200)]
        assert (np.diff(away) < 0).all()


def test_another_shape_is_refused():
    with pytest.raises(SettingError, match=r"shape='round'.*symmetric, asymmetric"):
        GammaPrior("round")

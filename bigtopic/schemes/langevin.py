"""Samples of the topics by stochastic gradient Langevin dynamics on the simplex, in the expanded mean.

The array holds Q, independent weights of every word, of which the topics beta are the shares. With e the step size, N
standard normal, and scale = (documents of the corpus) / (documents of the minibatch):

    Q_vk <- | Q_vk + e (prior + scale S_vk - r_k Q_vk) + sqrt(2 e Q_vk) N_vk |
    r_k = 1 + scale S_k / Q_k,    S_k = sum_v S_vk,    Q_k = sum_v Q_vk
    e_t = step_size (1 + t / learning_offset)^-learning_decay, at most 1

r_k Q_vk is Q_vk + scale beta_vk S_k. Without data, Q_vk has the stationary law Gamma(prior, 1) for small e. The array
must have no prior: see `prior`.

Reference: Patterson and Teh (2013), "Stochastic gradient Riemannian Langevin dynamics on the probability simplex",
whose e is twice this one.

Random numbers are functions of (seed, update, row), so that neither the order of rows nor which of them are updated
together can change them. They are the streams of a counter-based generator: Salmon et al. (2011), "Parallel random
numbers: as easy as 1, 2, 3".

`LazyLangevin`: Langevin dynamics whose updates cost only the minibatch's words: the moves that other words miss are
made later, in one draw.

Without counts, a weight of `langevin` follows a Cox-Ingersoll-Ross process, whose law after any time is known:
dQ = (prior - r Q) de + sqrt(2 Q) dW. Over the updates t that a row missed, with a_t = e_t r_t of its column,

    Q <- tau Gamma(prior + Poisson(Q exp(-A) / tau), 1)
    A = sum_t a_t,    tau = sum_t e_t (1 - exp(-a_t)) / a_t exp(-A_t),    A_t the sum of a over the updates after t

Rows of a minibatch make up for what they missed, and then take the step of `langevin`. Until then, the array holds
Q exp(-A), which its lazy scale does for all rows at once, and which is what kernels read: the expected weight, but for
prior * tau. tau of each row is a companion array: its prior is tau of a row that missed all updates, and the statistics
of a row, which fade like Q, subtract the value at its last move.

The last update of a run of known length makes up for all rows, so that its topics are a sample.

Reference: Cox, Ingersoll, Ross (1985), "A theory of the term structure of interest rates"; Patterson and Teh (2013)
for the dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.schemes.schedule import check, robbins_monro
from bigtopic.support.numbers import is_number
from bigtopic.types import ArraySpec, AxisStats, MutableArray, RoundInfo

__all__ = ["FURTHER", "SCHEME", "Langevin", "LangevinStep", "LazyLangevin", "generators"]

BLOCK_ROWS = 1 << 12


@dataclass(frozen=True)
class LangevinStep:
    """The settings of Langevin dynamics, and one step of some rows.

    Parameters
    ----------
    prior : Dirichlet prior of the topics. It is here because the prior of an array is added to its weights, and Q
        begins at 0; in the literature beta or eta
    step_size : of the update before the first, 0 to 1; in the literature a
    learning_decay : how fast the step size falls, above 0 and at most 1; in the literature c
    learning_offset : updates after which it has begun to fall, above 0; in the literature b

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    prior: float = 1e-4
    step_size: float = 0.01
    learning_decay: float = 0.55
    learning_offset: float = 1000.0

    dtype: ClassVar[str] = "float64"
    own_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.learning_decay is None:
            raise SettingError(f"{argument('learning_decay', None)}: must be above 0 and at most 1")
        check(self.learning_decay, self.learning_offset)
        if self.learning_offset == 0:
            raise SettingError(f"{argument('learning_offset', self.learning_offset)}: must be above 0")
        if not is_number(self.prior) or not 0.0 < self.prior < np.inf:
            raise SettingError(f"prior={self.prior!r}: must be a positive number")
        if not is_number(self.step_size) or not 0.0 <= self.step_size <= 1.0:
            raise SettingError(f"step_size={self.step_size!r}: must be between 0 and 1")

    def rate(self, step: int) -> float:
        """The step size of update `step` = 1, 2, ..."""
        scale = self.step_size * self.learning_offset**self.learning_decay
        return robbins_monro(step, self.learning_decay, self.learning_offset, scale)

    def pull(self, totals: np.ndarray, stats: AxisStats, info: RoundInfo) -> np.ndarray:
        """r, (n_columns,), for the sums Q_k of the columns."""
        scale = info.total_docs / info.n_docs
        held = totals > 0
        return 1.0 + np.where(held, scale * stats.totals() / np.where(held, totals, 1.0), 0.0)

    def moved(
        self, weights: np.ndarray, counts: np.ndarray, pull: np.ndarray, normals: np.ndarray, info: RoundInfo
    ) -> np.ndarray:
        """Q of some rows after a step, (n_ids, n_columns) like Q before it, S and N; N says which columns there are."""
        rate, n = self.rate(info.step), normals.shape[1]
        drift = self.prior + info.total_docs / info.n_docs * counts[:, :n] - pull[:n] * weights[:, :n]
        after = np.zeros(weights.shape)
        after[:, :n] = np.abs(weights[:, :n] + rate * drift + np.sqrt(2.0 * rate * weights[:, :n]) * normals)
        return after


@dataclass(frozen=True)
class Langevin(LangevinStep):
    """Every row moves at every update; `lazy_langevin` does without."""

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the whole axis: a normal number for each weight. A minibatch of no documents changes nothing."""
        if info.n_docs == 0:
            return
        pull = self.pull(array.totals(), stats, info)
        for rows, counts in _blocks(stats, array):
            streams = generators(info.seed, info.step, rows)
            normals = np.stack([stream.standard_normal(array.n_components) for stream in streams])
            after = self.moved(array.gather(rows), counts, pull, normals, info)
            array.add(AxisStats(rows, after), row_decay=np.zeros(len(rows)))
        array.fold()


def _blocks(stats: AxisStats, array: MutableArray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All rows, some at a time, with their statistics."""
    ids = np.arange(array.n_rows) if stats.ids is None else stats.ids
    for start in range(0, array.n_rows, BLOCK_ROWS):
        rows = np.arange(start, min(start + BLOCK_ROWS, array.n_rows), dtype=np.int32)
        own = (ids >= start) & (ids <= rows[-1])
        counts = np.zeros((len(rows), array.n_columns))
        counts[ids[own] - start] = stats.values[own]
        yield rows, counts


def generators(seed: int, step: int, rows: np.ndarray) -> Iterator[np.random.Generator]:
    """For each row the generator of its numbers at this update: one object, whose numbers the next one replaces."""
    philox = np.random.Philox(key=seed % (1 << 64))
    generator, state = np.random.Generator(philox), philox.state
    for row in rows:
        state["state"]["counter"] = np.array([0, 0, step, row], np.uint64)
        philox.state = state
        yield generator


LARGEST_MEAN = 1e12  # of a Poisson number, beyond which it is its mean to six digits


@dataclass(frozen=True)
class LazyLangevin(LangevinStep):
    """Rows move when a minibatch has them, and once more at the end."""

    companions: ClassVar = {"missed": ArraySpec("", normalised_over=None, dtype="float64")}

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`, and the axis in the last update. A minibatch of no documents changes nothing."""
        if info.n_docs == 0:
            return
        missed, n = info.companions["missed"], array.n_components
        longest = np.zeros(array.n_columns)
        longest[:n] = missed.prior[0]
        expected = array.totals() + self.prior * (array.n_rows * longest + missed.totals())
        pull = self.pull(expected, stats, info)
        ids = np.arange(array.n_rows, dtype=np.int32) if stats.ids is None else stats.ids
        weights, normals = self._caught_up(array, missed, ids, info)
        after = self.moved(weights, stats.values, pull, normals, info)
        fade, grown = _fade_and_growth(pull, self.rate(info.step))
        nothing = np.zeros(len(ids))
        array.add(AxisStats(ids, after), decay=fade, row_decay=nothing)
        longest[:n] = (longest * fade + grown)[:n]
        missed.add(AxisStats(ids, np.tile(-longest, (len(ids), 1))), decay=fade, row_decay=nothing)
        missed.set_prior(longest[None, :n])
        if info.step == info.n_steps:
            self._catch_up(array, missed, info)

    def _caught_up(
        self, array: MutableArray, missed: MutableArray, ids: np.ndarray, info: RoundInfo
    ) -> tuple[np.ndarray, np.ndarray]:
        """Q of these rows, (n_ids, n_columns), after all they missed, and normal numbers (n_ids, n_components)."""
        weights, n = np.array(array.gather(ids), np.float64), array.n_components
        taus = np.maximum(missed.gather(ids)[:, :n], 0.0)  # rounding may leave a little of 0
        normals = np.empty((len(ids), n))
        for i, stream in enumerate(generators(info.seed, info.step, ids)):
            normals[i] = stream.standard_normal(n)  # the first numbers, as in `langevin`
            weights[i, :n] = _transition(weights[i, :n], taus[i], self.prior, stream)
        return weights, normals

    def _catch_up(self, array: MutableArray, missed: MutableArray, info: RoundInfo) -> None:
        """All rows make up for what they missed."""
        for start in range(0, array.n_rows, BLOCK_ROWS):
            rows = np.arange(start, min(start + BLOCK_ROWS, array.n_rows), dtype=np.int32)
            weights, _ = self._caught_up(array, missed, rows, info)
            array.add(AxisStats(rows, weights), row_decay=np.zeros(len(rows)))
            missed.add(AxisStats(rows, -missed.gather(rows)))


def _fade_and_growth(pull: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """The effect of an update on rows without counts: exp(-a), and the growth of tau, each (n_columns,)."""
    return np.exp(-rate * pull), -np.expm1(-rate * pull) / pull


def _transition(faded: np.ndarray, tau: np.ndarray, prior: float, stream: np.random.Generator) -> np.ndarray:
    """Weights of a row, of which `faded` = Q exp(-A) would be left without noise and prior; tau 0 leaves it."""
    moves = tau > 0
    mean = np.where(moves, faded / np.where(moves, tau, 1.0), 0.0)
    drawn = tau * stream.standard_gamma(prior + stream.poisson(np.minimum(mean, LARGEST_MEAN)))
    return np.where(moves & (mean < LARGEST_MEAN), drawn, faded)


SCHEME = Langevin
FURTHER = {"lazy_langevin": LazyLangevin}

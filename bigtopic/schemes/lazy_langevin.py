"""Langevin dynamics whose updates cost the minibatch's words alone: what other words missed is one draw, made later.

Without counts of its own, a weight of `langevin` follows a Cox-Ingersoll-Ross process, whose law after any time is
known: dQ = (prior - r Q) de + sqrt(2 Q) dW. Over the updates t that a row missed, with a_t = e_t r_t of its column,

    Q <- tau Gamma(prior + Poisson(Q exp(-A) / tau), 1)
    A = sum_t a_t,    tau = sum_t e_t (1 - exp(-a_t)) / a_t exp(-A_t),    A_t the sum of a over the updates after t

Rows of a minibatch make up for what they missed, and then take the step of `langevin`. Until then, the array holds
Q exp(-A), which its lazy scale does for all rows at once, and which is what kernels read: the expected weight, but for
prior * tau. tau of each row is a companion array: its prior is tau of a row that missed all updates, and the statistics
of a row, which fade like Q, subtract what was there when it last moved.

The last update of a run of known length makes up for all rows, so that its topics are a sample.

Reference: Cox, Ingersoll, Ross (1985), "A theory of the term structure of interest rates"; Patterson and Teh (2013)
for the dynamics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.schemes._noise import generators
from bigtopic.schemes.langevin import BLOCK_ROWS, LangevinStep
from bigtopic.types import ArraySpec, AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "LazyLangevin"]

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
        fade, grown = _missing(pull, self.rate(info.step))
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


def _missing(pull: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """What an update does to rows without counts: exp(-a), and the growth of tau, each (n_columns,)."""
    return np.exp(-rate * pull), -np.expm1(-rate * pull) / pull


def _transition(faded: np.ndarray, tau: np.ndarray, prior: float, stream: np.random.Generator) -> np.ndarray:
    """Weights of a row, of which `faded` = Q exp(-A) would be left without noise and prior; tau 0 leaves it."""
    moves = tau > 0
    mean = np.where(moves, faded / np.where(moves, tau, 1.0), 0.0)
    drawn = tau * stream.standard_gamma(prior + stream.poisson(np.minimum(mean, LARGEST_MEAN)))
    return np.where(moves & (mean < LARGEST_MEAN), drawn, faded)


SCHEME = LazyLangevin

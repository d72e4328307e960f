"""Samples of the topics by stochastic gradient Langevin dynamics on the simplex, in the expanded mean.

The array holds Q, independent weights of every word, of which the topics beta are the shares. With e the step size, N
standard normal, and scale = (documents of the corpus) / (documents of the minibatch):

    Q_vk <- | Q_vk + e (prior + scale S_vk - r_k Q_vk) + sqrt(2 e Q_vk) N_vk |
    r_k = 1 + scale S_k / Q_k,    S_k = sum_v S_vk,    Q_k = sum_v Q_vk
    e_t = step_size (1 + t / learning_offset)^-learning_decay, at most 1

r_k Q_vk is Q_vk + scale beta_vk S_k. Without data, Q_vk has the stationary law Gamma(prior, 1) for small e. The array
must have no prior of its own: see `prior`.

Reference: Patterson and Teh (2013), "Stochastic gradient Riemannian Langevin dynamics on the probability simplex",
whose e is twice this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.schemes._noise import generators
from bigtopic.schemes.schedule import check, is_number, robbins_monro
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "Langevin", "LangevinStep"]

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


SCHEME = Langevin

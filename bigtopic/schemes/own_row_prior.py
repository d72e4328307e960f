"""The prior of an array's rows moves towards the one that the array's own rows make likeliest.

    alpha <- alpha + rho_t (Newton's step at t)

Each row i of the array, such as an author, is a distribution over its columns with the prior alpha, and t_k is the mean
over rows of E[log theta_ik] = psi(weights_ik) - psi(sum_k weights_ik), weights = alpha + statistics. Every row counts
once, however many documents it has. `dirichlet` has the step.

The mean over the axis would cost all rows in every update. A minibatch takes it over as many rows, drawn at random, as
it has itself; only where it is the whole corpus, over all.

References: Blei, Ng, Jordan (2003), appendix A.4.2; Mortensen (2017), "The author-topic model", section 2.6, whose
gradient has a sign wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.schemes.dirichlet import LearnedPrior, newton_step
from bigtopic.schemes.own_prior import sampled_rows
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "OwnRowPrior"]


@dataclass(frozen=True)
class OwnRowPrior(LearnedPrior):
    """One step of Newton's method, after the step of the array itself.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold, begin : see `LearnedPrior`
    shape : "symmetric" for one number, "asymmetric" for one per column
    same : another array that has the same prior, or ""
    """

    sets_prior: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    names_arrays: ClassVar[tuple[str, ...]] = ("same",)

    same: str = ""

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs as many rows as `stats` has, or, where the minibatch is the whole corpus, the axis; nothing while the
        prior rests."""
        if self.rests(info):
            return
        sums = [_sum_of_logs(array, ids) for ids in sampled_rows(array, stats, info)]
        n_rows = sum(n for _, n in sums)
        logs = np.sum([one for one, _ in sums], axis=0) / n_rows
        prior = np.broadcast_to(array.prior.mean(axis=0), array.n_components)
        moved = self._moved(prior, logs)
        after = np.ascontiguousarray((prior + self.share(info) * (moved - prior))[None, :])
        array.set_prior(after)
        if self.same:
            info.arrays[self.same].set_prior(after)

    def _moved(self, prior: np.ndarray, logs: np.ndarray) -> np.ndarray:
        if self.shape == "asymmetric":
            return newton_step(prior, logs)
        one = newton_step(prior.mean(keepdims=True), logs.mean(keepdims=True), repeats=len(prior))
        return np.repeat(one, len(prior))


def _sum_of_logs(array: MutableArray, ids: np.ndarray) -> tuple[np.ndarray, int]:
    """The sum over these rows of E[log theta], (n_components,), and their number."""
    from scipy.special import psi

    weights = array.gather(ids)[:, : array.n_components].astype(np.float64)
    logs = psi(weights) - psi(weights.sum(axis=1, keepdims=True))
    return logs.sum(axis=0), len(ids)


SCHEME = OwnRowPrior

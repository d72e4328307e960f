"""Dirichlet parameters move towards their maximum-likelihood values: the prior of documents' topics is learned.

    alpha <- alpha + rho_t (Newton's step at the means t_k = S_k / n_docs)

S_k is the sum of E[log theta_dk] over documents, given the prior that they were inferred with. So this is the M-step of
EM, and with rho_t = 1 the likelihood, or its bound, does not fall. `dirichlet` has the step.

References: Blei, Ng, Jordan (2003), appendix A.4.2; Hoffman, Blei, Bach (2010), "Online learning for latent Dirichlet
allocation", section 3.3, for minibatches.

`FixedPoint` does the same by Minka's fixed-point iteration.

    alpha <- alpha + rho_t (psi^-1(t + psi(sum alpha)) - alpha)

Its step is shorter, needs no halving, and ends at the same parameters.

References: Minka (2000), "Estimating a Dirichlet distribution", section 1; Dupuy and Bach (2017), "Online but accurate
inference for latent variable models with local Gibbs sampling", whose code iterates it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.schemes.dirichlet import LearnedPrior, fixed_point_step, newton_step
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["FURTHER", "SCHEME", "FixedPoint", "Newton"]


@dataclass(frozen=True)
class Newton(LearnedPrior):
    """One step of Newton's method; each row of the array is one prior. For the settings see `LearnedPrior`."""

    takes_expected_logs: ClassVar[bool] = True

    shape: str = "asymmetric"
    moved: ClassVar[Callable[..., np.ndarray]] = staticmethod(newton_step)

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`; nothing while the prior rests."""
        if self.rests(info):
            return
        n, share = array.n_components, self.share(info)
        change = np.zeros(stats.values.shape)
        rows = array.gather(stats.ids)[:, :n].astype(np.float64)
        for row, logs, out in zip(rows, stats.values[:, :n] / info.n_docs, change[:, :n], strict=True):
            out[:] = share * (self.updated(row, logs, type(self).moved) - row)
        array.add(AxisStats(stats.ids, change))


@dataclass(frozen=True)
class FixedPoint(Newton):
    """One step of the iteration; each row of the array is one prior. For the settings see `LearnedPrior`."""

    moved: ClassVar[Callable[..., np.ndarray]] = staticmethod(fixed_point_step)


SCHEME = Newton
FURTHER = {"fixed_point": FixedPoint}

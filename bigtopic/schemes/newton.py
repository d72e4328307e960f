"""Dirichlet parameters move towards those that the documents make likeliest: the prior of their topics is learned.

    alpha <- alpha + rho_t (Newton's step at the means t_k = S_k / n_docs)

The statistics S_k sum E[log theta_dk] over documents, given the prior that the documents were inferred with. So this is
the M-step of EM, and with rho_t = 1 the likelihood, or its bound, does not fall. `dirichlet` has the step.

References: Blei, Ng, Jordan (2003), appendix A.4.2; Hoffman, Blei, Bach (2010), "Online learning for latent Dirichlet
allocation", section 3.3, for minibatches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtopic.schemes.dirichlet import check_shape, newton_step, rate
from bigtopic.schemes.schedule import check
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "Newton"]


@dataclass(frozen=True)
class Newton:
    """One step of Newton's method; each row of the array is a prior of its own.

    Parameters
    ----------
    shape : "symmetric" for one number, "asymmetric" for one per topic
    learning_decay, learning_offset : of the step size (offset + t) ** -decay, in the literature kappa and tau; not
        used where the minibatch is the whole corpus, which takes full steps

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    shape: str = "asymmetric"
    learning_decay: float = 0.7
    learning_offset: float = 1.0

    def __post_init__(self) -> None:
        check_shape(self.shape)
        check(self.learning_decay, self.learning_offset)

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`. A minibatch without documents changes nothing."""
        if info.n_docs == 0:
            return
        n, share = array.n_components, rate(info, self.learning_decay, self.learning_offset)
        change = np.zeros(stats.values.shape)
        rows = array.gather(stats.ids)[:, :n].astype(np.float64)
        for row, logs, way in zip(rows, stats.values[:, :n] / info.n_docs, change[:, :n], strict=True):
            way[:] = share * (self._moved(row, logs) - row)
        array.add(AxisStats(stats.ids, change))

    def _moved(self, prior: np.ndarray, mean_logs: np.ndarray) -> np.ndarray:
        if self.shape == "asymmetric":
            return newton_step(prior, mean_logs)
        mean, mean_log = prior.mean(keepdims=True), mean_logs.mean(keepdims=True)
        return newton_step(mean, mean_log, repeats=len(prior))


SCHEME = Newton

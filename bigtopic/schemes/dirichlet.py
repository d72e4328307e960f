"""The Dirichlet parameters that means of logarithms make likeliest, by Newton's method.

Of rows p ~ Dirichlet(a) only t_k, the mean of E[log p_k], is known. The mean log likelihood of a row,

    F(a) = lgamma(sum a) - sum_k lgamma(a_k) + sum_k (a_k - 1) t_k,

is concave, and its Hessian is a diagonal plus a constant, so a step of Newton's method costs O(K):

    g_k = psi(sum a) - psi(a_k) + t_k,    q_k = -psi1(a_k),    z = psi1(sum a)
    a_k <- a_k - (g_k - b) / q_k,    b = sum_k (g_k / q_k) / (1 / z + sum_k 1 / q_k)

The step is halved until all a_k are positive and F does not fall. Parameters stay within LEAST .. MOST, because rows
that are all alike, or that lack a component, have no maximum; one that would leave these limits rests, and the others
take a step of their own. Where R components share each a_k, sum a is R times the sum of the different ones, and z is
R psi1(sum a): with one a_k this is the symmetric Dirichlet distribution.

References: Blei, Ng, Jordan (2003), "Latent Dirichlet allocation", appendices A.2 and A.4.2; Minka (2000), "Estimating
a Dirichlet distribution".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.schemes.schedule import LearningRate
from bigtopic.types import RoundInfo

__all__ = ["LEAST", "MOST", "SHAPES", "LearnedPrior", "gradient", "log_likelihood", "newton_step"]

SHAPES = ("symmetric", "asymmetric")
LEAST, MOST = 1e-4, 1e4
_HALVINGS = 50


def log_likelihood(prior: np.ndarray, mean_logs: np.ndarray, repeats: int = 1) -> float:
    """F, in nats per row; `repeats` components share each of the parameters, all arrays are (n,)."""
    from scipy.special import gammaln

    terms = (prior - 1.0) * mean_logs - gammaln(prior)
    return float(gammaln(repeats * prior.sum()) + repeats * terms.sum())


def gradient(prior: np.ndarray, mean_logs: np.ndarray, repeats: int = 1) -> np.ndarray:
    """The derivatives of F by each of the parameters, divided by `repeats`; (n,)."""
    from scipy.special import psi

    slopes: np.ndarray = psi(repeats * prior.sum()) - psi(prior) + mean_logs
    return slopes


def newton_step(prior: np.ndarray, mean_logs: np.ndarray, repeats: int = 1) -> np.ndarray:
    """The parameters after one step, float64 (n,), within LEAST .. MOST; those given where no step is uphill."""
    if len(prior) * repeats == 1:  # the only distribution over one component
        return prior
    way, before = _way(prior, mean_logs, repeats), log_likelihood(prior, mean_logs, repeats)
    for _ in range(_HALVINGS):
        if np.all(prior + way > 0):
            moved: np.ndarray = np.clip(prior + way, LEAST, MOST)
            if log_likelihood(moved, mean_logs, repeats) >= before:
                return moved
        way = way / 2
    return prior


def _way(prior: np.ndarray, mean_logs: np.ndarray, repeats: int) -> np.ndarray:
    from scipy.special import polygamma

    g, q = gradient(prior, mean_logs, repeats), -polygamma(1, prior)
    z = repeats * polygamma(1, repeats * prior.sum())
    free = ~((prior <= LEAST) & (g < 0) | (prior >= MOST) & (g > 0))
    b = (g / q)[free].sum() / (1.0 / z + (1.0 / q)[free].sum())
    return np.where(free, -(g - b) / q, 0.0)


@dataclass(frozen=True)
class LearnedPrior(LearningRate):
    """Settings of the schemes that learn a prior.

    Parameters
    ----------
    shape : "symmetric" for one number, "asymmetric" for one per topic or row
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`; not used where
        the minibatch is the whole corpus, which takes full steps

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    learning_offset: float = 1.0
    shape: str = "symmetric"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape not in SHAPES:
            raise SettingError(f"shape={self.shape!r}: must be one of {', '.join(SHAPES)}")

    def share(self, info: RoundInfo) -> float:
        """The share of a step that an update takes."""
        return 1.0 if info.n_docs >= info.total_docs else self.schedule()(info.step, info.n_steps)

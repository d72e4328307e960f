"""Maximum-likelihood parameters of a Dirichlet distribution, from means of logarithms, by Newton's method.

Of the rows p ~ Dirichlet(a), only t_k, the mean of E[log p_k], is known. The mean log likelihood of a row,

    F(a) = lgamma(sum a) - sum_k lgamma(a_k) + sum_k (a_k - 1) t_k,

is concave, and its Hessian is a diagonal plus a constant, so a step of Newton's method costs O(K):

    g_k = psi(sum a) - psi(a_k) + t_k,    q_k = -psi1(a_k),    z = psi1(sum a)
    a_k <- a_k - (g_k - b) / q_k,    b = sum_k (g_k / q_k) / (1 / z + sum_k 1 / q_k)

The step is halved until all a_k are positive and F does not fall. Parameters stay within LEAST .. MOST, because rows
that are all alike, or that lack a component, have no maximum; a parameter that would leave these limits stays, and the
others take the step of a smaller problem. Where R components share each a_k, sum a is R times the sum of the distinct
ones, and z is R psi1(sum a): with one a_k this is the symmetric Dirichlet distribution.

The fixed-point iteration maximises a lower bound of F that touches it at the present a. It needs no halving, and more
steps:

    a_k <- psi^-1(t_k + psi(sum a))

References: Blei, Ng, Jordan (2003), "Latent Dirichlet allocation", appendices A.2 and A.4.2; Minka (2000), "Estimating
a Dirichlet distribution".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument, warn
from bigtopic.schemes.schedule import LearningRate, first_update_after
from bigtopic.support.numbers import is_number
from bigtopic.types import RoundInfo

__all__ = [
    "LEAST",
    "MOST",
    "SHAPES",
    "LearnedPrior",
    "check_shape",
    "dirichlet_mle",
    "fixed_point_step",
    "gradient",
    "inverse_digamma",
    "log_likelihood",
    "newton_step",
]

SHAPES = ("symmetric", "asymmetric")
LEAST, MOST = 1e-4, 1e4
MOST_STEPS = 1000.0  # of `LearnedPrior.begin`
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
    """The parameters after one step, float64 (n,), within LEAST .. MOST; unchanged where no step increases F."""
    if len(prior) * repeats == 1:  # the only distribution over one component
        return prior
    prior = np.clip(prior, LEAST, MOST)
    direction, before = _direction(prior, mean_logs, repeats), log_likelihood(prior, mean_logs, repeats)
    for _ in range(_HALVINGS):
        if np.all(prior + direction > 0):
            moved: np.ndarray = np.clip(prior + direction, LEAST, MOST)
            if log_likelihood(moved, mean_logs, repeats) >= before:
                return moved
        direction = direction / 2
    return prior


def _direction(prior: np.ndarray, mean_logs: np.ndarray, repeats: int) -> np.ndarray:
    from scipy.special import polygamma

    g, q = gradient(prior, mean_logs, repeats), -polygamma(1, prior)
    z = repeats * polygamma(1, repeats * prior.sum())
    free = ~((prior <= LEAST) & (g < 0) | (prior >= MOST) & (g > 0))
    b = (g / q)[free].sum() / (1.0 / z + (1.0 / q)[free].sum())
    return np.where(free, -(g - b) / q, 0.0)


def fixed_point_step(prior: np.ndarray, mean_logs: np.ndarray, repeats: int = 1) -> np.ndarray:
    """The parameters after one step of Minka's iteration, float64 (n,), within LEAST .. MOST."""
    from scipy.special import psi

    if len(prior) * repeats == 1:
        return prior
    moved: np.ndarray = np.clip(inverse_digamma(mean_logs + psi(repeats * prior.sum())), LEAST, MOST)
    return moved


def inverse_digamma(values: np.ndarray) -> np.ndarray:
    """The positive numbers whose psi is `values`; Minka (2000), appendix C: five steps of Newton's method."""
    from scipy.special import polygamma, psi

    found: np.ndarray = np.where(
        values >= -2.22, np.exp(values) + 0.5, -1 / (np.minimum(values, -2.22) - psi(1))
    )
    for _ in range(5):
        found = found - (psi(found) - values) / polygamma(1, found)
    return found


_SOLVERS = {"newton": newton_step, "fixed_point": fixed_point_step}


def dirichlet_mle(
    mean_logs: Any,
    *,
    shape: str = "asymmetric",
    solver: str = "newton",
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> np.ndarray:
    """Maximum-likelihood parameters of the Dirichlet distribution of some rows, float64 (n,).

    Parameters
    ----------
    mean_logs : (n,), the mean over rows of log p, or of its expectation where the rows are not known themselves
    shape : "asymmetric", or "symmetric" for parameters that are all equal
    solver : "newton", or "fixed_point" for Minka's iteration: cheaper steps, but hundreds of them
    tol : stop when a step changes no parameter by more than this, relative to it
    max_iter : the most steps; a warning says if they were not enough

    Raises
    ------
    SettingError
        When `mean_logs` are not (n,) finite numbers of at most 0, or there is no such shape or solver.

    References
    ----------
    Minka (2000), "Estimating a Dirichlet distribution", section 1.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).dirichlet([0.5, 1.0, 2.0], 100_000)
    >>> dirichlet_mle(np.log(rows).mean(axis=0)).round(1)
    array([0.5, 1. , 2. ])
    """
    logs = _checked(mean_logs, shape, solver)
    repeats = len(logs) if shape == "symmetric" else 1
    means = logs.mean(keepdims=True) if shape == "symmetric" else logs
    prior = np.ones(len(means))
    for _ in range(max_iter):
        before, prior = prior, _SOLVERS[solver](prior, means, repeats)
        if np.all(np.abs(prior - before) <= tol * before):
            return np.repeat(prior, repeats)
    warn(f"max_iter={max_iter} steps of solver={solver!r} did not reach tol={tol!r}; raise one of them")
    return np.repeat(prior, repeats)


def _checked(mean_logs: Any, shape: str, solver: str) -> np.ndarray:
    try:
        logs = np.asarray(mean_logs, np.float64)
    except (TypeError, ValueError):
        logs = np.zeros(0)
    if logs.ndim != 1 or not len(logs) or not np.isfinite(logs).all() or (logs > 0).any():
        raise SettingError(
            f"mean_logs={mean_logs!r:.60}: must be (n,) finite numbers, means of logarithms of shares"
        )
    for name, value, allowed in (("shape", shape, SHAPES), ("solver", solver, tuple(_SOLVERS))):
        if value not in allowed:
            raise SettingError(f"{argument(name, value)}: must be one of {', '.join(allowed)}")
    return logs


def check_shape(shape: str) -> None:
    """Raises SettingError when it is none of `SHAPES`."""
    if shape not in SHAPES:
        raise SettingError(f"shape={shape!r}: must be one of {', '.join(SHAPES)}")


@dataclass(frozen=True)
class LearnedPrior(LearningRate):
    """Settings of the schemes that learn a prior.

    Parameters
    ----------
    shape : "symmetric" for one number, "asymmetric" for one per topic or row
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`; not used where
        the minibatch is the whole corpus, which takes full steps
    begin : whole steps after which learning begins: the prior rests until the step sizes of the run's updates sum to
        more than this, 0 for the first update. Where the minibatch is the whole corpus, these are passes. Topics begin
        alike, and alike topics have large priors, which would keep them alike; after many steps they fit their
        documents too closely, and their prior is too small. See docs/decisions/learned-priors.md

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    learning_offset: float = 1.0
    shape: str = "symmetric"
    begin: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape(self.shape)
        if not is_number(self.begin) or not 0.0 <= self.begin <= MOST_STEPS:
            raise SettingError(f"begin={self.begin!r}: must be between 0 and {MOST_STEPS:g} whole steps")

    def rests(self, info: RoundInfo) -> bool:
        """Whether this update leaves the prior as it is: before the first one that learns, and without documents."""
        return info.n_docs == 0 or info.step < self.first_update(info.n_docs >= info.total_docs)

    def first_update(self, whole: bool) -> float:
        """The update that learns first, from 1, where minibatches are the whole corpus or not; see `begin`."""
        return int(self.begin) + 1 if whole else first_update_after(self.begin, self)

    def updated(
        self, prior: np.ndarray, mean_logs: np.ndarray, step: Callable[..., np.ndarray] = newton_step
    ) -> np.ndarray:
        """The prior, (n,), after one whole step of its shape.

        Parameters
        ----------
        prior, mean_logs : (n,), see `newton_step`
        step : `newton_step` or `fixed_point_step`
        """
        if self.shape == "asymmetric":
            return step(prior, mean_logs)
        one = step(prior.mean(keepdims=True), mean_logs.mean(keepdims=True), repeats=len(prior))
        return np.repeat(one, len(prior))

    def share(self, info: RoundInfo) -> float:
        """The share of a step that an update takes."""
        return 1.0 if info.n_docs >= info.total_docs else self.rate(info._replace(missed=0))

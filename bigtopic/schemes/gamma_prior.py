"""Dirichlet parameters that each have a Gamma distribution, to which every minibatch adds: the prior of SPLDA.

Each alpha_k begins as the mode of Gamma(1 + b_0 alpha_0k, b_0), b_0 = `RATE`, with alpha_0 the prior that was given.
Over the documents of a minibatch, with n the tokens by topic, the likelihood of alpha has a lower bound of that form,
which touches it at the present alpha:

    a_k = alpha_k (mean psi(alpha_k + n_dk) - psi(alpha_k)),    b = mean psi(sum alpha + n_d) - psi(sum alpha)
    A_k += a_k,  B += b,    alpha_k <- (b_0 alpha_0k + A_k) / (b_0 + B)

With the gradient g_k of the mean log likelihood (see `dirichlet`), a_k = alpha_k (g_k + b). So alpha stops at the
maximum of the likelihood, and b only sets the size of the steps. b is taken for a document of the mean length, which
is exact for one document per update. A minibatch counts as one document and none is forgotten: steps shrink as 1 / t.
Where inner iterations move alpha, a and b are of the alpha that the statistics were computed with.

References: Sato, Kurihara, Nakagawa (2010), "Deterministic single-pass algorithm for LDA"; Minka (2000), "Estimating a
Dirichlet distribution", for the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.schemes.dirichlet import LEAST, MOST, check_shape, gradient
from bigtopic.types import ArraySpec, AxisStats, MutableArray, RoundInfo

__all__ = ["RATE", "SCHEME", "GammaPrior"]

RATE = 0.5


@dataclass(frozen=True)
class GammaPrior:
    """The mode of the Gamma distributions; each row of the array is one prior.

    Parameters
    ----------
    shape : "symmetric" for one number, "asymmetric" for one per topic

    Raises
    ------
    SettingError
        When there is no such shape.
    """

    takes_expected_logs: ClassVar[bool] = True
    companions: ClassVar[dict[str, ArraySpec]] = {
        "shapes": ArraySpec("none", dtype="float64"),
        "rates": ArraySpec("none", dtype="float64"),
    }

    shape: str = "asymmetric"

    def __post_init__(self) -> None:
        check_shape(self.shape)

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`. A minibatch without documents changes nothing."""
        if info.n_docs == 0:
            return
        n, ids = array.n_components, stats.ids
        prior = array.gather(ids)[:, :n].astype(np.float64)
        seen = prior if info.stats is None or info.stats.prior is None else info.stats.prior[None]
        shapes, rates = self._bound(seen, stats.values[:, :n] / info.n_docs, info.n_tokens / info.n_docs)
        for name, values in (("shapes", shapes), ("rates", rates)):
            info.companions[name].add(AxisStats(ids, _padded(values, array)))
        a, b = (info.companions[name].gather(ids)[:, :n] for name in ("shapes", "rates"))
        first = np.broadcast_to(array.prior, (array.n_rows, n))[slice(None) if ids is None else ids]
        moved = np.clip((RATE * first + a) / (RATE + b), LEAST, MOST)
        array.add(AxisStats(ids, _padded(moved - prior, array)))

    def _bound(
        self, prior: np.ndarray, mean_logs: np.ndarray, length: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """a and b of each row, (n_ids, n_components); not negative but for rounding."""
        from scipy.special import psi

        whole = prior.sum(axis=1, keepdims=True)
        rates = np.broadcast_to(psi(whole + length) - psi(whole), prior.shape)
        slopes = np.array([gradient(*row) for row in zip(prior, mean_logs, strict=True)])
        shapes = prior * np.maximum(slopes + rates, 0.0)
        if self.shape == "symmetric":
            shapes = np.broadcast_to(shapes.mean(axis=1, keepdims=True), prior.shape)
        return shapes, rates


def _padded(values: np.ndarray, array: MutableArray) -> np.ndarray:
    rows = np.zeros((len(values), array.n_columns))
    rows[:, : array.n_components] = values
    return rows


SCHEME = GammaPrior

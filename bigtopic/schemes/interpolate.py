"""Weights move a step towards what they would be if the whole corpus were like this minibatch.

    weights <- (1 - rho_t) weights + rho_t (prior + scale S),    rho_t = (offset + t)^-decay

`scale` is (documents of the corpus) / (documents of the minibatch), or the same of tokens. The prior is
constant, so moving the statistics alone is the same.

References: Hoffman, Blei, Wang, Paisley (2013), "Stochastic variational inference", algorithm of figure 4 (by
documents); Foulds et al. (2013), "Stochastic collapsed variational Bayesian inference for LDA" (by tokens).
"""

from __future__ import annotations

from dataclasses import dataclass

from bigtopic.errors import SettingError
from bigtopic.schemes.schedule import check, robbins_monro
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "Interpolate"]

SCALES = ("documents", "tokens")


@dataclass(frozen=True)
class Interpolate:
    """Stochastic natural-gradient step.

    Parameters
    ----------
    learning_decay : in the literature kappa
    learning_offset : in the literature tau; larger trusts the first minibatches less
    scale : "documents" or "tokens", what the minibatch's share of the corpus is measured in

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    learning_decay: float = 0.7
    learning_offset: float = 10.0
    scale: str = "documents"

    def __post_init__(self) -> None:
        check(self.learning_decay, self.learning_offset)
        if self.scale not in SCALES:
            raise SettingError(f"scale={self.scale!r}: must be one of {', '.join(SCALES)}")

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`. A minibatch of size 0 moves nothing."""
        if self.scale == "documents":
            size, total = float(info.n_docs), info.total_docs
        else:
            size, total = info.n_tokens, info.total_tokens
        if size == 0:
            return
        rate = robbins_monro(info.step, self.learning_decay, self.learning_offset)
        array.add(stats, weight=rate * total / size, decay=1.0 - rate)


SCHEME = Interpolate

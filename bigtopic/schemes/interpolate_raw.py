"""Statistics move a step towards their mean per document of the minibatch: no prior, and no size of the corpus.

    S <- (1 - rho_t) S + rho_t S_batch / n_docs,    rho_t = s (offset + t)^-decay

It is the online expectation-maximisation of a model of the exponential family: topics are S divided by its totals, so
its scale does not matter. In double precision, because a word that a topic loses fades as the product of all 1 - rho.

References: Cappe and Moulines (2009), "On-line expectation-maximization algorithm for latent data models"; Dupuy and
Bach (2017), "Online but accurate inference for latent variable models with local Gibbs sampling".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bigtopic.schemes.schedule import PlainStep
from bigtopic.types import RoundInfo

__all__ = ["SCHEME", "InterpolateRaw"]


@dataclass(frozen=True)
class InterpolateRaw(PlainStep):
    """Every document counts alike, however large minibatch and corpus are.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    learning_decay: float | None = 0.5
    learning_offset: float = 1.0
    dtype: ClassVar[str] = "float64"
    averages_documents: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True

    def factors(self, info: RoundInfo) -> tuple[float, float]:
        """A minibatch without documents changes nothing."""
        if info.n_docs == 0:
            return 0.0, 1.0
        rate = self.rate(info)
        return rate / info.n_docs, 1.0 - rate


SCHEME = InterpolateRaw

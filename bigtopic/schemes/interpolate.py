"""Weights move a step towards what they would be if the whole corpus were like this minibatch.

    weights <- (1 - rho_t) weights + rho_t (prior + scale S),    rho_t = s (offset + t)^-decay

`scale` is (documents of the corpus) / (documents of the minibatch), or the same of tokens. The prior is
constant, so moving the statistics alone is the same.

References: Hoffman, Blei, Wang, Paisley (2013), "Stochastic variational inference", algorithm of figure 4 (by
documents); Foulds et al. (2013), "Stochastic collapsed variational Bayesian inference for LDA" (by tokens).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bigtopic.errors import SettingError
from bigtopic.schemes.schedule import PlainStep, decaying_end, is_number, made_up
from bigtopic.types import RoundInfo

__all__ = ["SCHEME", "Interpolate"]

SCALES = ("documents", "tokens")


@dataclass(frozen=True)
class Interpolate(PlainStep):
    """Stochastic natural-gradient step.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`
    scale : unit of the minibatch's share of the corpus: "documents" or "tokens"
    end : share of the run's updates, at its end, in which the step falls to the minibatch's share of the corpus; 0 for
        none. No effect on a stream, whose end is unknown

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    is_linear: ClassVar[bool] = True

    scale: str = "documents"
    end: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale not in SCALES:
            raise SettingError(f"scale={self.scale!r}: must be one of {', '.join(SCALES)}")
        if not is_number(self.end) or not 0.0 <= self.end <= 1.0:
            raise SettingError(f"end={self.end!r}: must be a share of the updates, from 0 to 1")

    def factors(self, info: RoundInfo) -> tuple[float, float]:
        """A minibatch of size 0 changes nothing."""
        if self.scale == "documents":
            size, total = float(info.n_docs), info.total_docs
        else:
            size, total = info.n_tokens, info.total_tokens
        if size == 0:
            return 0.0, 1.0
        usual = self.schedule()
        schedule = decaying_end(usual, self.end, size / total) if self.end else usual
        rate = min(made_up(schedule(info.step, info.n_steps), info.missed), info.largest_step)
        return rate * total / size, 1.0 - rate


SCHEME = Interpolate

"""Each topic moves a step towards the word frequencies it has in this minibatch: no size of corpus, no prior.

    beta_k <- (1 - rho_t) beta_k + rho_t S_k / sum_v S_vk,    rho_t = s (offset + t)^-decay

A topic that received no mass stays where it is. The array may hold beta times any total T_k; T_k is kept (1
if the topic is still empty).

Reference: Than and Doan (2017), "Guaranteed inference in topic models", equation 21.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.schemes.schedule import LearningRate
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "InterpolateNormalised"]


@dataclass(frozen=True)
class InterpolateNormalised(LearningRate):
    """Every topic takes the same step, however many tokens it has in the minibatch.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    is_linear: ClassVar[bool] = True

    learning_decay: float | None = 0.9
    learning_offset: float = 1.0

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`."""
        rate = self.rate(info)
        mass = stats.totals()
        seen = mass > 0
        held = array.totals()
        target = np.where(held > 0, held, 1.0)
        weight = np.where(seen, rate * target / np.where(seen, mass, 1.0), 0.0)
        array.add(stats, weight=weight, decay=np.where(seen, 1.0 - rate, 1.0))


SCHEME = InterpolateNormalised

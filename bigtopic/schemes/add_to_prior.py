"""Each minibatch's posterior is the prior of the next: the first adds to the prior, later ones to the weights.

    weights <- prior + S        at the first update
    weights <- weights + S      afterwards

The initial statistics only tell the topics apart while the first minibatch is being inferred. With `inner` iterations,
a round starts from its prior and repeats weights = prior + S until S is that of the weights: streaming variational
Bayes (SVB). With one iteration it is `Add` that forgets what the weights began with: topics that were given draw the
first labels and are not counted.

Reference: Broderick et al. (2013), "Streaming variational Bayes".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "AddToPrior"]


@dataclass(frozen=True)
class AddToPrior:
    """Every token counts once, and nothing else does.

    In double precision like `Add`, because the sums only grow.
    """

    dtype: ClassVar[str] = "float64"
    takes_changes: ClassVar[bool] = True
    adds_up: ClassVar[bool] = True
    forgets_start: ClassVar[bool] = True

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`; the first update, the axis once."""
        array.add(stats, decay=0.0 if info.step == 1 else 1.0)


SCHEME = AddToPrior

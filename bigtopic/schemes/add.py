"""Weights grow by the statistics of each minibatch: streaming without a step size or the size of the corpus.

    weights <- weights + S

With `forgets_start`, the first update forgets what the statistics began with: topics that were given draw the first
labels, and are not counted.

Reference: Broderick et al. (2013), "Streaming variational Bayes", its sufficient statistics update; Than and
Doan (2017), equation 27 (the prior enters once).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "Add"]


@dataclass(frozen=True)
class Add:
    """Every token counts once, early or late.

    The sums only grow, and single-precision ones would stop growing at 2**24: hence the double-precision array.

    Parameters
    ----------
    forgets_start : whether nothing of what the statistics begin with is left after the first update. Not an option of
        users: a run with `init` sets it where the method begins with nothing
    """

    dtype: ClassVar[str] = "float64"
    takes_changes: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True

    forgets_start: bool = field(default=False, repr=False)

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`; the axis once, where the first update forgets."""
        array.add(stats, decay=0.0 if self.forgets_start and info.step == 1 else 1.0)


SCHEME = Add

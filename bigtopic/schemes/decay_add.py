"""Weights grow by the statistics of each minibatch, and forget: for streams whose topics drift.

    statistics <- decay (statistics + S)

The prior stays outside, and does not decay. After t minibatches of C_1, ..., C_t tokens the mass of the statistics is
sum_j decay^(t - j + 1) C_j; it tends to that of decay / (1 - decay) minibatches.

Reference: Gao, Chen, Zhu (2016), "Streaming Gibbs sampling for LDA model", algorithm 2, with the topics' totals
decayed, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bigtopic.errors import SettingError
from bigtopic.schemes.schedule import is_number
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "DecayAdd"]


@dataclass(frozen=True)
class DecayAdd:
    """A minibatch counts `decay` times once it is added, and `decay` times less after each update that follows.

    The array is in double precision, like that of `Add`, which is the case of decay 1.

    Parameters
    ----------
    decay : above 0 and at most 1, in the literature lambda; smaller for larger minibatches

    Raises
    ------
    SettingError
        When `decay` is outside its range.
    """

    dtype: ClassVar[str] = "float64"

    decay: float = 0.9

    def __post_init__(self) -> None:
        if not is_number(self.decay) or not 0.0 < self.decay <= 1.0:
            raise SettingError(f"decay={self.decay!r}: must be above 0 and at most 1")

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`. A minibatch without tokens is an update, too: older ones decay."""
        array.add(stats, weight=self.decay, decay=self.decay)


SCHEME = DecayAdd

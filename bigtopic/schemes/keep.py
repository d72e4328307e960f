"""An array stays as it is: what is counted for it is read by the schemes of other arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "Keep"]


@dataclass(frozen=True)
class Keep:
    """Nothing moves."""

    is_linear: ClassVar[bool] = True

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs nothing."""


SCHEME = Keep

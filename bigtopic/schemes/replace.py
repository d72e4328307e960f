"""Weights are replaced, or stay.

`Replace`: weights become prior + statistics of the whole pass: batch learning.

    weights <- prior + S

`ReplaceRows`: weights of the rows that occur become prior + their statistics, the weights of other rows stay: for rows
that depend on their own documents alone, such as authors whose documents are all in one minibatch.

    weights_i <- prior + S_i    for rows i of the statistics

`Keep`: an array stays as it is; the schemes of other arrays read its statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.support.numbers import is_whole
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["FURTHER", "SCHEME", "Keep", "Replace", "ReplaceRows"]


@dataclass(frozen=True)
class Replace:
    """Forget everything before this update."""

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the axis once."""
        array.add(stats, decay=0.0)


@dataclass(frozen=True)
class ReplaceRows:
    """Forget everything before this update about the rows that it has statistics for.

    Parameters
    ----------
    first : the rows before this one stay as they are, from 0

    Raises
    ------
    SettingError
        When `first` is not a whole number, 0 or more.
    """

    first: int = 0

    def __post_init__(self) -> None:
        if not is_whole(self.first) or self.first < 0:
            raise SettingError(f"first={self.first!r}: must be a whole number of rows, 0 or more")

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`."""
        if self.first:
            ids = np.arange(array.n_rows, dtype=np.int32) if stats.ids is None else stats.ids
            stats = AxisStats(ids[ids >= self.first], stats.values[ids >= self.first])
        array.add(stats, row_decay=np.zeros(len(stats.values)))


@dataclass(frozen=True)
class Keep:
    """Nothing moves."""

    is_linear: ClassVar[bool] = True

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs nothing."""


SCHEME = Replace
FURTHER = {"replace_rows": ReplaceRows, "keep": Keep}

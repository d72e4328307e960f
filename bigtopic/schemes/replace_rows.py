"""Weights of the rows seen become prior + their statistics, those of other rows stay: rows that only their own
documents say something about, such as authors whose documents are all in one minibatch.

weights_i <- prior + S_i for rows i of the statistics
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "ReplaceRows"]


@dataclass(frozen=True)
class ReplaceRows:
    """Forget everything before this update about the rows that it has statistics of.

    Parameters
    ----------
    first : the rows before this one stay as they are
    """

    first: int = 0

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`."""
        if self.first:
            ids = np.arange(array.n_rows, dtype=np.int32) if stats.ids is None else stats.ids
            stats = AxisStats(ids[ids >= self.first], stats.values[ids >= self.first])
        array.add(stats, row_decay=np.zeros(len(stats.values)))


SCHEME = ReplaceRows

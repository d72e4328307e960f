"""A scheme that remembers: the moving average of the statistics is an array beside the topics, which follow it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec
from bigtopic.types import AxisStats


@dataclass(frozen=True)
class Momentum:
    """m <- keep m + (1 - keep) scale S, statistics <- (1 - rate) statistics + rate m, for all words."""

    rate: float = 0.1
    keep: float = 0.5
    companions: ClassVar = {"mean": ArraySpec("", dtype="float64")}

    def step(self, array, stats, info):
        mean = info.companions["mean"]
        mean.add(stats, weight=(1 - self.keep) * info.total_tokens / info.n_tokens, decay=self.keep)
        decay = 1 - self.rate
        for start in range(0, array.n_rows, 1024):  # some rows at a time: memory is not that of the axis
            rows = np.arange(start, min(start + 1024, array.n_rows), dtype=np.int32)
            array.add(AxisStats(rows, mean.gather(rows)), weight=self.rate, decay=decay)
            decay = 1.0


METHOD = Method("momentum", "cvb0", {"topic_words": Momentum()}, batch_size=70, slice_size=35, max_iter=2)

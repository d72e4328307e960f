"""A scheme that remembers: the moving average of the statistics is an array beside the topics, which follow it."""

from dataclasses import dataclass
from typing import ClassVar

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
        array.add(AxisStats(None, mean.gather(None)), weight=self.rate, decay=1 - self.rate)


METHOD = Method("momentum", "cvb0", {"topic_words": Momentum()}, batch_size=70, slice_size=35, max_iter=2)

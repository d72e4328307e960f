"""Partitions of Dask collections: a chunk each, computed by the task that parses it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bigtopic.corpus.readers.base import Chunk

__all__ = ["PartitionStream", "computed", "holds_futures"]


def holds_futures(collection: Any) -> bool:
    """Whether results on a cluster are part of the graph: only its client can fetch them."""
    return any(
        type(task).__module__.startswith("distributed") for task in dict(collection.__dask_graph__()).values()
    )


def computed(data: Any) -> Any:
    """A delayed value, computed in this thread; any other as it is."""
    return data.compute(scheduler="synchronous") if hasattr(data, "__dask_graph__") else data


@dataclass(frozen=True)
class PartitionStream:
    """`whole` computes the partitions here, one by one, to count their documents; the first has been, to look at."""

    name: str
    first: Any
    rest: Sequence[Any]
    whole: bool

    def chunks(self) -> Iterator[Chunk]:
        yield self._chunk(0, self.first)
        for i, partition in enumerate(self.rest, 1):
            here = self.whole or holds_futures(partition)
            yield self._chunk(i, partition.compute() if here else partition)

    def _chunk(self, i: int, data: Any) -> Chunk:
        n_docs = None if hasattr(data, "__dask_graph__") else len(data)
        return Chunk(f"{self.name}, partition {i}", n_docs or 0, data=data, n_docs=n_docs)

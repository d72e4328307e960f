"""Partitions of Dask collections: a chunk each, computed by the task that parses it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bigtopic.corpus.readers.base import Chunk

__all__ = ["PartitionStream", "computed", "holds_futures"]


def holds_futures(collection: Any) -> bool:
    """Whether results on a cluster are part of the graph, as it is before it is optimised: only a client has them."""
    return any(
        type(task).__module__.startswith("distributed") for task in dict(collection.__dask_graph__()).values()
    )


def computed(data: Any) -> Any:
    """A delayed value, computed in this thread; any other as it is."""
    return data.compute(scheduler="synchronous") if hasattr(data, "__dask_graph__") else data


@dataclass(frozen=True)
class PartitionStream:
    """Chunks of a collection.

    first : the first partition, computed, because it shows what the others hold
    rest : the others, delayed
    here : whether these are computed here, one by one: to count their documents, or because a client has to
    """

    name: str
    first: Any
    rest: Sequence[Any]
    here: bool

    @classmethod
    def of(cls, collection: Any, name: str, whole: bool) -> PartitionStream:
        """The partitions of a collection; `whole` counts their documents."""
        held = holds_futures(collection)
        first, *rest = collection.to_delayed(optimize_graph=not held)
        return cls(name, first.compute(), rest, whole or held)

    def chunks(self) -> Iterator[Chunk]:
        import dask

        yield self._chunk(0, self.first)
        for i, partition in enumerate(self.rest, 1):
            # Optimised alone, a partition takes only its own tasks along.
            yield self._chunk(i, partition.compute() if self.here else dask.optimize(partition)[0])

    def _chunk(self, i: int, data: Any) -> Chunk:
        n_docs = None if hasattr(data, "__dask_graph__") else len(data)
        return Chunk(f"{self.name}, partition {i}", n_docs or 0, data=data, n_docs=n_docs)

"""Partitions of Dask collections: a chunk each, computed by the task that parses it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bigtopic.corpus.readers.base import Chunk
from bigtopic.corpus.readers.support.documents import DocumentReader

__all__ = ["PartitionReader", "PartitionStream", "computed", "holds_futures"]


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

    n_empty : partitions before `first`, none of which holds a document
    first : the first partition with documents, computed, because it shows what the others hold
    rest : those after it, delayed
    here : whether these are computed here, one by one: to count their documents, or because a client has to
    """

    name: str
    n_empty: int
    first: Any
    rest: Sequence[Any]
    here: bool

    @classmethod
    def of(cls, collection: Any, name: str, whole: bool) -> PartitionStream:
        """The partitions of a collection; `whole` counts their documents."""
        held = holds_futures(collection)
        partitions = list(collection.to_delayed(optimize_graph=not held))
        n_empty, first = 0, partitions[0].compute()
        while not len(first) and n_empty + 1 < len(partitions):
            n_empty += 1
            first = partitions[n_empty].compute()
        return cls(name, n_empty, first, partitions[n_empty + 1 :], whole or held)

    def chunks(self) -> Iterator[Chunk]:
        import dask

        yield self._chunk(self.n_empty, self.first)
        for i, partition in enumerate(self.rest, self.n_empty + 1):
            # Optimised alone, a partition takes only its own tasks along.
            yield self._chunk(i, partition.compute() if self.here else dask.optimize(partition)[0])

    def _chunk(self, i: int, data: Any) -> Chunk:
        n_docs = None if hasattr(data, "__dask_graph__") else len(data)
        return Chunk(f"{self.name}, partition {i}", n_docs or 0, data=data, n_docs=n_docs)


@dataclass
class PartitionReader(DocumentReader):
    """A reader of one such stream; tasks have it without the stream, for they are given chunks."""

    stream: PartitionStream | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "stream": None}

    def streams(self) -> list[PartitionStream]:
        assert self.stream is not None
        return [self.stream]

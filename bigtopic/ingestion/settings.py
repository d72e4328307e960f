"""The settings of an ingest, and where its tasks run."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from bigtopic.corpus.readers.base import Partition, unreadable
from bigtopic.corpus.vocabulary import VocabularySettings
from bigtopic.errors import ON_THREADS, BigtopicError, either
from bigtopic.ingestion.sort import Order
from bigtopic.parallel.cluster import check_holder
from bigtopic.parallel.mapping import bounded_map, graph_map
from bigtopic.parallel.shared_files import files_in_reach, in_sight_of
from bigtopic.storage.place import Place

__all__ = ["REMEDY", "IngestSettings", "Workers"]

REMEDY = (
    f"give {either('store (and scratch)', 'CORPUS')} as a path or URL that every worker can write to, "
    f"or {ON_THREADS}"
)


@dataclass(frozen=True)
class IngestSettings:
    """The settings of an ingest.

    words : limits on the vocabulary
    min_doc_length : tokens that a document must have left
    order : order of the documents
    limits : those on words that the corpus to extend, or the source, was made with
    closed : the vocabulary of that corpus was given: no word is new
    pruned : words of that corpus were dropped that are not listed
    new_words : whether an append gives ids to words that the corpus lacks
    text : settings of the tokeniser for the manifest, or None
    on_duplicate : what happens to documents whose id the corpus has: "error", "skip" or "replace"
    left_out : words that earlier documents were left without
    wordless : whether the documents may be without any word
    must_have_text : refuse a source without text, which was asked to be kept
    most_entries : refuse a source with more
    """

    words: VocabularySettings
    min_doc_length: int
    order: Order
    text: Mapping[str, Any] | None
    limits: Mapping[str, Any] = field(default_factory=dict)
    closed: bool = False
    pruned: bool = False
    new_words: bool = True
    on_duplicate: str = "error"
    left_out: frozenset[str] = frozenset()
    wordless: bool = False
    must_have_text: bool = False
    most_entries: float = math.inf


@dataclass(frozen=True)
class Workers:
    """Where tasks run.

    progress : whether to show a bar; None shows it in terminals and notebooks
    files : files that every worker must see, including those that join later
    """

    client: Any
    n_threads: int
    progress: bool | None
    files: Sequence[Place] = ()

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Generator[Any, None, None]:
        """Results in the order of the items, a bounded number in flight, or all of them where items are partitions of
        Dask; close it to cancel the rest."""
        items = iter(items)
        first = next(items, None)
        items = items if first is None else chain([first], items)
        if self.client is not None:
            function = in_sight_of(self.files, function, REMEDY)
        with files_in_reach(self.client):
            if isinstance(getattr(getattr(first, "chunk", None), "data", None), Partition):
                yield from self._of_partitions(function, list(items))
            else:
                yield from bounded_map(
                    function, items, client=self.client, n_threads=self.n_threads, name="bt-ingest"
                )

    def _of_partitions(self, function: Callable[[Any], Any], tasks: list[Any]) -> Iterator[Any]:
        """Results of tasks with a partition each, which threads compute with the task; on a cluster, Dask computes all.
        Raises InputError that names the partition that cannot be computed or parsed."""
        if self.client is None:
            results = bounded_map(function, tasks, n_threads=self.n_threads)
        else:
            partitions = [task.chunk.data for task in tasks]
            check_holder(partitions[0].client, self.client)
            tasks = [task._replace(chunk=replace(task.chunk, data=None)) for task in tasks]
            values = [partition.delayed for partition in partitions]
            results = graph_map(partial(_with_data, function), tasks, values, self.client)
        for task in tasks:
            try:
                result = next(results)
            except BigtopicError:
                raise
            except Exception as error:
                raise unreadable(task.chunk.name, error) from error
            yield result


def _with_data(function: Callable[[Any], Any], task: Any, data: Any) -> Any:
    return function(task._replace(chunk=replace(task.chunk, data=data)))

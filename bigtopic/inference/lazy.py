"""Topics of documents as a Dask array, of the partitions of a collection or the blocks of a corpus.

Blocks have the bits of `infer`, because the topics of a document depend on its content, and not on its row. The model
is one value of the graph: a worker gets it once, whatever the number of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bigtopic.corpus.memory import from_block
from bigtopic.corpus.order import checked_seed, source_order
from bigtopic.inference.infer import topics_in_slices, work_of
from bigtopic.parallel.cluster import held
from bigtopic.parallel.workers import new_name
from bigtopic.state.model import TopicModel
from bigtopic.state.params import Params

__all__ = ["topics_of_corpus", "topics_of_partitions"]

Finish = Callable[[np.ndarray], Any]
"""Makes a block of the array of topics, float32 (n_docs, n_components)."""


def topics_of_partitions(
    model: TopicModel, reader: Any, random_state: int, finish: Finish, client: Any
) -> Any:
    """A Dask array (n_docs, n_components) with a chunk for each partition; of NaN rows where their number is not known.
    `reader` is of a Dask collection; `client` keeps the model, unless it is None."""
    lean = replace(model, params=Params({}), history=[], document_state=None)
    shared = lean, model.estimates(), reader, checked_seed(random_state) % (1 << 62), finish
    chunks = [replace(chunk, data=None) for chunk in reader.stream.chunks()]
    functions = [partial(_of_partition, chunk) for chunk in chunks]
    tasks = list(zip(functions, reader.stream.delayed, strict=True))
    return _array(tasks, held(client, shared), [chunk.n_docs for chunk in chunks], finish(_no_topics(model)))


def topics_of_corpus(
    model: TopicModel, corpus: Any, random_state: int, finish: Finish, client: Any, in_source_order: bool
) -> Any:
    """A Dask array (n_docs, n_components); its chunks are runs of documents of a part."""
    shared = model.estimates(), work_of(model, corpus), checked_seed(random_state) % (1 << 62), finish
    tasks = [(_of_block, block) for block in corpus.to_delayed()]
    lengths = [stop - start for _, start, stop in corpus.spans()]
    array = _array(tasks, held(client, shared), lengths, finish(_no_topics(model)))
    order = source_order(corpus.rows(order="stored")) if in_source_order else None
    return array if order is None else array[order]


def _no_topics(model: TopicModel) -> np.ndarray:
    return np.zeros((0, model.n_components), np.float32)


def _of_block(shared: Any, block: Any) -> Any:
    arrays, work, seed, finish = shared
    found = [finish(topics) for topics in topics_in_slices(block, arrays, work, seed)]
    if len(found) == 1:
        return found[0]
    if isinstance(found[0], np.ndarray):
        return np.concatenate(found)
    from scipy.sparse import vstack

    return vstack(found, format="csr")


def _of_partition(chunk: Any, shared: Any, data: Any) -> Any:
    model, arrays, reader, seed, finish = shared
    if not (data.shape[0] if hasattr(data, "shape") else len(data)):
        return finish(_no_topics(model))
    corpus = from_block(reader.parse(replace(chunk, data=data)), reader.vocabulary, len(model.vocabulary))
    return _of_block((arrays, work_of(model, corpus), seed, finish), corpus.parts[0].read(0, corpus.n_docs))


def _array(tasks: Sequence[tuple[Any, Any]], shared: Any, lengths: Sequence[int | None], meta: Any) -> Any:
    """The array of the blocks that functions make of `shared`, each with its delayed value."""
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    name = f"bt-topics-{new_name()}"
    graph: dict[Any, Any] = {
        (name, i, 0): (function, shared.key, value.key) for i, (function, value) in enumerate(tasks)
    }
    sources = {id(value.dask): value for _, value in tasks}.values()  # partitions share a graph
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[shared, *sources])
    rows = tuple(np.nan if length is None else length for length in lengths)
    return da.Array(layers, name, (rows, (meta.shape[1],)), dtype=np.float32, meta=meta)

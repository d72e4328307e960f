"""The rows of the params that some rounds need, and their documents with positions among these rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bigtopic.learning.estep import OnAxis, Prepared, evaluate, look_up, prepare
from bigtopic.learning.reduce import Tree
from bigtopic.learning.remembering import Remembering
from bigtopic.learning.rounds import MapReduce
from bigtopic.learning.run import Iteration, Work
from bigtopic.plan.slices import Round, SliceRef
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay
from bigtopic.types import Block, Stats

__all__ = ["Needed", "Read", "map_reduce_of", "needed"]

Arrays = Mapping[str, LazyArray | Overlay]
Read = Callable[[SliceRef], Block]


@dataclass(frozen=True)
class Needed:
    """What some rounds need.

    ids : {axis: rows of the params, in increasing order, int32}; all rows of the other axes
    documents : of their slices, with positions among `ids`
    """

    ids: Mapping[str, np.ndarray]
    documents: Mapping[SliceRef, Prepared]


def needed(refs: Iterable[SliceRef], read: Read, arrays: Mapping[str, OnAxis], work: Work) -> Needed:
    """What rounds of these slices need; `read` reads the documents of a slice."""
    documents = {ref: prepare(read(ref), arrays, work) for ref in refs}
    ids, positions = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for axis, n_rows in {array.axis: array.n_rows for array in arrays.values()}.items():
        found = [own for one in documents.values() if (own := one.axes.get(axis)) is not None]
        if found:
            places = positions[axis] = np.zeros(n_rows, np.int32)
            for own in found:
                places[own] = 1
            ids[axis] = np.flatnonzero(places).astype(np.int32)
            places[ids[axis]] = np.arange(len(ids[axis]))
    for ref, one in documents.items():
        axes = {
            axis: places[own] for axis, places in positions.items() if (own := one.axes[axis]) is not None
        }
        documents[ref] = replace(one, axes=axes)
    return Needed(ids, documents)


def map_reduce_of(documents: Mapping[SliceRef, Prepared], work: Work, remembered: Remembering) -> MapReduce:
    """The statistics of rounds of these documents, slice by slice."""

    def map_reduce(rnd: Round, arrays: Arrays, iteration: Iteration) -> Stats:
        tree = Tree(len(rnd.slices))
        for ref in rnd.slices:
            tree.push(evaluate(ref, look_up(documents[ref], arrays, work), work, iteration, remembered))
        remembered.flush()
        total: Stats = tree.result()
        return total

    return map_reduce

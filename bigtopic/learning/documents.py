"""Documents of slices as kernels take them, prepared once for all passes over a small corpus.

Local ids, and the rows of the params that they stand for, are the same in every pass; only the values in the rows
change.
"""

from __future__ import annotations

from dataclasses import replace

from bigtopic.learning.estep import Arrays, Gathered, Prepared, look_up, prepare
from bigtopic.learning.run import Run
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Plan, SliceRef
from bigtopic.types import Block

__all__ = ["CACHE_BYTES", "ENTRY_BYTES", "Documents", "keeps_all", "keeps_prepared"]

CACHE_BYTES = 64 << 20  # a corpus of at most so many bytes is decoded once for all passes
ENTRY_BYTES = 8  # a word id and a count


class Documents:
    """The documents of a run. Thread-safe.

    Parameters
    ----------
    run : the run
    reader : reads its documents
    keeps : whether documents are used again in other passes
    """

    def __init__(self, run: Run, reader: BlockReader, keeps: bool = True) -> None:
        self._work = run.work
        self._reader = reader
        self._keeps = keeps and keeps_prepared(run)
        self._kept: dict[SliceRef, Prepared] = {}

    def prefetch(self, ref: SliceRef) -> None:
        """Read the documents of a slice soon."""
        if ref not in self._kept:
            for piece in ref.pieces:
                self._reader.prefetch(piece.read_block)

    def gather(self, ref: SliceRef, arrays: Arrays) -> Gathered:
        """What a kernel needs of a slice, see `estep.gather`."""
        return look_up(self._prepared(ref, arrays), arrays, self._work)

    def read(self, ref: SliceRef) -> Block:
        """The documents of a slice as they are stored."""
        return self._reader.block(ref)

    def close(self) -> None:
        self._reader.close()

    def _prepared(self, ref: SliceRef, arrays: Arrays) -> Prepared:
        if (found := self._kept.get(ref)) is not None:
            return found
        found = prepare(self._reader.block(ref), arrays, self._work)
        if self._keeps:
            self._kept[ref] = _copied(found)
        return found


def _copied(documents: Prepared) -> Prepared:
    """A copy outside `buffers`, whose memory the following slices reuse."""
    docs = documents.docs
    authors = None if docs.authors is None else docs.authors.copy()
    derived = None if docs.derived is None else {name: array.copy() for name, array in docs.derived.items()}
    docs = replace(docs, words=docs.words.copy(), counts=docs.counts.copy(), authors=authors, derived=derived)
    return replace(documents, docs=docs)


def keeps_all(plan: Plan) -> bool:
    """Whether all read blocks stay in memory from pass to pass, because the corpus is small."""
    return plan.n_docs * plan.entries_per_doc * ENTRY_BYTES <= CACHE_BYTES


def keeps_prepared(run: Run) -> bool:
    """Whether prepared slices stay in memory from pass to pass, because the corpus is small and each pass has the same
    slices. With replicas, passes differ."""
    plan, n_steps = run.plan, run.settings.n_steps
    several = n_steps is None or n_steps > plan.n_rounds
    return several and keeps_all(plan) and plan.replicas == 1

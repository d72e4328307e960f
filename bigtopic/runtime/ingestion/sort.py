"""Third stage: a run gets final word ids and is sorted by the documents' keys, so that a part's share is one piece."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bigtopic.corpus.blocks import take
from bigtopic.corpus.order import document_keys
from bigtopic.corpus.storage import Place
from bigtopic.runtime.ingestion.parse import Run, WordCounts
from bigtopic.runtime.ingestion.spill import Header, Span, read_spilled, spill
from bigtopic.types import Block

__all__ = ["Order", "SortPlan", "SortedRun", "sort_run"]


@dataclass(frozen=True)
class Order:
    """How documents are ordered: by a hash of seed and source row, or by source row."""

    shuffle: bool
    seed: int

    def keys(self, rows: np.ndarray) -> np.ndarray:
        """uint64 (n_docs,), ascending in stored order."""
        return document_keys(self.seed, rows) if self.shuffle else rows.astype(np.uint64)


@dataclass(frozen=True)
class SortPlan:
    """What sorting needs to know, the same for all runs.

    names : scratch file with "words" (final words by id) or "new_ids" (int32, by the source's id), and "authors"
    bounds : uint64, first keys of all parts but the first
    min_doc_length : documents with fewer tokens left are dropped
    """

    names: Place
    header: Header
    order: Order
    bounds: np.ndarray
    min_doc_length: int


@dataclass(frozen=True)
class SortedRun:
    """A spilled run in stored order; piece p of each array goes to part p.

    documents, entries, pairs : int64 (n_parts + 1,), where the pieces of documents, of entries and of (document,
    author) pairs begin; dropped: counts of documents that were too short
    """

    place: Place
    header: Header
    documents: np.ndarray
    entries: np.ndarray
    pairs: np.ndarray | None
    dropped: WordCounts | None


def sort_run(run: Run, plan: SortPlan) -> SortedRun:
    """Read a run, sort it, spill it sorted; the first copy is removed."""
    block = _final(run, plan)
    kept = _long_enough(block, plan.min_doc_length)
    dropped = None if len(kept) == block.n_docs else _dropped(block, kept)
    order = kept[np.argsort(plan.order.keys(block.rows[kept]), kind="stable")]
    block = _sorted_words(take(block, order))
    arrays = {"indptr": block.indptr, "words": block.words, "counts": block.counts, "rows": block.rows}
    for name in run.header:
        if name == "ids" or name.startswith("column "):
            arrays[name] = read_spilled(run.place, run.header, name)[order]
    if block.author_indptr is not None and block.authors is not None:
        arrays["author_indptr"], arrays["authors"] = block.author_indptr, block.authors
    cuts = np.searchsorted(plan.order.keys(block.rows), plan.bounds, side="left")
    cuts = np.concatenate([[0], cuts, [block.n_docs]]).astype(np.int64)
    place = Place(f"{run.place.url}-sorted", run.place.options)
    header = spill(place, arrays)
    run.place.remove()
    pairs = None if block.author_indptr is None else block.author_indptr[cuts]
    return SortedRun(place, header, cuts, block.indptr[cuts], pairs, dropped)


def _final(run: Run, plan: SortPlan) -> Block:
    """The run with final ids, words of a document not sorted yet; words that were filtered out are gone."""
    header = run.header
    indptr, words, counts = (read_spilled(run.place, header, name) for name in ("indptr", "words", "counts"))
    if "vocabulary" in header:
        new_ids = _lookup(_index(plan, "words"), read_spilled(run.place, header, "vocabulary"))
    else:
        new_ids = _new_ids(plan)
    words = new_ids[words]
    kept = words >= 0
    if not kept.all():
        indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
        words, counts = words[kept], counts[kept]
    rows = read_spilled(run.place, header, "rows") if "rows" in header else run.first + np.arange(run.n_docs)
    author_indptr = authors = None
    if "authors" in header:
        author_indptr = read_spilled(run.place, header, "author_indptr")
        names = read_spilled(run.place, header, "author_names")
        authors = _lookup(_index(plan, "authors"), names)[read_spilled(run.place, header, "authors")]
    return Block(indptr, words, counts, rows, author_indptr, authors)


def _long_enough(block: Block, least: int) -> np.ndarray:
    """Positions of the documents to keep."""
    if least <= 0:
        return np.arange(block.n_docs)
    ends = np.concatenate([[0.0], np.cumsum(block.counts, dtype=np.float64)])[block.indptr]
    return np.flatnonzero(np.diff(ends) >= least)


def _dropped(block: Block, kept: np.ndarray) -> WordCounts:
    """Counts of the documents that are not kept, by final word id."""
    gone = take(block, np.setdiff1d(np.arange(block.n_docs), kept))
    documents = np.bincount(gone.words)
    words = np.flatnonzero(documents)
    return WordCounts(words, np.bincount(gone.words, gone.counts)[words], documents[words])


def _sorted_words(block: Block) -> Block:
    """Words, and authors, of each document in ascending order of their final ids."""
    entries = _ascending(block.indptr, block.words)
    authors = block.authors
    if block.author_indptr is not None and authors is not None:
        authors = authors[_ascending(block.author_indptr, authors)]
    return Block(
        block.indptr, block.words[entries], block.counts[entries], block.rows, block.author_indptr, authors
    )


def _ascending(indptr: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The order that sorts each segment: one sort of (segment, id) packed into 64 bits."""
    segments = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    packed = (segments << np.int64(32)) | ids
    if (packed[1:] >= packed[:-1]).all():
        return np.arange(len(ids))
    return np.argsort(packed)


def _lookup(index: dict[str, int], names: np.ndarray) -> np.ndarray:
    get = index.get
    return np.fromiter((get(name, -1) for name in names.tolist()), np.int32, len(names))


# Names are read once per process and stage, whatever the number of runs.
@lru_cache(maxsize=2)
def _index_of(place: Place, span: Span, name: str) -> dict[str, int]:
    names = read_spilled(place, {name: span}, name)
    return {word: number for number, word in enumerate(names.tolist())}


@lru_cache(maxsize=1)
def _new_ids_of(place: Place, span: Span) -> np.ndarray:
    return read_spilled(place, {"new_ids": span}, "new_ids")


def _index(plan: SortPlan, name: str) -> dict[str, int]:
    return _index_of(plan.names, plan.header[name], name)


def _new_ids(plan: SortPlan) -> np.ndarray:
    return _new_ids_of(plan.names, plan.header["new_ids"])

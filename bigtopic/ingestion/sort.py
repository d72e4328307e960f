"""Third stage: a run gets final word ids and is sorted by the documents' keys, so that a part's share is one piece."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from uuid import uuid4

import numpy as np

from bigtopic.corpus.blocks import document_tokens, map_words, take
from bigtopic.corpus.order import document_keys
from bigtopic.ingestion.parse import ParsedRun, WordCounts, word_counts
from bigtopic.ingestion.spill import Span, Spilled, spill
from bigtopic.storage.place import Place
from bigtopic.types import Block

__all__ = ["Order", "SortPlan", "SortedRun", "needed_words", "sort_run", "with_final_ids"]


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
    """The settings of sorting, the same for all runs.

    names : scratch file with "words" (final words by id) or "new_ids" (int32, by the source's id), and "authors"
    bounds : uint64, first keys of all parts but the first
    min_doc_length : drop documents with fewer tokens left
    """

    names: Spilled
    order: Order
    bounds: np.ndarray
    min_doc_length: int


@dataclass(frozen=True)
class SortedRun:
    """A spilled run in stored order; piece p of each array goes to part p.

    documents, entries, pairs : int64 (n_parts + 1,), where the pieces of documents, of entries and of (document,
    author) pairs begin; n_empty: documents without words; n_short, dropped: documents that were too short, and the
    counts of their words
    """

    spilled: Spilled
    documents: np.ndarray
    entries: np.ndarray
    pairs: np.ndarray | None
    n_empty: int
    n_short: int
    dropped: WordCounts | None


def sort_run(run: ParsedRun, plan: SortPlan) -> SortedRun:
    """Read a run, sort it, spill it sorted. The first copy stays: the task may have to be done again."""
    spilled = run.spilled
    block = _block(run, plan)
    if "vocabulary" in spilled:
        new_ids = _lookup(_index(plan.names, "words"), spilled.read("vocabulary"))
    else:
        new_ids = plan.names.read_once("new_ids")
    keys = plan.order.keys(block.rows)
    order = np.argsort(keys, kind="stable")
    n_short, dropped = 0, None
    if plan.min_doc_length > 0:
        kept = np.where(new_ids[block.words] < 0, np.float32(0), block.counts)
        short = document_tokens(replace(block, counts=kept)) < plan.min_doc_length
        if short.any():
            left_out = map_words(take(block, np.flatnonzero(short)), new_ids)
            dropped = word_counts(left_out.words, left_out.counts)
        order, n_short = order[~short[order]], int(short.sum())
    block = with_final_ids(block, order, new_ids)
    arrays = {"indptr": block.indptr, "words": block.words, "counts": block.counts, "rows": block.rows}
    for name in spilled.spans:
        if name in ("ids", "text") or name.startswith("column "):
            arrays[name] = spilled.read(name)[order]
    if block.author_indptr is not None and block.authors is not None:
        arrays["author_indptr"], arrays["authors"] = block.author_indptr, block.authors
    cuts = np.searchsorted(keys[order], plan.bounds, side="left")
    cuts = np.concatenate([[0], cuts, [block.n_docs]]).astype(np.int64)
    spilled = spill(spilled.place.beside(f"-sorted-{uuid4().hex[:12]}"), arrays)
    pairs = None if block.author_indptr is None else block.author_indptr[cuts]
    n_empty = int((np.diff(block.indptr) == 0).sum())
    return SortedRun(spilled, cuts, block.indptr[cuts], pairs, n_empty, n_short, dropped)


def needed_words(run: ParsedRun, common: frozenset[str], frequent: frozenset[str], kept: Spilled) -> set[str]:
    """The words among `common` of the documents that have none of those kept, "words" of a scratch file.

    Most documents have a `frequent` one of these; all of them are only read for the others.
    """
    indptr, words, names = (run.spilled.read(name) for name in ("indptr", "words", "vocabulary"))
    stays = np.fromiter((name in frequent for name in names.tolist()), bool, len(names))
    rest = _words_without(stays, indptr, words)
    if len(rest):
        stays[rest] = _lookup(_index(kept, "words"), names[rest]) >= 0
        rest = _words_without(stays, indptr, words)
    return set(common.intersection(names[rest]))


def _words_without(stays: np.ndarray, indptr: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The words of the documents without a word that stays."""
    sizes = np.diff(indptr)
    filled = np.flatnonzero(sizes)
    without = np.zeros(len(sizes), bool)
    without[filled] = ~np.logical_or.reduceat(stays[words], indptr[filled])
    return np.unique(words[np.repeat(without, sizes)])


def with_final_ids(block: Block, positions: np.ndarray, new_ids: np.ndarray) -> Block:
    """The documents at `positions`, in that order, whose words get these ids; words that get -1 are dropped.

    Words, and authors, then ascend within each document.
    """
    from scipy import sparse

    block = map_words(take(block, positions), new_ids)
    shape = (block.n_docs, int(new_ids.max(initial=0)) + 1)
    matrix = sparse.csr_matrix((block.counts, block.words, block.indptr), shape).sorted_indices()
    authors = block.authors
    if block.author_indptr is not None and authors is not None:
        authors = authors[_ascending(block.author_indptr, authors)]
    return replace(block, words=matrix.indices, counts=matrix.data, authors=authors)


def _block(run: ParsedRun, plan: SortPlan) -> Block:
    """The run with its own word ids, and the authors' final ones."""
    spilled = run.spilled
    rows = run.first + (spilled.read("rows") if "rows" in spilled else np.arange(run.n_docs))
    author_indptr = authors = None
    if "authors" in spilled:
        author_indptr = spilled.read("author_indptr")
        authors = _lookup(_index(plan.names, "authors"), spilled.read("author_names"))[
            spilled.read("authors")
        ]
    indptr, words, counts = (spilled.read(name) for name in ("indptr", "words", "counts"))
    return Block(indptr, words, counts, rows, author_indptr, authors)


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


def _index(spilled: Spilled, name: str) -> dict[str, int]:
    return _index_of(spilled.place, spilled.spans[name])


@lru_cache(maxsize=2)  # once per process and stage, whatever the number of runs
def _index_of(place: Place, span: Span) -> dict[str, int]:
    return {word: number for number, word in enumerate(Spilled(place, {"": span}).read("").tolist())}

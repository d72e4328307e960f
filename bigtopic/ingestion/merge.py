"""Fourth stage: the pieces of all sorted runs that belong to one part are merged and written.

Parts that lose documents, which others replace, are written anew beside the old ones. Memory: a part per task
in flight.

A worker that has lost its connection continues while another one repeats its task. So each attempt writes its own
draft, and the part is the draft of the attempt that reported to the driver. Behind a URL nothing can be moved; there an
object is replaced by the same bytes, in one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from bigtopic.corpus.blocks import offsets, take
from bigtopic.corpus.columns import absent, array_name, converted
from bigtopic.corpus.part import PartView
from bigtopic.corpus.stored.manifest import PartRecord
from bigtopic.corpus.stored.stored_part import StoredPart
from bigtopic.corpus.stored.writer import PartWriter, verify_part
from bigtopic.corpus.vocabulary import word_array
from bigtopic.ingestion.duplicates import positions_of
from bigtopic.ingestion.parse import WordCounts, word_counts
from bigtopic.ingestion.sort import Order, SortedRun
from bigtopic.ingestion.spill import Spilled
from bigtopic.storage.place import Place
from bigtopic.types import Block

__all__ = [
    "DropTask",
    "MergePlan",
    "MergeTask",
    "PartDocuments",
    "Remainder",
    "drop_documents",
    "merge_part",
    "part_documents",
]

_BATCH = 1 << 20  # entries put in order at a time
_TEXTS = 1 << 12  # texts at a time


@dataclass(frozen=True)
class MergePlan:
    """The settings of merging, the same for all parts.

    drafts : folder for drafts of parts, or the store itself behind a URL
    """

    drafts: Place
    order: Order
    n_words: int
    n_authors: int
    n_rows: int
    columns: Mapping[str, str]
    has_ids: bool
    has_text: bool


class MergeTask(NamedTuple):
    """Part `number` of this ingest, to be written at `path`, from the runs."""

    number: int
    path: str
    runs: Sequence[SortedRun]


class PartDocuments(NamedTuple):
    """The documents of a part, the block in the order of the source, the rest in stored order.

    order : where in the block each stored document is, (n_docs,)
    """

    block: Block
    order: np.ndarray
    ids: np.ndarray | None
    columns: dict[str, np.ndarray]
    pieces: Sequence[_Piece]


def part_documents(runs: Sequence[SortedRun], number: int, plan: MergePlan) -> PartDocuments | None:
    """The pieces of all runs that belong to part `number`; None if it has no documents."""
    pieces = [piece for run in runs if (piece := _Piece.of(run, number)).n_docs]
    if not pieces:
        return None
    block = _gathered(pieces)
    order = np.argsort(plan.order.keys(block.rows), kind="stable")
    ids = _ids(pieces)[order] if plan.has_ids else None
    columns = {name: _column(pieces, name, dtype)[order] for name, dtype in plan.columns.items()}
    return PartDocuments(block, order, ids, columns, pieces)


def merge_part(task: MergeTask, plan: MergePlan) -> StoredPart | None:
    """Write a part as a draft, read it back and compare; None if the part has no documents."""
    documents = part_documents(task.runs, task.number, plan)
    if documents is None:
        return None
    block, order, ids, columns, pieces = documents
    draft = _draft(plan.drafts)
    n_pairs = None if block.authors is None else len(block.authors)
    writer = PartWriter(
        draft,
        task.path,
        block.n_docs,
        len(block.words),
        plan.n_words,
        plan.columns,
        plan.has_ids,
        n_pairs,
        sum(piece.n_text for piece in pieces) if plan.has_text else None,
    )
    step = max(1, int(_BATCH * block.n_docs / max(1, len(block.words))))
    for start in range(0, block.n_docs, step):
        chosen = order[start : start + step]
        stop = start + len(chosen)
        writer.add(
            take(block, chosen),
            None if ids is None else ids[start:stop],
            {name: values[start:stop] for name, values in columns.items()},
        )
    for start in range(0, block.n_docs if plan.has_text else 0, _TEXTS):
        writer.add_texts(_texts(pieces, order[start : start + _TEXTS]))
    figures = (plan.n_words, plan.n_authors, plan.n_rows, plan.columns)
    part = StoredPart(draft, writer.close(), *figures, "verify")
    verify_part(part)
    return part


def _draft(drafts: Place) -> Place:
    """A folder for this attempt; behind a URL, where nothing can be moved, the store itself."""
    return drafts / f"part-{uuid4().hex[:12]}" if drafts.local else drafts


class _Piece(NamedTuple):
    """A run's share of the part."""

    spilled: Spilled
    documents: tuple[int, int]
    entries: tuple[int, int]
    pairs: tuple[int, int]

    @classmethod
    def of(cls, run: SortedRun, number: int) -> _Piece:
        def share(cuts: np.ndarray | None) -> tuple[int, int]:
            return (0, 0) if cuts is None else (int(cuts[number]), int(cuts[number + 1]))

        return cls(run.spilled, share(run.documents), share(run.entries), share(run.pairs))

    @property
    def n_docs(self) -> int:
        return self.documents[1] - self.documents[0]

    @property
    def n_text(self) -> int:
        """Bytes of its texts."""
        return self.spilled.n_bytes("text", *self.documents) if "text" in self.spilled else 0

    def read(self, name: str) -> np.ndarray:
        """A value per document."""
        return self.spilled.read(name, *self.documents)


def _gathered(pieces: Sequence[_Piece]) -> Block:
    """Documents of the pieces, one after the other, filled into arrays of the final size."""
    n_docs, nnz, n_pairs = (
        sum(b - a for a, b in spans) for spans in zip(*(p[1:] for p in pieces), strict=True)
    )
    lengths, rows = np.empty(n_docs, np.int64), np.empty(n_docs, np.int64)
    words, counts = np.empty(nnz, np.int32), np.empty(nnz, np.float32)
    n_authors, authors = np.zeros(n_docs, np.int64), np.empty(n_pairs, np.int32)
    document = entry = pair = 0
    for piece in pieces:
        (first, last), (a, b), (c, d) = piece.documents, piece.entries, piece.pairs
        here = slice(document, document + last - first)
        spilled = piece.spilled
        spilled.fill("rows", first, rows[here])
        spilled.fill("words", a, words[entry : entry + b - a])
        spilled.fill("counts", a, counts[entry : entry + b - a])
        lengths[here] = np.diff(spilled.read("indptr", first, last + 1))
        if "authors" in spilled:
            spilled.fill("authors", c, authors[pair : pair + d - c])
            n_authors[here] = np.diff(spilled.read("author_indptr", first, last + 1))
        document, entry, pair = here.stop, entry + b - a, pair + d - c
    block = Block(offsets(lengths), words, counts, rows)
    if any("authors" in piece.spilled for piece in pieces):
        block = replace(block, author_indptr=offsets(n_authors), authors=authors)
    return block


def _ids(pieces: Sequence[_Piece]) -> np.ndarray:
    """Document ids of the pieces; source rows where a run has none."""
    found: list[str] = []
    for piece in pieces:
        found += map(str, piece.read("ids" if "ids" in piece.spilled else "rows").tolist())
    return word_array(found)


def _texts(pieces: Sequence[_Piece], chosen: np.ndarray) -> list[str]:
    """Texts at these positions of the pieces, one after the other; "" where a run has none.

    The documents of a run are in order already, so the documents of each piece are next to each other.
    """
    found = np.full(len(chosen), "", object)
    ends = np.cumsum([piece.n_docs for piece in pieces])
    owners = np.searchsorted(ends, chosen, side="right")
    for number in np.unique(owners).tolist():
        here, piece = owners == number, pieces[number]
        if "text" in piece.spilled:
            first = piece.documents[0] + int(chosen[here][0]) - int(ends[number]) + piece.n_docs
            found[here] = piece.spilled.read("text", first, first + int(here.sum()))
    return found.tolist()


def _column(pieces: Sequence[_Piece], name: str, dtype: str) -> np.ndarray:
    """A further column of the part; where a run lacks it, "" or NaN (the type is float64 then, or string)."""
    found = []
    for piece in pieces:
        if f"column {name}" in piece.spilled:
            found.append(converted(piece.read(f"column {name}"), dtype))
        else:
            found.append(absent(piece.n_docs, dtype))
    return np.concatenate(found)


@dataclass(frozen=True)
class DropTask:
    """A part without the documents whose ids have these digests, to be written at `path` below `drafts`."""

    part: StoredPart
    gone: np.ndarray
    path: str
    drafts: Place


class Remainder(NamedTuple):
    """The part: its record, the same as before if it lost no document, None if it lost all.

    draft : the place below which it is, if it was written; n_gone, counts : the documents it lost, and their words
    """

    record: PartRecord | None
    draft: Place | None = None
    n_gone: int = 0
    counts: WordCounts | None = None


def drop_documents(task: DropTask) -> Remainder:
    """Write the part without these documents, read it back and compare."""
    part, gone = task.part, positions_of(task.part, task.gone)
    n_gone = int(gone.sum())
    if not n_gone:
        return Remainder(part.record)
    block = part.read(0, part.n_docs)
    lost = take(block, np.flatnonzero(gone))
    counts = word_counts(lost.words, lost.counts)
    if n_gone == part.n_docs:
        return Remainder(None, None, n_gone, counts)
    block = take(block, np.flatnonzero(~gone))
    if not part.has("authors/indices"):
        block = replace(block, author_indptr=None, authors=None)
    view = PartView(part, np.flatnonzero(~gone).astype(np.int32))
    columns = {name: kind for name, kind in part.column_types.items() if part.has(f"obs/{array_name(name)}")}
    starts = range(0, view.n_docs if part.has_text else 0, _TEXTS)
    sizes = (len("".join(view.texts(start, start + _TEXTS)).encode()) for start in starts)
    draft = _draft(task.drafts)
    writer = PartWriter(
        draft,
        task.path,
        view.n_docs,
        len(block.words),
        part.n_words,
        columns,
        part.has_ids,
        None if block.authors is None else len(block.authors),
        sum(sizes) if part.has_text else None,
    )
    ids = view.ids(0, view.n_docs) if part.has_ids else None
    writer.add(block, ids, view.columns([*columns], 0, view.n_docs))
    for start in starts:
        writer.add_texts(view.texts(start, start + _TEXTS).tolist())
    record = writer.close()
    verify_part(replace(part, root=draft, record=record))
    return Remainder(record, draft, n_gone, counts)

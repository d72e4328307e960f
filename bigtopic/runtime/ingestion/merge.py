"""Fourth stage: the pieces of all sorted runs that belong to one part are merged and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bigtopic.corpus.blocks import take
from bigtopic.corpus.manifest import PartRecord
from bigtopic.corpus.storage import Place
from bigtopic.corpus.stored import StoredPart
from bigtopic.corpus.verify import verify_part
from bigtopic.corpus.vocabulary import word_array
from bigtopic.corpus.writer import PartWriter
from bigtopic.runtime.ingestion.sort import Order, SortedRun
from bigtopic.runtime.ingestion.spill import read_spilled
from bigtopic.types import Block

__all__ = ["MergePlan", "MergeTask", "merge_part"]

_BATCH = 1 << 20  # entries put in order at a time


@dataclass(frozen=True)
class MergePlan:
    """What merging needs to know, the same for all parts."""

    root: Place
    order: Order
    n_words: int
    n_authors: int
    columns: Mapping[str, str]
    has_ids: bool


class MergeTask(NamedTuple):
    """Part `number` of this ingest, to be written at `path`, from the runs."""

    number: int
    path: str
    runs: Sequence[SortedRun]


def merge_part(task: MergeTask, plan: MergePlan) -> PartRecord | None:
    """Write a part, read it back and compare; None when no document falls into it."""
    pieces = [piece for run in task.runs if (piece := _Piece.of(run, task.number)).n_docs]
    if not pieces:
        return None
    block = _gathered(pieces)
    order = np.argsort(plan.order.keys(block.rows), kind="stable")
    ids = _texts(pieces, "ids")[order] if plan.has_ids else None
    columns = {name: _column(pieces, name, dtype)[order] for name, dtype in plan.columns.items()}
    (plan.root / task.path).remove()  # a first attempt may have left something
    n_pairs = None if block.authors is None else len(block.authors)
    writer = PartWriter(
        plan.root,
        task.path,
        block.n_docs,
        len(block.words),
        plan.n_words,
        plan.columns,
        plan.has_ids,
        n_pairs,
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
    record = writer.close()
    verify_part(StoredPart(plan.root, record, plan.n_words, plan.n_authors, plan.columns, "verify"))
    return record


class _Piece(NamedTuple):
    """A run's share of the part."""

    run: SortedRun
    documents: tuple[int, int]
    entries: tuple[int, int]
    pairs: tuple[int, int] | None

    @classmethod
    def of(cls, run: SortedRun, number: int) -> _Piece:
        def share(cuts: np.ndarray) -> tuple[int, int]:
            return int(cuts[number]), int(cuts[number + 1])

        pairs = None if run.pairs is None else share(run.pairs)
        return cls(run, share(run.documents), share(run.entries), pairs)

    @property
    def n_docs(self) -> int:
        return self.documents[1] - self.documents[0]

    def read(self, name: str, what: tuple[int, int], extra: int = 0) -> np.ndarray:
        return read_spilled(self.run.place, self.run.header, name, what[0], what[1] + extra)

    def lengths(self, name: str) -> np.ndarray:
        return np.diff(self.read(name, self.documents, 1))


def _gathered(pieces: Sequence[_Piece]) -> Block:
    """Documents of the pieces, one after the other, filled into arrays of the final size."""
    author_indptr = authors = None
    if any(piece.pairs is not None for piece in pieces):
        author_indptr = _offsets([_author_lengths(piece) for piece in pieces])
        authors = _filled(pieces, "authors", [piece.pairs or (0, 0) for piece in pieces], np.int32)
    entries = [piece.entries for piece in pieces]
    return Block(
        _offsets([piece.lengths("indptr") for piece in pieces]),
        _filled(pieces, "words", entries, np.int32),
        _filled(pieces, "counts", entries, np.float32),
        _filled(pieces, "rows", [piece.documents for piece in pieces], np.int64),
        author_indptr,
        authors,
    )


def _author_lengths(piece: _Piece) -> np.ndarray:
    return np.zeros(piece.n_docs, np.int64) if piece.pairs is None else piece.lengths("author_indptr")


def _offsets(lengths: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)


def _filled(
    pieces: Sequence[_Piece], name: str, spans: Sequence[tuple[int, int]], dtype: type[np.generic]
) -> np.ndarray:
    out = np.empty(sum(stop - start for start, stop in spans), dtype)
    done = 0
    for piece, (start, stop) in zip(pieces, spans, strict=True):
        if stop > start:
            out[done : done + stop - start] = piece.read(name, (start, stop))
            done += stop - start
    return out


def _texts(pieces: Sequence[_Piece], name: str) -> np.ndarray:
    """Strings of the pieces; "" where a run has none (ids: the source row)."""
    found: list[str] = []
    for piece in pieces:
        if name in piece.run.header:
            found += [str(value) for value in piece.read(name, piece.documents).tolist()]
        elif name == "ids":
            found += [str(row) for row in piece.read("rows", piece.documents).tolist()]
        else:
            found += [""] * piece.n_docs
    return word_array(found)


def _column(pieces: Sequence[_Piece], name: str, dtype: str) -> np.ndarray:
    """A further column of the part; where a run lacks it, "" or NaN (the type is float64 then, or string)."""
    if dtype == "string":
        return _texts(pieces, f"column {name}")
    found = []
    for piece in pieces:
        if f"column {name}" in piece.run.header:
            found.append(piece.read(f"column {name}", piece.documents).astype(dtype))
        else:
            found.append(np.full(piece.n_docs, np.nan))
    return np.concatenate(found).astype(dtype)

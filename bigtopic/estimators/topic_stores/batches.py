"""Topics of documents with their ids and columns, put into source order out of core.

Topics arrive in stored order. Runs of documents are spilled sorted by target position, so that each range of the source
order, a bucket, is one piece of each run; then the buckets are read one after the other. Memory is that of a few
buckets, and 16 bytes per document; every byte is written once and read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.blocks import offsets, take_segments
from bigtopic.corpus.order import by_source, source_order
from bigtopic.estimators.topic_stores.sparsity import most_entries, sparse_topics
from bigtopic.inference.infer import Inferred
from bigtopic.ingestion.spill import Spilled, spill
from bigtopic.storage.place import Place

__all__ = ["Batch", "arranged"]

BUCKET_ENTRIES = 1 << 23  # 64 MiB of topics and shares
BUCKET_DOCUMENTS = 1 << 18


class Batch(NamedTuple):
    """Consecutive documents.

    indptr : int64 (n_docs + 1,); topics : int32 (nnz,); shares : float32 (nnz,)
    documents : {name: (n_docs,)}, "source_row", "document_id" and "column <name>"
    """

    indptr: np.ndarray
    topics: np.ndarray
    shares: np.ndarray
    documents: Mapping[str, np.ndarray]

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

    def take(self, positions: np.ndarray) -> Batch:
        indptr, entries = take_segments(self.indptr, positions)
        documents = {name: values[positions] for name, values in self.documents.items()}
        return Batch(indptr, self.topics[entries], self.shares[entries], documents)


def arranged(
    pieces: Iterator[Inferred],
    corpus: Any,
    n_components: int,
    scratch: Place,
    *,
    min_probability: float,
    top_k: int | None,
    order: str,
) -> Iterator[Batch]:
    """Topics of all documents of the corpus, with their ids and columns.

    Parameters
    ----------
    pieces : topics of all documents of the corpus, in stored order
    scratch : a folder that may be filled until the last batch has been taken
    min_probability, top_k : see `sparse_topics`
    order : of the documents, "source" or "stored"
    """
    where = source_order(corpus.rows(order="stored")) if by_source(order) else None
    batches = labelled(pieces, corpus, min_probability, top_k)
    if where is None:
        return batches
    size = min(BUCKET_DOCUMENTS, BUCKET_ENTRIES // most_entries(n_components, min_probability, top_k))
    return in_source_order(batches, where, max(1, size), scratch)


def labelled(
    pieces: Iterator[Inferred], corpus: Any, min_probability: float, top_k: int | None
) -> Iterator[Batch]:
    """Topics of all documents of the corpus, with their ids and columns; both in stored order."""
    start = 0
    for piece in pieces:
        view = corpus.run(start, start + len(piece.rows), order="stored")
        assert np.array_equal(view.rows(order="stored"), piece.rows)
        documents = {"source_row": piece.rows, "document_id": view.document_ids(order="stored")}
        documents |= {f"column {name}": v for name, v in view.read_columns(order="stored").items()}
        yield Batch(*sparse_topics(piece.doc_topics, min_probability, top_k), documents)
        start += len(piece.rows)


def in_source_order(
    batches: Iterator[Batch], where: np.ndarray, size: int, scratch: Place
) -> Iterator[Batch]:
    """The documents at stored positions `where`, in that order, in buckets of `size` documents."""
    n_docs = len(where)
    targets = np.empty(n_docs, np.int64)
    targets[where] = np.arange(n_docs)
    bounds = np.append(np.arange(0, n_docs, size), n_docs)
    if n_docs <= size:
        yield _joined(list(batches)).take(where)
        return
    runs, start = [], 0
    for number, run in enumerate(_joined_to(batches, size)):
        own = targets[start : start + run.n_docs]
        runs.append(_SpilledRun.of(run, own, bounds, scratch / f"run-{number:08d}"))
        start += run.n_docs
    for number in range(len(bounds) - 1):
        found = [run.read(number) for run in runs]
        bucket = np.concatenate([own for own, _ in found])
        yield _joined([batch for _, batch in found]).take(np.argsort(bucket))


class _SpilledRun(NamedTuple):
    """A run sorted by target, in a scratch file; documents `cuts[b]` to `cuts[b + 1]` go to bucket b."""

    spilled: Spilled
    cuts: np.ndarray
    indptr_cuts: np.ndarray
    names: Sequence[str]

    @classmethod
    def of(cls, run: Batch, targets: np.ndarray, bounds: np.ndarray, place: Place) -> _SpilledRun:
        order = np.argsort(targets)
        run = run.take(order)
        cuts = np.searchsorted(targets[order], bounds)
        arrays = {"targets": targets[order], "indptr": run.indptr, "topics": run.topics, "shares": run.shares}
        return cls(spill(place, arrays | dict(run.documents)), cuts, run.indptr[cuts], list(run.documents))

    def read(self, bucket: int) -> tuple[np.ndarray, Batch]:
        """Targets and documents of a bucket."""
        first, last = self.cuts[bucket : bucket + 2].tolist()
        a, b = self.indptr_cuts[bucket : bucket + 2].tolist()
        spilled = self.spilled
        documents = {name: spilled.read(name, first, last) for name in self.names}
        indptr = spilled.read("indptr", first, last + 1) - a
        batch = Batch(indptr, spilled.read("topics", a, b), spilled.read("shares", a, b), documents)
        return spilled.read("targets", first, last), batch


def _joined_to(batches: Iterator[Batch], size: int) -> Iterator[Batch]:
    """The same documents in batches of at least `size`, but for the last."""
    waiting: list[Batch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.n_docs for b in waiting) >= size:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[Batch]) -> Batch:
    return Batch(
        offsets(np.concatenate([np.diff(batch.indptr) for batch in batches])),
        np.concatenate([batch.topics for batch in batches]),
        np.concatenate([batch.shares for batch in batches]),
        {name: np.concatenate([batch.documents[name] for batch in batches]) for name in batches[0].documents},
    )

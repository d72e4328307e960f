"""Contents of a store of topics: the sparse topics of each document with its id, source row and columns, for AnnData.

Only the arrays' last chunks and, in source order, a bucket of documents are in memory: see `arranged`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.blocks import offsets, take_segments
from bigtopic.corpus.columns import array_name
from bigtopic.corpus.order import by_source, source_order
from bigtopic.errors import SettingError, argument, either
from bigtopic.inference.infer import Inferred
from bigtopic.ingestion.spill import Spilled, spill
from bigtopic.storage.place import Place, zarr_store

__all__ = [
    "MADE_WITH",
    "MARK",
    "WHOLE",
    "Batch",
    "arranged",
    "check_sparsity",
    "most_entries",
    "sparse_topics",
    "write_batches",
    "write_contents",
]

BUCKET_ENTRIES = 1 << 23  # 64 MiB of topics and shares
BUCKET_DOCUMENTS = 1 << 18
CHUNK = 1 << 18
MARK = "bigtopic-topics"  # the attribute of the root: a version, or 0 behind a URL while the store is being replaced
WHOLE = 2  # the version that has every chunk; before it, Zarr left out chunks of zeros or empty strings
MADE_WITH = "bigtopic-topics-model"  # another: the identity of the model, see `state.model_identity`


def sparse_topics(doc_topics: np.ndarray, min_probability: float, top_k: int | None) -> tuple[Any, Any, Any]:
    """Entries of (n_docs, n_components) that are large enough, as CSR (indptr, indices, data).

    A document keeps its `top_k` largest entries (all for None) of at least `min_probability`, and always the largest.
    """
    keep = doc_topics >= min_probability
    n_docs, n_components = doc_topics.shape
    if top_k is not None and top_k < n_components:
        order = np.argsort(-doc_topics, axis=1, kind="stable")[:, :top_k]
        largest = np.zeros_like(keep)
        np.put_along_axis(largest, order, True, axis=1)
        keep &= largest
    keep[np.arange(n_docs), doc_topics.argmax(axis=1)] = True
    places = np.flatnonzero(keep)
    indptr = np.searchsorted(places, np.arange(n_docs + 1) * n_components)
    kept = doc_topics.reshape(-1)[places].astype(np.float32)
    return indptr.astype(np.int64), (places % n_components).astype(np.int32), kept


def check_sparsity(min_probability: float, top_k: int | None) -> None:
    """Check the settings.

    Raises
    ------
    SettingError
    """
    if not 0 <= min_probability < 1:
        raise SettingError(f"{argument('min_probability', min_probability)}: must be at least 0 and below 1")
    if top_k is not None and top_k < 1:
        raise SettingError(f"{argument('top_k', top_k)}: must be 1 or more{either(', or None', '')}")


def most_entries(n_components: int, min_probability: float, top_k: int | None) -> int:
    """Entries that a document keeps at most."""
    large_enough = n_components if min_probability == 0 else int(1 / min_probability)
    return max(1, min(n_components, n_components if top_k is None else top_k, large_enough))


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

    Topics arrive in stored order, and are put into source order out of core: runs of documents are spilled sorted by
    target position, so that each range of the source order, a bucket, is one piece of each run; then the buckets are
    read one after the other. It takes the memory of a few buckets, and 16 bytes per document; each byte is written and
    read once.

    Parameters
    ----------
    pieces : topics of all documents of the corpus, in stored order
    scratch : a folder that may be filled until the last batch has been taken
    min_probability, top_k : see `sparse_topics`
    order : of the documents, "source" or "stored"
    """

    def labelled() -> Iterator[Batch]:
        start = 0
        for piece in pieces:
            view = corpus.run(start, start + len(piece.rows), order="stored")
            assert np.array_equal(view.rows(order="stored"), piece.rows)
            documents = {"source_row": piece.rows, "document_id": view.document_ids(order="stored")}
            documents |= {f"column {name}": v for name, v in view.read_columns(order="stored").items()}
            yield Batch(*sparse_topics(piece.doc_topics, min_probability, top_k), documents)
            start += len(piece.rows)

    where = source_order(corpus.rows(order="stored")) if by_source(order) else None
    if where is None:
        return labelled()
    size = min(BUCKET_DOCUMENTS, BUCKET_ENTRIES // most_entries(n_components, min_probability, top_k))
    return in_source_order(labelled(), where, max(1, size), scratch)


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
    cuts: list[int]
    indptr_cuts: list[int]
    names: Sequence[str]

    @classmethod
    def of(cls, run: Batch, targets: np.ndarray, bounds: np.ndarray, place: Place) -> _SpilledRun:
        order = np.argsort(targets)
        run, targets = run.take(order), targets[order]
        cuts = np.searchsorted(targets, bounds)
        arrays = {"targets": targets, "indptr": run.indptr, "topics": run.topics, "shares": run.shares}
        spilled = spill(place, arrays | dict(run.documents))
        return cls(spilled, cuts.tolist(), run.indptr[cuts].tolist(), list(run.documents))

    def read(self, bucket: int) -> tuple[np.ndarray, Batch]:
        """Targets and documents of a bucket."""
        (first, last), (a, b) = (cuts[bucket : bucket + 2] for cuts in (self.cuts, self.indptr_cuts))
        documents = {name: self.spilled.read(name, first, last) for name in self.names}
        indptr = self.spilled.read("indptr", first, last + 1) - a
        topics, shares = (self.spilled.read(name, a, b) for name in ("topics", "shares"))
        return self.spilled.read("targets", first, last), Batch(indptr, topics, shares, documents)


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


def write_contents(
    place: Place,
    pieces: Iterator[Inferred],
    corpus: Any,
    n_components: int,
    model: Mapping[str, Any] | None = None,
    **settings: Any,
) -> None:
    """Write an AnnData store at a place that no process reads yet: X is the CSR (n_docs, n_components).

    Parameters
    ----------
    pieces : topics of all documents of the corpus, in stored order
    model : identity of the model, to be recorded
    settings : see `arranged`
    """
    with _scratch(place) as scratch:
        batches = arranged(pieces, corpus, n_components, scratch, **settings)
        write_batches(place, batches, corpus.columns, n_components, model)


@contextmanager
def _scratch(place: Place) -> Iterator[Place]:
    """A folder beside the arrays, swept with an unfinished store; for a remote store a local one."""
    if not place.local:
        with TemporaryDirectory(prefix="bigtopic-topics-") as folder:
            yield Place.of(folder)
        return
    try:
        yield place / "scratch"
    finally:
        (place / "scratch").remove()


def write_batches(
    place: Place,
    batches: Iterator[Batch],
    columns: Sequence[str],
    n_components: int,
    model: Mapping[str, Any] | None = None,
) -> None:
    """Write the documents of the batches, one after the other, see `write_contents`."""
    import zarr

    root = zarr.open_group(zarr_store(place), mode="a")
    x, obs, var = (root.create_group(name) for name in ("X", "obs", "var"))
    types = {"indptr": np.int64, "indices": np.int32, "data": np.float32}
    csr = {name: _Growing(x, name, dtype, in_table=False) for name, dtype in types.items()}
    csr["indptr"].append(np.zeros(1, np.int64))
    documents: dict[str, _Growing] = {}
    n_docs = entries = 0
    for batch in batches:
        csr["indptr"].append(batch.indptr[1:] + entries)
        csr["indices"].append(batch.topics)
        csr["data"].append(batch.shares)
        for name, values in batch.documents.items():
            if name not in documents:
                documents[name] = _Growing(obs, _array(name), values.dtype)
            documents[name].append(values)
        n_docs, entries = n_docs + batch.n_docs, entries + len(batch.topics)
    if not documents:
        columns, empty = (), {"source_row": np.int64, "document_id": object}
        documents = {name: _Growing(obs, name, dtype) for name, dtype in empty.items()}
    topics = _Growing(var, "topic", object)
    topics.append(np.array([str(k) for k in range(n_components)], object))
    for array in (*csr.values(), *documents.values(), topics):
        array.finish()
    version = {"encoding-version": "0.1.0"}
    x.attrs.update({"encoding-type": "csr_matrix", **version, "shape": [n_docs, n_components]})
    _frame(var, "topic", [])
    _frame(obs, "document_id", ["source_row", *map(array_name, columns)])
    made_with = {} if model is None else {MADE_WITH: dict(model)}
    root.attrs.update({"encoding-type": "anndata", **version, MARK: WHOLE, **made_with})


def _array(name: str) -> str:
    """The array of obs with these values."""
    return array_name(name.removeprefix("column ")) if name.startswith("column ") else name


def _frame(group: Any, index: str, columns: list[str]) -> None:
    group.attrs.update(
        {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": index, "column-order": columns}
    )


class _Growing:
    """An array that is appended to in whole chunks; invisible until the store is moved into place.

    in_table : whether it is a column of a table
    """

    def __init__(self, group: Any, name: str, dtype: Any, in_table: bool = True) -> None:
        chunk, kind = CHUNK, "array"
        if np.dtype(dtype).kind == "O":
            from zarr.core.dtype import VariableLengthUTF8

            dtype, chunk, kind = VariableLengthUTF8(), 1 << 16, "string-array"
        about = {"encoding-type": kind, "encoding-version": "0.2.0"} if in_table else None
        self._array = group.create_array(
            name,
            shape=(0,),
            dtype=dtype,
            chunks=(chunk,),
            attributes=about,
            config={"write_empty_chunks": True},
        )
        self._waiting: list[np.ndarray] = []
        self._held = 0

    def append(self, values: np.ndarray) -> None:
        self._waiting.append(values)
        self._held += len(values)
        if self._held >= CHUNK:
            whole = self._held // CHUNK * CHUNK
            joined = np.concatenate(self._waiting)
            self._put(joined[:whole])
            self._waiting = [joined[whole:].copy()]
            self._held -= whole

    def finish(self) -> None:
        if self._waiting:
            self._put(np.concatenate(self._waiting))

    def _put(self, values: np.ndarray) -> None:
        start = self._array.shape[0]
        self._array.resize((start + len(values),))
        if len(values):
            self._array[start:] = values

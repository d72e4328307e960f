"""Contents of a store of topics: the sparse topics of each document with its id, source row and columns, for AnnData.

Only the arrays' last chunks and, in source order, a bucket of documents are in memory: see `topic_batches`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bigtopic.corpus.columns import array_name
from bigtopic.estimators.topic_stores.batches import Batch, arranged
from bigtopic.inference.infer import Inferred
from bigtopic.storage.place import Place, zarr_store

__all__ = ["MADE_WITH", "MARK", "WHOLE", "write_batches", "write_contents"]

CHUNK = 1 << 18
_CONFIG: Any = {"write_empty_chunks": True}
MARK = "bigtopic-topics"  # the attribute of the root: a version, or 0 behind a URL while the store is being replaced
WHOLE = 2  # the version that has every chunk; before it, Zarr left out those of zeros or empty strings
MADE_WITH = "bigtopic-topics-model"  # another: the identity of the model, see `state.model_identity`


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
    indptr, indices, data = (
        _Growing(x, name, dtype)
        for name, dtype in (("indptr", np.int64), ("indices", np.int32), ("data", np.float32))
    )
    indptr.append(np.zeros(1, np.int64))
    documents: dict[str, _Growing] = {}
    n_docs = entries = 0
    for batch in batches:
        indptr.append(batch.indptr[1:] + entries)
        indices.append(batch.topics)
        data.append(batch.shares)
        for name, values in batch.documents.items():
            if name not in documents:
                documents[name] = _growing(obs, _array(name), values.dtype)
            documents[name].append(values)
        n_docs, entries = n_docs + batch.n_docs, entries + len(batch.topics)
    if not documents:
        documents = {"source_row": _growing(obs, "source_row", np.dtype(np.int64))}
        documents["document_id"] = _growing(obs, "document_id", np.dtype(object))
        columns = ()
    for array in (indptr, indices, data, *documents.values()):
        array.finish()
    x.attrs.update(
        {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [n_docs, n_components]}
    )
    topics = _growing(var, "topic", np.dtype(object))
    topics.append(np.array([str(k) for k in range(n_components)], object))
    topics.finish()
    _frame(var, "topic", [])
    _frame(obs, "document_id", ["source_row", *map(array_name, columns)])
    made_with = {} if model is None else {MADE_WITH: dict(model)}
    root.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0", MARK: WHOLE, **made_with})


def _array(name: str) -> str:
    """The array of obs with these values."""
    return array_name(name.removeprefix("column ")) if name.startswith("column ") else name


def _frame(group: Any, index: str, columns: list[str]) -> None:
    group.attrs.update(
        {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": index, "column-order": columns}
    )


def _growing(group: Any, name: str, dtype: np.dtype) -> _Growing:
    """An array of a table."""
    if dtype.kind == "O":
        return _GrowingStrings(group, name)
    return _Growing(group, name, dtype, {"encoding-type": "array", "encoding-version": "0.2.0"})


class _Growing:
    """An array that is appended to in whole chunks; invisible until the store is moved into place."""

    def __init__(self, group: Any, name: str, dtype: Any, attributes: Any = None) -> None:
        self._array = group.create_array(
            name, shape=(0,), dtype=dtype, chunks=(CHUNK,), attributes=attributes, config=_CONFIG
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
        self._put(np.concatenate(self._waiting) if self._waiting else np.zeros(0, self._array.dtype))
        self._waiting, self._held = [], 0

    def _put(self, values: np.ndarray) -> None:
        start = self._array.shape[0]
        self._array.resize((start + len(values),))
        if len(values):
            self._array[start:] = values


class _GrowingStrings(_Growing):
    def __init__(self, group: Any, name: str) -> None:
        from zarr.core.dtype import VariableLengthUTF8

        dtype: Any = VariableLengthUTF8()
        self._array = group.create_array(name, shape=(0,), dtype=dtype, chunks=(1 << 16,), config=_CONFIG)
        self._array.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
        self._waiting, self._held = [], 0

    def finish(self) -> None:
        if self._waiting:
            super().finish()

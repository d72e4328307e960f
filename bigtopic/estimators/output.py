"""Topics of many documents, written as they are computed: sparse, in Zarr, never collected."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.draft import drafted
from bigtopic.corpus.remote_hold import RemoteHold
from bigtopic.corpus.schema import WRITER
from bigtopic.corpus.storage import Place, zarr_store
from bigtopic.errors import CorpusExists, SettingError
from bigtopic.runtime.infer import Inferred

__all__ = ["check_sparsity", "sparse_topics", "write_topics"]

CHUNK = 1 << 18
MARK = "bigtopic-topics"  # the attribute of the root: 1, or 0 behind a URL while the store is being replaced
_MEMBERS = ("zarr.json", "X", "obs", "var", "obsm", "varm", "obsp", "varp", "layers", "uns")  # of AnnData
_OURS = ("X", "obs", "var")


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
    indptr = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    return indptr.astype(np.int64), np.nonzero(keep)[1].astype(np.int32), doc_topics[keep].astype(np.float32)


def check_sparsity(min_probability: float, top_k: int | None) -> None:
    """Refuse what no entry, or every entry, would pass.

    Raises
    ------
    SettingError
    """
    if not 0 <= min_probability < 1:
        raise SettingError(f"min_probability={min_probability!r}: must be at least 0 and below 1")
    if top_k is not None and top_k < 1:
        raise SettingError(f"top_k={top_k!r}: must be 1 or more, or None")


def write_topics(
    pieces: Iterator[Inferred],
    corpus: Any,
    url: Any,
    n_components: int,
    *,
    min_probability: float,
    top_k: int | None,
    overwrite: bool,
    storage_options: Mapping[str, Any] | None = None,
) -> str:
    """Write an AnnData store: X is the CSR (n_docs, n_components), obs names the documents. Complete or absent.

    Raises
    ------
    CorpusExists
        When the place is taken and `overwrite` is false, or what is there is not a store of topics alone.
    StoreError
        When the system refuses a write. What was there is as it was.
    """
    check_sparsity(min_probability, top_k)
    place = Place.of(url, storage_options)
    with _target(place, overwrite) as target:
        _write(target, pieces, corpus, n_components, min_probability, top_k)
    return place.url


def _target(place: Place, overwrite: bool) -> AbstractContextManager[Place]:
    if place.local:
        return drafted(place, _MEMBERS, partial(_check_place, place, overwrite))
    return _published(place, overwrite)


def _check_place(place: Place, overwrite: bool) -> None:
    """Refuse a place that is taken, or where something would be lost that is not of a store of topics."""
    if not place.exists():
        return
    if not overwrite:
        raise CorpusExists(f"{place.url} exists; choose another path, or pass overwrite=True")
    names = place.names()
    if not _holds_topics(place) and (names or (place.local and not Path(place.url).is_dir())):
        raise CorpusExists(
            f"{place.url} is not a store of topics and will not be overwritten; choose another path"
        )
    others = [name for name in names if name not in _MEMBERS]
    if others:
        raise CorpusExists(
            f"{place.url} holds {others[0]!r}, which is not of a store of topics, and will not be overwritten; move "
            "that away, or choose another path"
        )


@contextmanager
def _published(place: Place, overwrite: bool) -> Iterator[Place]:
    """A place behind a URL to write to, copied to the right one when it is complete.

    Nothing can be renamed there: from the first copy to the last write, a reader finds a store that is not finished.
    """
    with RemoteHold(place, "a store of topics", _members) as hold:
        if _holds_topics(place) and not overwrite:
            raise CorpusExists(f"{place.url} exists; choose another path, or pass overwrite=True")
        draft = place / f".scratch-{hold.token}"
        yield draft
        finished = json.loads((draft / "zarr.json").read())["attributes"]
        hold.commit({MARK: 0})
        for name in _OURS:
            (place / name).remove()
            (draft / name).copy(place / name)
        hold.commit(finished)


def _holds_topics(place: Place) -> bool:
    try:
        return bool(json.loads((place / "zarr.json").read())["attributes"].get(MARK))
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _members(place: Place) -> tuple[str, ...] | None:
    """What a store of topics behind a URL has, unfinished or not; None when there is none.

    Raises
    ------
    CorpusExists
        When there is the root of another store.
    """
    try:
        attributes = json.loads((place / "zarr.json").read())["attributes"]
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        attributes = {"": None}
    if MARK in attributes:
        return _OURS
    if set(attributes) - {WRITER}:
        raise CorpusExists(
            f"{place.url} is not a store of topics and will not be overwritten; choose another path"
        )
    return None


def _write(
    place: Place,
    pieces: Iterator[Inferred],
    corpus: Any,
    n_components: int,
    min_probability: float,
    top_k: int | None,
) -> None:
    import zarr

    root = zarr.open_group(zarr_store(place), mode="a")
    group = root.create_group("X")
    indptr = _Growing(group, "indptr", np.int64)
    indices = _Growing(group, "indices", np.int32)
    data = _Growing(group, "data", np.float32)
    obs = root.create_group("obs")
    source_row = _Growing(obs, "source_row", np.int64)
    indptr.append(np.zeros(1, np.int64))
    entries = n_docs = 0
    for piece in pieces:
        starts, columns, values = sparse_topics(piece.doc_topics, min_probability, top_k)
        indptr.append(starts[1:] + entries)
        indices.append(columns)
        data.append(values)
        source_row.append(piece.rows)
        entries, n_docs = entries + len(values), n_docs + len(piece.rows)
    for array in (indptr, indices, data, source_row):
        array.finish()
    _write_ids(obs, corpus)
    group.attrs.update(
        {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [n_docs, n_components]}
    )
    var = root.create_group("var")
    _strings(var, "topic", [str(k) for k in range(n_components)])
    _frame(var, "topic", [])
    _frame(obs, "document_id", ["source_row"])
    root.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0", MARK: 1})


def _write_ids(obs: Any, corpus: Any) -> None:
    ids = _GrowingStrings(obs, "document_id")
    for part, start, stop in corpus.spans():
        ids.append(part.ids(start, stop))
    ids.finish()


def _frame(group: Any, index: str, columns: list[str]) -> None:
    group.attrs.update(
        {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": index, "column-order": columns}
    )
    for name in columns:
        group[name].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


def _strings(group: Any, name: str, values: list[str]) -> None:
    array = _GrowingStrings(group, name)
    array.append(np.asarray(values, dtype=object))
    array.finish()


class _Growing:
    """An array that is appended to in whole chunks; nobody can see it before the store is moved into place."""

    def __init__(self, group: Any, name: str, dtype: Any) -> None:
        self._array = group.create_array(name, shape=(0,), dtype=dtype, chunks=(CHUNK,))
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
        self._array = group.create_array(name, shape=(0,), dtype=dtype, chunks=(1 << 16,))
        self._array.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
        self._waiting, self._held = [], 0

    def finish(self) -> None:
        if self._waiting:
            super().finish()

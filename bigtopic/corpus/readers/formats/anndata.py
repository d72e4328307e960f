"""AnnData: `.h5ad` files, `.zarr` groups, and objects in memory. X holds the counts, `obs_names` the documents' ids,
`var_names` the words; the columns of `obs` are kept.

CSR and dense X are read in runs of rows; CSC is read into memory, because its rows are scattered.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import CHUNK_BYTES, Chunk, Options
from bigtopic.corpus.readers.containers.files import File, intact
from bigtopic.corpus.readers.containers.hdf5 import check_hdf5
from bigtopic.corpus.readers.containers.zarr import open_checked
from bigtopic.corpus.readers.support.assemble import author_csr
from bigtopic.corpus.readers.support.columns import column, id_texts, series_values
from bigtopic.corpus.readers.support.matrix import check_width, matrix_block, row_ranges
from bigtopic.corpus.readers.tables.roles import choose
from bigtopic.corpus.readers.tables.sample import AUTHORS
from bigtopic.corpus.sparse import check_claim, check_columns, check_offsets, checked_csr
from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.corpus.text.raw import RawBlock
from bigtopic.errors import InputError, require
from bigtopic.storage.place import Place

__all__ = ["accepts", "match", "open_reader", "opens_folders"]

opens_folders = True


def match(file: File) -> float:
    """An HDF5 file, or a folder that is a Zarr group with AnnData's encoding."""
    if _is_zarr(file):
        return 1.0
    if not file.remote and Path(file.path).is_dir():
        return 0.0
    return 1.0 if file.sample.startswith(b"\x89HDF\r\n\x1a\n") else 0.0


def accepts(source: Any) -> bool:
    return type(source).__module__.split(".")[0] == "anndata" and hasattr(source, "obs")


def _is_zarr(file: File) -> bool:
    if file.remote:
        return file.path.rstrip("/").endswith(".zarr")
    return any((Path(file.path) / name).exists() for name in ("zarr.json", ".zgroup"))


def open_reader(source: Any, options: Options) -> AnnDataReader:
    if accepts(source):
        if source.isbacked:
            return _open_stored(File(str(source.filename)), options)
        return _reader("the AnnData object", source.X, None, source.obs, source.var_names, options)
    for file in source:
        _refuse_corpus(file)
    if len(source) > 1:
        raise InputError(
            f"{source[1].path}: only one AnnData store can be read at a time; ingest one and append the others"
        )
    return _open_stored(source[0], options)


def _refuse_corpus(file: File) -> None:
    """Check that a store is not a corpus, before a package to read it is asked for."""
    if not _is_zarr(file):
        return
    with _group(file) as group:
        if "bigtopic" in group.attrs:
            raise InputError(
                f"{file.path} is already a corpus; open it with open_corpus. To store some of its documents or words "
                "as another one, pass what its select or filter_vocabulary returns to bigtopic.ingest"
            )


def _open_stored(file: File, options: Options) -> AnnDataReader:
    read = require("anndata.io", "anndata").read_elem
    with _group(file) as group, warnings.catch_warnings():
        # An old encoding is read as well as a new one
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        if "X" not in group or "obs" not in group or "var" not in group:
            raise InputError(f"{file.path} is not an AnnData store: it lacks X, obs or var")
        obs, words = read(group["obs"]), read(group["var"]).index
        x = group["X"]
        kind = x.attrs.get("encoding-type")
        if kind == "csr_matrix":
            stored = _Stored(file, _shape(x), _offsets(x, _shape(x)[0], f"X of {file.path}"))
            _check_rows(stored, len(words))
            return _reader(file.path, stored, file, obs, words, options)
        if kind == "csc_matrix":
            return _reader(file.path, _columns(x, f"X of {file.path}"), None, obs, words, options)
        return _reader(file.path, _Stored(file, x.shape, None), file, obs, words, options)


def _shape(x: Any) -> tuple[int, int]:
    shape = np.asarray(x.attrs["shape"])
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError(f"X has shape {x.attrs['shape']}")
    n_rows, n_columns = map(int, shape)
    if min(n_rows, n_columns) < 0 or n_columns > MOST_WORDS:
        raise ValueError(f"X has shape ({n_rows}, {n_columns})")
    return n_rows, n_columns


def _offsets(x: Any, n: int, name: str) -> np.ndarray:
    """The offsets of a stored sparse matrix, int64 (n + 1,); they take all entries in turn."""
    n_entries = x["indices"].shape[0]
    if x["indices"].shape != x["data"].shape or len(x["indices"].shape) != 1:
        raise InputError(
            f"{name} has indices of shape {x['indices'].shape} and data of shape {x['data'].shape}; write it again"
        )
    indptr = x["indptr"][:]
    check_offsets(indptr, n, n_entries, name)
    if indptr[-1] != n_entries:
        raise InputError(
            f"{name}: indptr ends at {indptr[-1]}, but there are {n_entries} entries; the matrix is damaged: "
            "write it again"
        )
    return indptr.astype(np.int64)


def _check_rows(stored: _Stored, n_columns: int) -> None:
    """A run of rows is read at once: no row may be longer than one that has every word."""
    assert stored.indptr is not None
    longest = int(np.diff(stored.indptr).max(initial=0))
    if longest > max(n_columns, CHUNK_BYTES // 8):
        raise InputError(
            f"X of {stored.file.path} has a row with {longest} entries in {n_columns} columns; write it again"
        )


def _columns(x: Any, name: str) -> Any:
    """A stored CSC as a matrix in memory."""
    from scipy.sparse import csc_matrix

    shape = _shape(x)
    indptr = _offsets(x, shape[1], name)
    for part in ("data", "indices"):
        claimed = x[part].shape[0] * x[part].dtype.itemsize
        check_claim(claimed, _stored_bytes(x[part]), f"{name}, {part}", "write it as csr_matrix")
    indices = x["indices"][:]
    check_columns(indices, shape[0], name)
    return csc_matrix((x["data"][:], indices, indptr), shape=shape, copy=False)


def _stored_bytes(array: Any) -> int:
    """Bytes in the file, of an array of HDF5 or Zarr."""
    return array.id.get_storage_size() if hasattr(array, "id") else array.nbytes_stored()


@contextlib.contextmanager
def _group(file: File, names: Sequence[str] | None = None) -> Iterator[Any]:
    """The store, with these members (None: all) checked; what a library raises about the contents is their fault."""
    with intact(file.path):
        if _is_zarr(file):
            yield open_checked(Place.of(file.path, file.options), names or ("X", "obs", "var"))
            return
        h5py = require("h5py", "anndata")
        with file.open_raw() as raw, h5py.File(raw if file.remote else file.path, "r") as opened:
            check_hdf5(opened, file, names)
            yield opened


@dataclass(frozen=True)
class _Stored:
    """What a stream needs to know of an X that stays where it is."""

    file: File
    shape: tuple[int, int]
    indptr: np.ndarray | None


def _reader(name: str, x: Any, file: File | None, obs: Any, words: Any, options: Options) -> AnnDataReader:
    if x is None:
        raise InputError(f"{name} has no X; put the counts there (adata.X = adata.layers['counts'])")
    vocabulary = options.vocabulary or [str(word) for word in words]
    check_width(x.shape, vocabulary, f"X of {name}")
    if len(x.shape) != 2 or x.shape[0] != len(obs):
        raise InputError(f"X of {name} has shape {x.shape}, but obs has {len(obs)} documents; write it again")
    if not obs.columns.is_unique:
        twice = str(obs.columns[obs.columns.duplicated()][0])
        raise InputError(f"obs of {name} has two columns {twice!a}; rename one of them")
    x = checked_csr(x, f"X of {name}") if hasattr(x, "tocsr") else x
    return AnnDataReader(AnnDataStream(name, x, obs, options), file, vocabulary, x.shape[0], options.weights)


@dataclass(frozen=True)
class AnnDataStream:
    name: str
    x: Any
    obs: Any
    options: Options

    def chunks(self) -> Iterator[Chunk]:
        stored = isinstance(self.x, _Stored)
        indptr = getattr(self.x, "indptr", None)
        names = list(self.obs.columns)
        authors = choose(self.options.author_column, AUTHORS, names, "column of obs", self.name)
        for start, stop in row_ranges(indptr, *self.x.shape):
            ends = indptr[start : stop + 1] if stored and indptr is not None else None
            data = (None if stored else self.x[start:stop], ends, self.obs.iloc[start:stop], authors)
            n = stop - start
            yield Chunk(f"X of {self.name}", n, start, stop, data, first_row=start, n_docs=n)


@dataclass
class AnnDataReader:
    stream: AnnDataStream | None
    file: File | None
    vocabulary: list[str]
    size: int
    weights: bool = False
    name: str = "anndata"
    unit: str = "docs"

    @property
    def n_words(self) -> int:
        return len(self.vocabulary)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stream": None}

    def streams(self) -> list[AnnDataStream]:
        assert self.stream is not None
        return [self.stream]

    def parse(self, chunk: Chunk) -> RawBlock:
        rows, indptr, obs, author_column = chunk.data
        if rows is None:
            rows = self._read(chunk, indptr)
        block = matrix_block(rows, weights=self.weights, name=chunk.name, first_row=chunk.first_row or 0)
        first = chunk.first_row or 0

        def place(i: int) -> str:
            return f"{chunk.name}, row {first + i}"

        columns = {
            str(name): column(series_values(obs[name]), str(name), place)
            for name in obs.columns
            if name != author_column
        }
        block = replace(block, ids=id_texts(obs.index), columns=columns)
        if author_column is None:
            return block
        lists = [str(value).split(";") if isinstance(value, str) else value for value in obs[author_column]]
        indptr, names, authors = author_csr(
            [[n.strip() for n in v] if isinstance(v, list) else v for v in lists], place
        )
        return replace(block, author_indptr=indptr, author_names=names, authors=authors)

    def _read(self, chunk: Chunk, indptr: np.ndarray | None) -> Any:
        """Rows `chunk.start:chunk.stop` from the store."""
        assert self.file is not None
        with _group(self.file, ("X",)) as group:
            if indptr is None:
                return np.asarray(group["X"][chunk.start : chunk.stop])
            first, last = int(indptr[0]), int(indptr[-1])
            x = group["X"]
            data, indices = x["data"][first:last], x["indices"][first:last]
        check_columns(indices, self.n_words, chunk.name)
        from scipy.sparse import csr_array

        return csr_array(
            (data, indices, indptr - first), shape=(chunk.stop - chunk.start, self.n_words), copy=False
        )

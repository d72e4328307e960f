"""Matrices, a document per row: sparse ones, 2-d NumPy arrays and what NumPy converts to them, in memory or saved.

Saved are `scipy.sparse.save_npz` files, `numpy.save` files (memory-mapped), and `numpy.savez` files with one
two-dimensional array. They are checked before memory is allocated for what headers claim; nothing pickled is loaded.
"""

from __future__ import annotations

import math
import sys
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import CHUNK_BYTES, CHUNK_DOCS, Chunk, Format, Options, Reader
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.stored_matrix import StoredMatrix
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.counts import check_width, count_remedy, counts_block, first_wrong
from bigtopic.corpus.sparse import (
    as_scipy,
    check_claim,
    check_mask,
    check_numbers,
    checked_csr,
    checked_dense,
    is_array_like,
)
from bigtopic.errors import InputError

__all__ = ["FORMATS", "MatrixReader", "MatrixStream", "matrix_block", "open_reader"]


def _accepts(source: Any) -> bool:
    if isinstance(source, np.ndarray):
        return source.dtype.kind in "iufbc" or source.ndim in (0, 2)
    sparse = sys.modules.get("scipy.sparse")
    scipy = sparse is not None and bool(sparse.issparse(source))
    return is_array_like(source) or scipy or hasattr(source, "to_scipy_sparse")


def open_reader(source: Any, options: Options, name: str = "") -> MatrixReader:
    source = as_scipy(source)
    name = name or ("the matrix" if hasattr(source, "tocsr") else "the array")
    if is_array_like(source) or (isinstance(source, np.ndarray) and source.dtype == object):
        source = checked_dense(source, name)
    if source.ndim != 2:
        raise InputError(f"{name} has {source.ndim} dimensions; give two: documents x words")
    check_width(source.shape, options.vocabulary, name)
    # Rows can only be sliced quickly from CSR.
    source = checked_csr(source, name) if hasattr(source, "tocsr") else source
    n_docs, n_words = source.shape
    return MatrixReader("matrix", options, size=n_docs, stream=MatrixStream(source, name), width=n_words)


@dataclass(frozen=True)
class MatrixStream:
    """Runs of rows. matrix : in memory, or a `StoredMatrix`; beside : ids or other values of the rows, or None"""

    matrix: Any
    name: str
    beside: Any = None

    def chunks(self) -> Iterator[Chunk]:
        for start, stop in _row_ranges(getattr(self.matrix, "indptr", None), *self.matrix.shape):
            beside = None if self.beside is None else self.beside[start:stop]
            yield Chunk.of_rows(self.name, start, stop, (self.matrix[start:stop], beside))


def _row_ranges(indptr: np.ndarray | None, n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """Runs of at most `CHUNK_DOCS` rows and about `CHUNK_BYTES` of entries (8 bytes each)."""
    limit = CHUNK_BYTES // 8
    step = max(1, min(CHUNK_DOCS, limit // max(1, n_columns)))
    start = 0
    while start < n_rows:
        stop = start + step
        if indptr is not None:
            within = int(np.searchsorted(indptr, indptr[start] + limit, side="right")) - 1
            stop = min(max(within, start + 1), start + CHUNK_DOCS)
        yield start, min(stop, n_rows)
        start = stop


@dataclass
class MatrixReader(Reader):
    """Rows travel in the chunks, so that a worker needs nothing of the matrix itself."""

    unit: str = "docs"

    def parse(self, chunk: Chunk) -> RawBlock:
        rows, ids = chunk.data
        block = matrix_block(rows, self.options.weights, chunk)
        return block if ids is None else replace(block, ids=id_texts(ids))


def matrix_block(rows: Any, weights: bool, chunk: Chunk) -> RawBlock:
    """Documents of a 2-d ndarray or sparse matrix, or a `StoredMatrix`, the rows of a chunk.

    Raises
    ------
    InputError
        Naming row and column of a count that is negative, not finite, or fractional without `weights`.
    """
    name, rows = chunk.name, rows.load() if isinstance(rows, StoredMatrix) else rows
    check_numbers(rows.dtype, name)
    sparse = hasattr(rows, "tocsr")
    if sparse:
        rows = checked_csr(rows, name)
        used = slice(rows.indptr[0], rows.indptr[-1])
        indptr, words, values = rows.indptr.astype(np.int64) - used.start, rows.indices[used], rows.data[used]
    else:
        check_mask(rows, name)
        rows = np.asarray(rows)
        documents, words = np.nonzero(rows)
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.bincount(documents, minlength=len(rows)), out=indptr[1:])
        values = rows[documents, words]
    values = values.astype(np.int8) if values.dtype.kind == "b" else values
    if found := first_wrong(indptr, words, values, rows.shape[1], weights):
        row, at, kind = found
        place = f"{name}, row {(chunk.first_row or 0) + row}, column {words[at]}"
        if kind:
            raise InputError(f"{place}: {values[at]!s} is {kind}; {count_remedy(kind)}")
        raise InputError(f"{place} of {rows.shape[1]}; the matrix is damaged; build it again")
    block = counts_block(indptr, words, values, first_row=chunk.first_row)
    return block if sparse else replace(block, n_zeros=0)


# What NumPy, zipfile and SciPy raise when a file is not what it says.
_DAMAGED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    EOFError,
    OverflowError,
    MemoryError,
    SyntaxError,
    RuntimeError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    np.exceptions.ComplexWarning,
)
_REMEDY = "save it again, large ones with scipy.sparse.save_npz(..., compressed=False)"


def _is_saved(file: File) -> float:
    if file.sample.startswith(b"\x93NUMPY"):
        return 1.0
    return 0.9 if file.sample.startswith(b"PK\x03\x04") and file.name.endswith(".npz") else 0.0


def _open_saved(files: Sequence[File], options: Options) -> MatrixReader:
    if len(files) > 1:
        raise InputError(
            f"{files[1].path}: only one saved matrix can be read at a time; ingest one and append the others"
        )
    (file,) = files
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a header of Python 2 takes longer to read
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # SciPy would cast complex indices
            with file.open() as stream:
                load = _load_npy if file.sample.startswith(b"\x93NUMPY") else _load_npz
                matrix = load(stream, file)
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(
            f"{file.path} is not a saved matrix ({error}); save it with scipy.sparse.save_npz"
        ) from None
    return open_reader(matrix, options, name=file.path)


def _load_npy(stream: Any, file: File) -> Any:
    """An `.npy` must hold what its header says; of a compressed one that is known only in the end."""
    header, claimed = _claimed(stream, file.path)
    if file.compression is None and header + claimed > file.size:
        raise InputError(f"{file.path} announces {claimed} bytes, but {file.size - header} follow; {_REMEDY}")
    check_claim(claimed, file.size, file.path, _REMEDY)
    if file.plain:
        return np.load(file.path, mmap_mode="r", allow_pickle=False)
    with file.open() as again:
        return np.load(again, allow_pickle=False)


def _load_npz(stream: Any, file: File) -> Any:
    from scipy.sparse import load_npz

    _check_archive(stream, file)
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as arrays:
        if "format" not in arrays.files:
            found = [name for name in arrays.files if arrays[name].ndim == 2]
            if len(found) != 1:
                raise InputError(
                    f"{file.path} holds {len(found)} two-dimensional arrays; save only the one with the documents"
                )
            return arrays[found[0]]
    stream.seek(0)
    return load_npz(stream)


def _claimed(stream: IO[bytes], what: str) -> tuple[int, int]:
    """Bytes of the header of an array, and of the values it announces."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.hasobject or dtype.kind in "VM" or any(length < 0 for length in shape):
        kind = "Object arrays" if dtype.hasobject else f"arrays of {dtype} and shape {shape}"
        raise InputError(f"{what} is not a saved matrix: {kind} are not read, only numbers")
    return stream.tell(), math.prod(shape) * dtype.itemsize


def _check_archive(stream: IO[bytes], file: File) -> None:
    """Every member of an `.npz`: an array of plain numbers or text, as long as its header says."""
    with zipfile.ZipFile(stream) as archive:
        for member in archive.infolist():
            what = f"{file.path}, member {member.filename!r}"
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
                raise InputError(f"{what} has a compression that NumPy never writes; {_REMEDY}")
            check_claim(member.file_size, min(member.compress_size, file.size), what, _REMEDY)
            with archive.open(member) as opened:
                header, claimed = _claimed(opened, what)
            if header + claimed != member.file_size:
                raise InputError(
                    f"{what} announces {claimed} bytes, but {member.file_size - header} follow; {_REMEDY}"
                )


FORMATS = {
    "matrix": Format(open_reader, accepts=_accepts),
    "saved_matrix": Format(_open_saved, match=_is_saved),
}

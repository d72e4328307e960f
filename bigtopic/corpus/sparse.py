"""Sparse matrices from outside, as CSR. SciPy converts and sorts in compiled loops that trust the matrix, so every
offset and every index is checked first.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.errors import InputError, InputTypeError

__all__ = [
    "ALWAYS",
    "as_scipy",
    "check_claim",
    "check_columns",
    "check_mask",
    "check_numbers",
    "check_offsets",
    "checked_csr",
    "checked_dense",
    "is_array_like",
    "most_bytes",
]

ALWAYS = 1 << 30  # bytes that any array may take
_DENSEST = 200  # above that, bytes for each byte that is there


def most_bytes(there: int) -> int:
    """The largest number of bytes in memory allowed for this many on disk."""
    return max(ALWAYS, _DENSEST * there)


def as_scipy(matrix: Any) -> Any:
    """A sparse array of pydata/sparse as SciPy's; anything else as it is."""
    return matrix.to_scipy_sparse() if hasattr(matrix, "to_scipy_sparse") else matrix


def check_claim(claimed: int, there: int, what: str, remedy: str) -> None:
    """Refuse an array that would take far more memory than it has bytes on disk: a bomb, or a header that lies.

    Raises
    ------
    InputError
    """
    if claimed > most_bytes(there):
        raise InputError(f"{what} claims {claimed} bytes, but {there} are stored; {remedy}")


def checked_csr(matrix: Any, name: str) -> Any:
    """A sparse matrix of any format as CSR whose offsets are right; columns of CSR itself are left to the caller.

    Raises
    ------
    InputError
        When the matrix is inconsistent; names the inconsistency.
    """
    check_numbers(matrix.dtype, name)
    if matrix.ndim != 2:
        raise InputError(f"{name} has {matrix.ndim} dimensions; give two: documents x words")
    native = matrix.dtype.newbyteorder("=")
    if not matrix.dtype.isnative or native == np.float16:  # SciPy's compiled loops know neither
        matrix = matrix.astype(np.float32 if native == np.float16 else native)
    n_rows, n_columns = matrix.shape
    if n_columns > MOST_WORDS:
        raise InputError(f"{name} has {n_columns} columns; at most {MOST_WORDS} are possible")
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix, name)
    elif matrix.format == "coo":
        for ids, n in zip((matrix.row, matrix.col), matrix.shape, strict=True):
            if len(ids) != len(matrix.data):
                raise InputError(
                    f"{name} has {len(ids)} indices and {len(matrix.data)} values; build it again"
                )
            check_columns(ids, n, name)
    if matrix.format == "csr":
        return matrix
    stored = int(getattr(getattr(matrix, "data", None), "nbytes", 0)) or 8 * int(matrix.nnz)  # Python objects
    check_claim(8 * n_rows, stored, f"{name} with {n_rows} rows", "the matrix is damaged; build it again")
    rows = matrix.tocsr()
    check_offsets(rows.indptr, rows.shape[0], len(rows.indices), name)
    check_columns(rows.indices, rows.shape[1], name)
    return rows


def checked_dense(values: Any, name: str) -> np.ndarray:
    """Anything that NumPy converts to two dimensions, as an array of numbers that SciPy supports.

    Raises
    ------
    InputError
    """
    check_mask(values, name)
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name}: its rows differ in length or shape ({error})") from error
    if found.dtype == object:
        try:
            found = found.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"{name} has dtype object; counts must be numbers ({error})") from error
    check_numbers(found.dtype, name)
    if found.ndim != 2:
        raise InputError(f"{name} has {found.ndim} dimensions; give two: documents x words")
    found = found.astype(found.dtype.newbyteorder("="), copy=False)
    return found.astype(np.float32) if found.dtype == np.float16 else found


def is_array_like(values: Any) -> bool:
    """Whether it is rows of numbers that NumPy converts to an array, but is not one."""
    if isinstance(values, list | tuple):
        row = values[0] if values else None
        if not isinstance(row, list | tuple | np.ndarray) or len(row) == 0:
            return False
        return isinstance(row[0], Real) and not isinstance(row[-1], str)
    return hasattr(values, "__array__") and not hasattr(values, "shape")


def check_numbers(dtype: np.dtype, name: str) -> None:
    """Refuse values that cannot be counts.

    Raises
    ------
    InputError
    """
    if dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} has dtype {dtype}; counts must be real numbers")
    if dtype.kind not in "iufb":
        remedy = ", and texts go into bigtopic.ingest as a list" if dtype.kind in "US" else ""
        raise InputError(f"{name} has dtype {dtype}; counts must be numbers{remedy}")


def check_mask(values: Any, name: str) -> None:
    """Refuse an array, or rows, with masked values: what NumPy makes of them has the values under the mask.

    Raises
    ------
    InputError
    """
    if any(map(np.ma.is_masked, values if isinstance(values, list | tuple) else (values,))):
        raise InputError(f"{name} has masked values; say what they count: X.filled(0) replaces them by 0")


def _check_compressed(matrix: Any, name: str) -> None:
    """CSR, CSC, and BSR, whose indices count blocks."""
    height, width = getattr(matrix, "blocksize", (1, 1))
    n_major, n_minor = matrix.shape[0] // height, matrix.shape[1] // width
    if matrix.format == "csc":
        n_major, n_minor = n_minor, n_major
    if len(matrix.indices) != len(matrix.data):
        raise InputError(
            f"{name} has {len(matrix.indices)} indices and {len(matrix.data)} values; build it again"
        )
    if matrix.indices.dtype.kind not in "iu":
        raise InputError(f"{name}: indices have dtype {matrix.indices.dtype}, not integers; build it again")
    check_offsets(matrix.indptr, n_major, len(matrix.indices), name)
    if matrix.format != "csr":
        check_columns(matrix.indices[: matrix.indptr[-1]], n_minor, name)


def check_offsets(indptr: np.ndarray, n: int, n_entries: int, name: str) -> None:
    """indptr must rise from 0 to at most the number of entries, in n steps.

    Raises
    ------
    InputError
    """
    if indptr.ndim != 1 or indptr.dtype.kind not in "iu" or len(indptr) != n + 1:
        raise InputError(
            f"{name}: indptr has shape {indptr.shape} and dtype {indptr.dtype}, but must hold {n + 1} integers; "
            "the matrix is damaged: build it again"
        )
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] > n_entries:
        raise InputError(
            f"{name}: indptr runs from {indptr[0]} to {indptr[-1]} or falls, but must rise from 0 to {n_entries}, "
            "the number of entries; the matrix is damaged: build it again"
        )


def check_columns(ids: np.ndarray, n: int, name: str) -> None:
    """All ids must be from 0 to n - 1.

    Raises
    ------
    InputError
    """
    if not len(ids):
        return
    numbers = ids.dtype.kind in "iu"
    if not numbers or ids.min() < 0 or ids.max() >= n:
        found = f"from {ids.min()} to {ids.max()}" if numbers else f"of dtype {ids.dtype}"
        raise InputError(
            f"{name} has indices {found}, but they must be integers from 0 to {n - 1}; the matrix is damaged: build "
            "it again"
        )

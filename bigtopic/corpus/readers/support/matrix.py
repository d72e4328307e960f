"""Rows of a matrix, dense or sparse, as documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import CHUNK_BYTES, CHUNK_DOCS
from bigtopic.corpus.readers.support.assemble import canonical, check_counts, count_remedy
from bigtopic.corpus.sparse import check_mask, check_numbers, checked_csr
from bigtopic.errors import InputError, VocabularyMismatch

__all__ = ["check_width", "matrix_block", "row_ranges"]


def check_width(shape: tuple[int, int], vocabulary: Sequence[str] | None, name: str) -> None:
    """One word per column.

    Raises
    ------
    VocabularyMismatch
        Naming both shapes; it says so when the matrix is transposed.
    """
    if vocabulary is None or shape[1] == len(vocabulary):
        return
    if shape[0] == len(vocabulary):
        remedy = "it looks transposed: documents are rows, so pass its transpose"
    else:
        remedy = "give one word for each column"
    raise VocabularyMismatch(
        f"{name} has shape {shape[0]} x {shape[1]} (documents x words) but the vocabulary has "
        f"{len(vocabulary)} words; {remedy}"
    )


def row_ranges(indptr: np.ndarray | None, n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """Runs of at most `CHUNK_DOCS` rows and about `CHUNK_BYTES` of entries (8 bytes each)."""
    limit = CHUNK_BYTES // 8
    if indptr is None:
        step = max(1, min(CHUNK_DOCS, limit // max(1, n_columns)))
        yield from ((start, min(start + step, n_rows)) for start in range(0, n_rows, step))
        return
    start = 0
    while start < n_rows:
        stop = int(np.searchsorted(indptr, indptr[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), start + CHUNK_DOCS, n_rows)
        yield start, stop
        start = stop


def matrix_block(
    rows: Any, *, weights: bool, name: str, first_row: int = 0, known_row: bool = True
) -> RawBlock:
    """Documents of a 2-d ndarray or sparse matrix.

    Raises
    ------
    InputError
        Naming row and column of a count that is negative, not finite, or fractional without `weights`.
    """
    indptr, words, values = _csr(rows, name)
    _check(indptr, words, values, rows.shape[1], weights, name, first_row)
    values = values.astype(np.float32)
    present = values != 0
    n_zeros = len(values) - int(np.count_nonzero(present)) if hasattr(rows, "indptr") else 0
    indptr = np.concatenate([[0], np.cumsum(present)])[indptr]
    words, counts = words[present].astype(np.int32), values[present]
    if (np.diff(words) <= 0)[_inside(indptr, len(words))].any():
        indptr, words, counts = canonical(indptr, words, counts)
    return RawBlock(indptr, words, counts, first_row=first_row if known_row else None, n_zeros=n_zeros)


def _inside(indptr: np.ndarray, nnz: int) -> np.ndarray:
    """Which pairs of neighbouring entries belong to one document: (nnz - 1,)."""
    inside = np.ones(nnz + 1, bool)
    inside[indptr] = False
    return inside[1:-1] if nnz else inside[:0]


def _csr(rows: Any, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    check_numbers(rows.dtype, name)
    if hasattr(rows, "tocsr"):
        rows = checked_csr(rows, name)
        indptr = rows.indptr.astype(np.int64)
        values = rows.data[indptr[0] : indptr[-1]]
        return indptr - indptr[0], rows.indices[indptr[0] : indptr[-1]], _plain(values)
    check_mask(rows, name)
    rows = np.asarray(rows)
    documents, words = np.nonzero(rows)
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.bincount(documents, minlength=len(rows)), out=indptr[1:])
    return indptr, words, _plain(rows[documents, words])


def _plain(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int8) if values.dtype.kind == "b" else values


def _check(
    indptr: np.ndarray,
    words: np.ndarray,
    values: np.ndarray,
    width: int,
    weights: bool,
    name: str,
    first_row: int,
) -> None:
    if len(words) and not (words.min() >= 0 and words.max() < width):
        at = int(np.argmax((words < 0) | (words >= width)))
        problem, remedy = f"column {words[at]} of {width}", "the matrix is damaged; build it again"
    elif found := check_counts(values, weights):
        at, kind = found
        problem = f"column {words[at]}: {values[at]!s} is {kind}"
        remedy = count_remedy(kind)
    else:
        return
    row = first_row + int(np.searchsorted(indptr, at, side="right")) - 1
    raise InputError(f"{name}, row {row}, {problem}; {remedy}")

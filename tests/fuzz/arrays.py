"""Sparse matrices whose arrays are mutated: in npz files and in memory; and what they hold, entry by entry."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from fuzz.seeds import COUNTS, N_DOCS, N_WORDS, WORDS
from reference.parsers import Document, Invalid, Unsure

__all__ = ["COUNT_VALUES", "Parts", "make_matrix", "make_npz", "matrix_documents", "sparse_parts"]

Parts = dict[str, Any]
_INTEGERS = [-1, 0, 1, N_WORDS, N_DOCS, 100, 2**31 - 1, 2**31, 2**32 + 1, 2**62, -(2**62)]
COUNT_VALUES = [-1.0, 0.0, 0.5, 3.0, 1e300, 1e39, 1e-60, np.nan, np.inf, -np.inf]
_DTYPES = ["<f4", "<f8", ">f8", "<i2", "<i8", ">i4", "<u8", "?", "<c16", "<f2", "S3", "<U4", "<M8[s]", "i1"]


def sparse_parts(rng: Random) -> tuple[Parts, str]:
    """data, indices, indptr, shape and layout of a matrix after up to two mutations."""
    layout = rng.choice(["csr", "csc"])
    matrix = (sp.csr_array if layout == "csr" else sp.csc_array)(COUNTS)
    parts: Parts = {
        "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr,
        "shape": np.array(COUNTS.shape), "format": layout,
    }  # fmt: skip
    how = [layout, *(_mutate_parts(parts, rng) for _ in range(rng.choice([0, 1, 1, 1, 2])))]
    return parts, ", ".join(how)


def _mutate_parts(parts: Parts, rng: Random) -> str:
    name = rng.choice([name for name in ("data", "indices", "indptr", "shape") if parts[name] is not None])
    values = parts[name]
    action = rng.choice(["set", "set", "set", "cut", "longer", "dtype", "two dimensions", "drop", "shift"])
    if action == "set" and len(values) and values.ndim == 1:
        at = rng.randrange(len(values))
        new = rng.choice(COUNT_VALUES if name == "data" else _INTEGERS)
        values = values.astype(np.float64 if name == "data" else np.int64)
        values[at] = new
    elif action == "cut":
        values = values[: rng.randrange(len(values) + 1)]
    elif action == "longer":
        values = np.concatenate([values, values[-1:], values[:1]])
    elif action == "dtype":
        with np.errstate(all="ignore"):
            values = np.nan_to_num(values.astype(np.float64)).astype(rng.choice(_DTYPES))
    elif action == "two dimensions":
        values = values.reshape(1, -1)
    elif action == "shift" and values.dtype.kind in "iuf":
        values = values + rng.choice([-1, 1])
    elif action == "drop":
        values = None
    parts[name] = values
    return f"{action} {name}"


def matrix_documents(parts: Parts) -> list[Document]:
    """What a sparse matrix holds, entry by entry.

    Raises
    ------
    Invalid, Unsure
    """
    for name in ("data", "indices", "indptr", "shape"):
        values = parts[name]
        if values is None or values.ndim != 1 or values.dtype.kind not in ("iuf" if name == "data" else "iu"):
            raise Unsure(f"the form of {name}")
    if len(parts["shape"]) != 2:
        raise Invalid("shape")
    n_docs, n_words = map(int, parts["shape"])
    if n_docs < 1 or n_docs > 10**6 or n_words != len(WORDS):
        raise Unsure("shape") if n_docs > 10**6 else Invalid("shape")
    by_row = parts["format"] == "csr"
    n_outer, n_inner = (n_docs, n_words) if by_row else (n_words, n_docs)
    indptr, indices = parts["indptr"].tolist(), parts["indices"].tolist()
    if len(indptr) != n_outer + 1 or indptr[0] != 0 or any(a > b for a, b in pairwise(indptr)):
        raise Invalid("indptr")
    if indptr[-1] > min(len(indices), len(parts["data"])):
        raise Invalid("indptr goes beyond the entries")
    if indptr[-1] != len(indices) or indptr[-1] != len(parts["data"]):
        raise Unsure("entries that belong to nobody")
    documents: list[Document] = [{} for _ in range(n_docs)]
    for outer in range(n_outer):
        for at in range(indptr[outer], indptr[outer + 1]):
            inner, count = indices[at], float(parts["data"][at])
            if not 0 <= inner < n_inner or not 0 <= count < 3e38 or count != int(count):
                raise Invalid("an index or a count")
            document, word = (outer, inner) if by_row else (inner, outer)
            if WORDS[word] in documents[document]:
                raise Unsure("an entry twice")
            if count:
                documents[document][WORDS[word]] = count
    if not any(documents):
        raise Unsure("no word at all")
    return documents


def make_npz(rng: Random) -> tuple[bytes, str, Parts]:
    """An npz file of mutated arrays."""
    parts, how = sparse_parts(rng)
    arrays = {name: values for name, values in parts.items() if values is not None}
    arrays["format"] = np.array(parts["format"].encode())
    out = io.BytesIO()
    (np.savez if rng.random() < 0.5 else np.savez_compressed)(out, **arrays)
    return out.getvalue(), how, parts


def make_matrix(rng: Random) -> tuple[Any, str, Callable[[], list[Document]] | None]:
    """A matrix in memory, what was done, and what it holds where that can be said.

    Dense ones have odd dtypes, shapes and values; sparse ones are put together without the checks of SciPy.
    """
    kind = rng.choice(["dense", "sparse", "sparse", "coo"])
    if kind == "dense":
        array = _dense(rng)
        return array, f"dense {array.dtype} {array.shape}", None
    if kind == "coo":
        matrix: Any = sp.coo_array(COUNTS)
        axis, new = rng.randrange(2), rng.choice([-1, N_WORDS - 1, N_WORDS, N_DOCS, 2**31 - 1])
        matrix.coords[axis][rng.randrange(matrix.nnz)] = new
        return matrix, f"coo, {new} on axis {axis}", lambda: _coo_documents(matrix)
    parts, how = sparse_parts(rng)
    matrix = (sp.csr_matrix if parts["format"] == "csr" else sp.csc_matrix)(COUNTS)
    for name in ("data", "indices", "indptr"):
        if parts[name] is not None:
            setattr(matrix, name, parts[name])
    held = {name: getattr(matrix, name) for name in ("data", "indices", "indptr", "format")}
    return matrix, how, lambda: matrix_documents({**held, "shape": np.array(COUNTS.shape)})


def _dense(rng: Random) -> np.ndarray:
    shape = rng.choice([(N_DOCS, N_WORDS), (0, N_WORDS), (N_DOCS, 0), (N_DOCS,), (2, 2, 2), (1, N_WORDS), ()])
    with np.errstate(all="ignore"):
        array = np.ones(shape).astype(rng.choice([*_DTYPES, "O", "V8"]))
    if array.size and array.dtype.kind == "f" and rng.random() < 0.7:
        array.flat[rng.randrange(array.size)] = rng.choice(COUNT_VALUES[:4] + COUNT_VALUES[7:])
    return array[::-1] if rng.random() < 0.2 and array.ndim else array


def _coo_documents(matrix: Any) -> list[Document]:
    documents: list[Document] = [{} for _ in range(N_DOCS)]
    for row, column, count in zip(*(x.tolist() for x in (*matrix.coords, matrix.data)), strict=True):
        if not (0 <= row < N_DOCS and 0 <= column < N_WORDS):
            raise Invalid("an index")
        documents[row][WORDS[column]] = documents[row].get(WORDS[column], 0.0) + count
    return documents

"""Containers of arrays that are sound as files, and whose arrays are not: npz, h5ad, Parquet, objects in memory."""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from reference.parsers import Document, Invalid, Unsure

from fuzz.seeds import COUNTS, N_DOCS, N_WORDS, WORDS

__all__ = ["DOCUMENTS", "make_h5ad", "make_matrix", "make_npz", "make_parquet", "matrix_documents", "sparse_parts"]

Parts = dict[str, Any]
_INTEGERS = [-1, 0, 1, N_WORDS, N_DOCS, 100, 2**31 - 1, 2**31, 2**32 + 1, 2**62, -(2**62)]
_COUNTS = [-1.0, 0.0, 0.5, 3.0, 1e300, 1e39, 1e-60, np.nan, np.inf, -np.inf]
_DTYPES = ["<f4", "<f8", ">f8", "<i2", "<i8", ">i4", "<u8", "?", "<c16", "<f2", "S3", "<U4", "<M8[s]", "i1"]


def sparse_parts(rng: Random) -> tuple[Parts, str]:
    """data, indices, indptr, shape and layout of a matrix after up to two mutations."""
    layout = rng.choice(["csr", "csc"])
    matrix = (sp.csr_array if layout == "csr" else sp.csc_array)(COUNTS)
    parts: Parts = {
        "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr,
        "shape": np.array(COUNTS.shape), "format": layout,
    }  # fmt: skip
    how = [layout]
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        how.append(_mutate_parts(parts, rng))
    return parts, ", ".join(how)


def _mutate_parts(parts: Parts, rng: Random) -> str:
    name = rng.choice(["data", "indices", "indptr", "shape"])
    values = parts[name]
    action = rng.choice(["set", "set", "set", "cut", "longer", "dtype", "two dimensions", "drop", "shift"])
    if action == "set" and len(values) and values.ndim == 1:
        at = rng.randrange(len(values))
        new = rng.choice(_COUNTS if name == "data" else _INTEGERS)
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
    if len(indptr) != n_outer + 1 or indptr[0] != 0 or any(a > b for a, b in zip(indptr, indptr[1:], strict=False)):
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


# ------------------------------------------------------------------ HDF5


def make_h5ad(path: Path, secret: Path, rng: Random) -> tuple[str, Parts | None]:
    """Change a valid h5ad file in place; returns what was done and, where only X changed, its parts."""
    import h5py

    with h5py.File(path, "r+") as file:
        if rng.random() < 0.5:
            parts, how = sparse_parts(rng)
            _write_x(file, parts)
            return f"X: {how}", parts
        action = rng.choice(_H5)
        action(file, secret, rng)
        return action.__name__.strip("_"), None


def _write_x(file: Any, parts: Parts) -> None:
    del file["X"]
    x = file.create_group("X")
    x.attrs.update({"encoding-type": f"{parts['format']}_matrix", "encoding-version": "0.1.0"})
    if parts["shape"] is not None:
        x.attrs["shape"] = parts["shape"].astype(np.float64) if parts["shape"].dtype.kind in "MU" else parts["shape"]
    for name in ("data", "indices", "indptr"):
        values = parts[name]
        if values is not None:
            x.create_dataset(name, data=values.astype("S8") if values.dtype.kind in "MU" else values)


def _h5_external(file: Any, secret: Path, rng: Random) -> None:
    """Values taken from another file of the machine."""
    del file["X"]
    file.create_dataset("X", (N_DOCS, N_WORDS), "i1", external=[(str(secret), 0, N_DOCS * N_WORDS)])
    file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


def _h5_external_part(file: Any, secret: Path, rng: Random) -> None:
    n = len(file["X/data"])
    del file["X/data"]
    file["X"].create_dataset("data", (n,), "i1", external=[(str(secret), 0, n)])


def _h5_external_link(file: Any, secret: Path, rng: Random) -> None:
    import h5py

    other = secret.with_name("other.h5")
    with h5py.File(other, "w") as written:
        written.create_dataset("X", data=COUNTS)
    name = rng.choice(["X", "obs", "X/data"])
    del file[name]
    file[name] = h5py.ExternalLink(str(other), "/X")


def _h5_soft_link(file: Any, secret: Path, rng: Random) -> None:
    import h5py

    name = rng.choice(["X", "obs", "var", "X/indptr", "obs/year"])
    del file[name]
    file[name] = h5py.SoftLink(rng.choice(["/", "/X", "/obs", "/nothing", "/" + name]))


def _h5_virtual(file: Any, secret: Path, rng: Random) -> None:
    """A data set whose values are in another file."""
    import h5py

    other = secret.with_name("other.h5")
    with h5py.File(other, "w") as written:
        written.create_dataset("X", data=COUNTS)
    layout = h5py.VirtualLayout(COUNTS.shape, COUNTS.dtype)
    layout[:] = h5py.VirtualSource(str(other), "X", COUNTS.shape)
    del file["X"]
    file.create_virtual_dataset("X", layout)


def _h5_huge(file: Any, secret: Path, rng: Random) -> None:
    """A shape of 10^12 with nothing in it."""
    name = rng.choice(["X", "X/indptr", "X/indices", "X/data", "obs/_index", "var/_index", "obs/year"])
    attributes = dict(file[name].attrs)
    del file[name]
    shape = (10**12, N_WORDS) if name == "X" else (10**12,)
    dtype: Any = "S10" if name.endswith("_index") else "i8"
    chunks = (1024, N_WORDS) if name == "X" else (1024,)
    file.create_dataset(name, shape, dtype, chunks=chunks).attrs.update(
        {} if name == "X" else attributes
    )


def _h5_length(file: Any, secret: Path, rng: Random) -> None:
    """One column, or the whole frame, has another length."""
    name = rng.choice(["obs/year", "obs/_index", "var/_index", "obs/label/codes", "obs/label/categories"])
    values, attributes = file[name][:], dict(file[name].attrs)
    del file[name]
    new = rng.choice([values[:-2], np.concatenate([values, values]), values[:0], values.reshape(1, -1)])
    file.create_dataset(name, data=new, dtype=values.dtype if values.dtype.kind != "O" else h5_text())
    file[name].attrs.update(attributes)


def h5_text() -> Any:
    import h5py

    return h5py.string_dtype()


def _h5_value(file: Any, secret: Path, rng: Random) -> None:
    name = rng.choice(["obs/year", "obs/label/codes"])
    values = file[name][:]
    values[rng.randrange(len(values))] = rng.choice([-1, -2, 100, 127])
    file[name][:] = values


def _h5_drop(file: Any, secret: Path, rng: Random) -> None:
    name = rng.choice(["X", "obs", "var", "obs/_index", "obs/year", "X/data", "X/indices", "X/indptr"])
    del file[name]


def _h5_attribute(file: Any, secret: Path, rng: Random) -> None:
    """An attribute dropped or of another value."""
    name = rng.choice(["/", "X", "obs", "var", "obs/_index", "obs/label", "obs/year"])
    attributes = file[name].attrs
    if not len(attributes):
        return
    key = rng.choice(sorted(attributes))
    if rng.random() < 0.3:
        del attributes[key]
    else:
        attributes[key] = rng.choice(
            ["", "x", "csr_matrix", "csc_matrix", "array", "dataframe", "categorical", -5, [1], [-1, 2], 0.5, [10**15] * 2]
        )


def _h5_dataset_for_group(file: Any, secret: Path, rng: Random) -> None:
    name = rng.choice(["obs", "var", "X", "obs/label"])
    del file[name]
    file.create_dataset(name, data=rng.choice([np.zeros(3), np.zeros((N_DOCS, N_WORDS)), 3.0]))


_H5: list[Callable[[Any, Path, Random], None]] = [
    _h5_external, _h5_external_part, _h5_external_link, _h5_soft_link, _h5_virtual, _h5_huge, _h5_length, _h5_value,
    _h5_drop, _h5_attribute, _h5_attribute, _h5_dataset_for_group,
]  # fmt: skip


# ------------------------------------------------------------------ tables and objects


def odd_values(rng: Random) -> list[Any]:
    """A column of values of one odd type."""
    return rng.choice(
        [
            [["x", "q"], []], [{"a": 1}, {"a": 2}], [datetime.date(2020, 1, 1)] * 2, [datetime.datetime(1, 1, 1)] * 2,
            [decimal.Decimal("1.5")] * 2, [b"\xff\xfe"] * 2, [None, None], [True, None], [1.5, float("nan")], [2**62, -1],
            ["a\0b", "\x1b[31m"], [[["deep"]], None], ["", ""], [datetime.timedelta(1)] * 2, [1, 2],
        ]  # fmt: skip
    )  # fmt: skip


_NAMES = ["zarr.json", "../x", "", ".", "a/b", "year", "id", "text", "source_row", "document_id", "\x1b[31m", "c" * 300]


def make_parquet(rng: Random) -> tuple[bytes, str]:
    """A sound Parquet file with columns of odd types and names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 2
    body = rng.choice([["a b", "c"], [["a"], ["b", "c"]], [None, "a"], [[None], ["a"]], odd_values(rng)])
    columns: list[tuple[str, Any]] = [(rng.choice(["text", "text", "tokens", "counts"]), body)]
    if rng.random() < 0.25:
        columns = [("document", rng.choice([["a", "b"], odd_values(rng)])), ("word", ["x", "y"])]
        columns.append(("count", rng.choice([[1, 2], odd_values(rng), _COUNTS[:2], [2**62, 1]])))
        rng.shuffle(columns)
    for _ in range(rng.choice([0, 1, 2])):
        columns.append((rng.choice(_NAMES), odd_values(rng)))
    arrays = [pa.array(list(values)[:n]) for _, values in columns]
    table = pa.Table.from_arrays(arrays, names=[name for name, _ in columns])
    if rng.random() < 0.1:
        table = table.slice(0, 0)
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue(), ", ".join(f"{name!r}: {array.type}" for (name, _), array in zip(columns, arrays, strict=True))


def make_matrix(rng: Random) -> tuple[Any, str]:
    """A matrix in memory: odd dtypes, shapes and values; sparse ones are put together without checks."""
    kind = rng.choice(["dense", "sparse", "sparse", "coo"])
    if kind == "dense":
        shape = rng.choice([(N_DOCS, N_WORDS), (0, N_WORDS), (N_DOCS, 0), (N_DOCS,), (2, 2, 2), (1, N_WORDS), ()])
        with np.errstate(all="ignore"):
            array = np.ones(shape).astype(rng.choice([*_DTYPES, "O", "V8"]))
        if array.size and array.dtype.kind == "f" and rng.random() < 0.7:
            array.flat[rng.randrange(array.size)] = rng.choice(_COUNTS[:4] + _COUNTS[7:])
        return array[::-1] if rng.random() < 0.2 and array.ndim else array, f"dense {array.dtype} {array.shape}"
    if kind == "coo":
        matrix: Any = sp.coo_array(COUNTS)
        matrix.coords[rng.randrange(2)][rng.randrange(matrix.nnz)] = rng.choice([-1, 5, 6, 8, 2**31 - 1])
        return matrix, "coo"
    parts, how = sparse_parts(rng)
    matrix = (sp.csr_matrix if parts["format"] == "csr" else sp.csc_matrix)(COUNTS)
    for name in ("data", "indices", "indptr"):
        if parts[name] is not None:
            setattr(matrix, name, parts[name])
    return matrix, how


def _odd(rng: Random) -> Any:
    return rng.choice(
        [None, "", "a b", "\ud800", "a\0b", 3, -1, 0.5, float("nan"), 10**400, True, b"bytes", [], {}, [1], ["a"],
         [("a", 1)], [(1, 2)], [(1, 2, 3)], [(-1, 2)], [(2**31, 1)], [(1, 10**400)], {"a": 1}, {"a": -1},
         {"a": 10**400}, {"a": None}, {1: 2}, {2**70: 1}, {"\ud800": 1}, {"text": "a"}, {"text": None}, {"text": 3},
         {"text": ["a", 3]}, {"counts": {"a": 1}}, {"text": "a", "zarr.json": 1}, {"text": "a", "../x": "b"},
         {"text": "a", "authors": {"x": 1}}, {"text": "a", "authors": [None, 3]}, {"text": "a", "id": [1]},
         {"text": "a", "year": 10**400}, {"text": "a", "year": "\ud800"}, {"text": "a", 3: 4}, {"text": "a", "": 1},
         {"text": "a", "when": datetime.date(2020, 1, 1)}, {"text": "a", "l": ["x"]}, {"text": "a", "d": {"x": 1}},
         {"text": "a", "source_row": 7}, {"text": "a", "document_id": "z"}, {"text": "a", "x": b"b"},
         np.array(["a"]), np.array([[1, 2]]), np.float64(3), object(), iter(["a"]), {"a"}, frozenset({"b"}), range(3)]
    )  # fmt: skip


def _texts(rng: Random) -> Any:
    return ["a b", "c a", "b"] * rng.choice([1, 5])


def _tokens(rng: Random) -> Any:
    return [["a", "b"], ["c"], []] * rng.choice([1, 5])


def _counters(rng: Random) -> Any:
    return [{"a": 1, "b": 2}, {}, {"c": 1}]


def _pairs(rng: Random) -> Any:
    return [[(0, 1), (2, 3)], [(1, 1)]]


def _records(rng: Random) -> Any:
    return [{"text": "a b", "id": "x", "year": 3, "authors": ["p"]}, {"text": "c", "id": "y", "year": 4}]


DOCUMENTS: dict[str, Callable[[Random], list[Any]]] = {
    make.__name__.strip("_"): make for make in (_texts, _tokens, _counters, _pairs, _records)
}


def mutate_documents(documents: list[Any], rng: Random) -> tuple[Any, str]:
    """Some documents with odd ones among them; or an iterator over them."""
    documents, how = list(documents), []
    for _ in range(rng.choice([0, 1, 1, 2])):
        odd = _odd(rng)
        documents.insert(rng.randrange(len(documents) + 1), odd)
        how.append(repr(odd)[:60])
    if rng.random() < 0.05:
        documents = []
    return (iter(documents) if rng.random() < 0.2 else documents), "odd: " + ", ".join(how)

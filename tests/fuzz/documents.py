"""Documents of odd types and under odd names: in Parquet files and as Python objects."""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from fuzz.arrays import COUNT_VALUES

__all__ = ["DOCUMENTS", "make_parquet", "mutate_documents"]

_ODD: list[list[Any]] = [
    [["x", "q"], []], [{"a": 1}, {"a": 2}], [datetime.date(2020, 1, 1)] * 2, [datetime.datetime(1, 1, 1)] * 2,
    [decimal.Decimal("1.5")] * 2, [b"\xff\xfe"] * 2, [None, None], [True, None], [1.5, float("nan")], [2**62, -1],
    ["a\0b", "\x1b[31m"], [[["deep"]], None], ["", ""], [datetime.timedelta(1)] * 2, [1, 2],
]  # fmt: skip
"""Columns, each of one odd type."""

_NAMES = [
    "zarr.json",
    "../x",
    "",
    ".",
    "a/b",
    "year",
    "id",
    "text",
    "source_row",
    "document_id",
    "\x1b[31m",
    "c" * 300,
]


def make_parquet(rng: Random) -> tuple[bytes, str]:
    """A sound Parquet file with columns of odd types and names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 2
    body = rng.choice([["a b", "c"], [["a"], ["b", "c"]], [None, "a"], [[None], ["a"]], rng.choice(_ODD)])
    columns: list[tuple[str, Any]] = [(rng.choice(["text", "text", "tokens", "counts"]), body)]
    if rng.random() < 0.25:
        columns = [("document", rng.choice([["a", "b"], rng.choice(_ODD)])), ("word", ["x", "y"])]
        columns.append(("count", rng.choice([[1, 2], rng.choice(_ODD), COUNT_VALUES[:2], [2**62, 1]])))
        rng.shuffle(columns)
    for _ in range(rng.choice([0, 1, 2])):
        columns.append((rng.choice(_NAMES), rng.choice(_ODD)))
    arrays = [pa.array(list(values)[:n]) for _, values in columns]
    table = pa.Table.from_arrays(arrays, names=[name for name, _ in columns])
    if rng.random() < 0.1:
        table = table.slice(0, 0)
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue(), ", ".join(
        f"{name!r}: {array.type}" for (name, _), array in zip(columns, arrays, strict=True)
    )


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

"""Parquet: a row per document; topics are float32 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from bigtopic.errors import require
from bigtopic.estimators.topic_stores.formats._table import Format, TopicsToWrite, tables

__all__ = ["FORMAT", "arrow_tables"]


def _write(file: IO[bytes], topics: TopicsToWrite) -> None:
    """Raises MissingExtra without pyarrow."""
    parquet, writer = require("pyarrow.parquet", "parquet"), None
    for table in arrow_tables(topics):
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def arrow_tables(topics: TopicsToWrite) -> Iterator[Any]:
    """The documents in small tables, one after the other; an empty one if there are none.

    Raises
    ------
    MissingExtra
        Without pyarrow.
    """
    pyarrow = require("pyarrow", "parquet")
    for columns in tables(topics):
        arrays = [
            pyarrow.array(values.tolist(), pyarrow.string())
            if values.dtype.kind == "O"
            else pyarrow.array(np.ascontiguousarray(values))
            for values in columns
        ]
        yield pyarrow.Table.from_arrays(arrays, names=topics.header)


FORMAT = Format("parquet", _write, streams=False)

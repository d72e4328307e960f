"""Parquet: a row per document; topics are float32 columns."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from bigtopic.errors import require
from bigtopic.estimators.topic_stores.batches import Batch
from bigtopic.estimators.topic_stores.formats._table import Format, TopicsToWrite, blocks, dense, values_of

__all__ = ["FORMAT"]


def _write(file: IO[bytes], topics: TopicsToWrite) -> None:
    """Raises MissingExtra without pyarrow."""
    pyarrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    writer = None
    for batch in blocks(topics):
        table = _table(pyarrow, batch, topics)
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is None:
        columns = [np.empty(0, object)] * (1 + len(topics.columns))
        columns += [np.empty(0, np.float32)] * topics.n_components
        writer = parquet.ParquetWriter(file, _of_columns(pyarrow, columns, topics).schema)
    writer.close()


def _table(pyarrow: Any, batch: Batch, topics: TopicsToWrite) -> Any:
    shares = dense(batch, topics.n_components)
    return _of_columns(pyarrow, [*values_of(batch, topics.columns), *shares.T], topics)


def _of_columns(pyarrow: Any, columns: list[np.ndarray], topics: TopicsToWrite) -> Any:
    arrays = [
        pyarrow.array(values.tolist(), pyarrow.string())
        if values.dtype.kind == "O"
        else pyarrow.array(np.ascontiguousarray(values))
        for values in columns
    ]
    return pyarrow.Table.from_arrays(arrays, names=topics.header)


FORMAT = Format("parquet", _write, streams=False)

"""Parquet: a column with the text (or lists of tokens), or the columns document, word, count (rows of a document
together). Read batch by batch; further columns keep their types.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.containers.files import File, intact
from bigtopic.corpus.readers.support.arrow import ArrowReader, ArrowStream, arrow_layout
from bigtopic.corpus.readers.tables.roles import refuse_matrix
from bigtopic.errors import InputError, require

__all__ = ["match", "open_reader"]


def match(file: File) -> float:
    return 1.0 if file.sample[:4] == b"PAR1" else 0.0


def open_reader(files: Sequence[File], options: Options) -> ParquetReader:
    schema = _schema(files[0])
    sizes = []
    for file in files:
        with _opened(file) as parquet:
            if sorted(parquet.schema_arrow.names) != sorted(schema.names):
                raise InputError(
                    f"{file.path} has different columns from {files[0].path}; give files of one schema"
                )
            sizes.append(parquet.metadata.num_rows)
    first = files[next((i for i, size in enumerate(sizes) if size), 0)]
    layout, kind = arrow_layout(schema, _Batches(first), options, first.path)
    refuse_matrix(layout, first.path, "pyarrow.parquet.read_table")
    return ParquetReader(
        "parquet", options, kind, sum(sizes), "docs", files=tuple(files), taken=layout.taken, layout=layout
    )


@contextlib.contextmanager
def _opened(file: File) -> Iterator[Any]:
    """The open file; whatever Arrow raises about its contents is the file's fault."""
    parquet = require("pyarrow.parquet", "parquet")
    with intact(file.path), parquet.ParquetFile(file.path if not file.remote else file.open_raw()) as opened:
        yield opened


def _schema(file: File) -> Any:
    with _opened(file) as parquet:
        return parquet.schema_arrow


@dataclass(frozen=True)
class _Batches:
    """The batches of a file."""

    file: File

    def __call__(self, n_rows: int, columns: list[str]) -> Iterator[Any]:
        with _opened(self.file) as parquet:
            yield from parquet.iter_batches(n_rows, columns=columns)


@dataclass
class ParquetReader(ArrowReader):
    files: tuple[File, ...] = field(default=())

    def streams(self) -> list[ArrowStream]:
        return [ArrowStream(file.path, self.layout, _Batches(file)) for file in self.files]

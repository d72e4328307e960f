"""Parquet: a column with the text (or lists of tokens), or the columns document, word, count (rows of a document
together). Read batch by batch; further columns keep their types.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import CHUNK_DOCS, Chunk, Options
from bigtopic.corpus.readers.containers.files import File, intact
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents, kind_of
from bigtopic.corpus.readers.support.tables import (
    TableLayout,
    Together,
    table_documents,
    table_layout,
    triples_block,
)
from bigtopic.corpus.text.raw import RawBlock
from bigtopic.errors import InputError, require

__all__ = ["match", "open_reader"]

_TRIPLES = 1 << 19


def match(file: File) -> float:
    return 1.0 if file.sample[:4] == b"PAR1" else 0.0


def open_reader(files: Sequence[File], options: Options) -> ParquetReader:
    names = _names(files[0])
    layout = table_layout(names, options, files[0].path)
    _check_unique(layout, files[0].path)
    size = 0
    for file in files:
        with _opened(file) as parquet:
            if parquet.schema_arrow.names != names:
                raise InputError(
                    f"{file.path} has different columns from {files[0].path}; give files of one schema"
                )
            size += parquet.metadata.num_rows
    kind = "text" if layout.triple else _kind(files[0], layout)
    return ParquetReader("parquet", options, kind, size, "docs", files=tuple(files), layout=layout)


def _check_unique(layout: TableLayout, where: str) -> None:
    """Columns are read by their names."""
    for name in layout.used:
        if layout.names.count(name) > 1:
            raise InputError(
                f"{where} has several columns {name!r}; rename them, or leave them out by naming the columns to keep "
                "with columns="
            )


@contextlib.contextmanager
def _opened(file: File) -> Iterator[Any]:
    """The open file; whatever Arrow raises about its contents is the file's fault."""
    parquet = require("pyarrow.parquet", "parquet")
    with intact(file.path), parquet.ParquetFile(file.path if not file.remote else file.open_raw()) as opened:
        yield opened


def _names(file: File) -> list[str]:
    with _opened(file) as parquet:
        return list(parquet.schema_arrow.names)


def _kind(file: File, layout: TableLayout) -> str:
    with _opened(file) as parquet:
        batch = next(parquet.iter_batches(1000, columns=[layout.names[layout.body]]), None)
        bodies = batch.column(0).to_pylist() if batch is not None else []
    return next((kind for kind in map(kind_of, bodies) if kind is not None), "text")


@dataclass(frozen=True)
class ParquetStream:
    file: File
    layout: TableLayout

    def chunks(self) -> Iterator[Chunk]:
        columns = list(self.layout.used)
        with _opened(self.file) as parquet:
            if self.layout.triple is None:
                yield from self._rows(parquet, columns)
            else:
                yield from self._documents(parquet, columns)

    def _rows(self, parquet: Any, columns: list[str]) -> Iterator[Chunk]:
        row = 0
        for batch in parquet.iter_batches(CHUNK_DOCS, columns=columns):
            n = batch.num_rows
            yield Chunk(self.file.path, n, row, row + n, batch, n_docs=n)
            row += n

    def _documents(self, parquet: Any, columns: list[str]) -> Iterator[Chunk]:
        """Batches of rows, each cut where its last document begins; the rest waits for the next."""
        pyarrow = require("pyarrow", "parquet")
        assert self.layout.triple is not None
        name, row, left, together = self.layout.names[self.layout.triple[0]], 0, None, Together()
        for batch in parquet.iter_batches(_TRIPLES, columns=columns):
            table = pyarrow.Table.from_batches([batch])
            table = table if left is None else pyarrow.concat_tables([left, table])
            documents = _plain(table[name])
            same = np.flatnonzero(documents != documents[-1])
            cut = int(same[-1]) + 1 if len(same) else 0
            left = table.slice(cut)
            if cut:
                yield self._chunk(table.slice(0, cut), row, documents[:cut], together)
                row += cut
        if left is not None and left.num_rows:
            yield self._chunk(left, row, _plain(left[name]), together)

    def _chunk(self, table: Any, row: int, documents: np.ndarray, together: Together) -> Chunk:
        starts = np.flatnonzero(np.append(True, documents[1:] != documents[:-1]))
        names = documents[starts].tolist()
        n_docs = together.check(names, lambda i: f"{self.file.path}, row {row + starts[i]}")
        return Chunk(
            self.file.path, table.num_rows, row, row + table.num_rows, table.combine_chunks(), n_docs=n_docs
        )


def _plain(values: Any) -> np.ndarray:
    return (
        values.to_numpy(zero_copy_only=False)
        if values.num_chunks == 1
        else values.combine_chunks().to_numpy(False)
    )


def _listed(chunk: Chunk, name: str) -> list[Any]:
    try:
        return chunk.data.column(name).to_pylist()
    except (ValueError, OverflowError) as error:  # a date of the year 20000, nanoseconds without pandas
        raise InputError(
            f"{chunk.name}, rows from {chunk.start}: column {name!r} holds values that Python cannot represent "
            f"({error}); convert it, or leave it out by naming the columns to keep with columns="
        ) from None


@dataclass
class ParquetReader(DocumentReader):
    files: tuple[File, ...] = field(default=())
    layout: TableLayout = field(default_factory=lambda: TableLayout(()))

    def streams(self) -> list[ParquetStream]:
        return [ParquetStream(file, self.layout) for file in self.files]

    def documents(self, chunk: Chunk) -> Documents:
        found = {name: _listed(chunk, name) for name in chunk.data.schema.names}
        columns: list[Any] = [found.get(name, ()) for name in self.layout.names]
        return table_documents(columns, self.layout, self._place(chunk))

    def _place(self, chunk: Chunk) -> Any:
        return lambda i: f"{chunk.name}, row {chunk.start + i}"

    def parse(self, chunk: Chunk) -> RawBlock:
        pyarrow = require("pyarrow", "parquet")
        try:
            return self._parse(chunk)
        except (UnicodeDecodeError, pyarrow.ArrowException) as error:
            # Arrow does not look at text when it reads
            raise InputError(
                f"{chunk.name}, rows {chunk.start} to {chunk.stop}: a column is damaged ({error}); get it again"
            ) from error

    def _parse(self, chunk: Chunk) -> RawBlock:
        if self.layout.triple is None:
            return super().parse(chunk)
        document, word, count = (chunk.data.column(self.layout.names[i]) for i in self.layout.triple)
        place = self._place(chunk)
        for cells in (document, word, count):
            if cells.null_count:
                at = cells.is_null().to_pylist().index(True)
                raise InputError(f"{place(at)} has an empty cell; every row needs document, word and count")
        encoded = word.combine_chunks().dictionary_encode()
        encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
        vocabulary = [str(value) for value in encoded.dictionary.to_pylist()]
        values = _plain(count)
        if values.dtype.kind not in "iuf":
            raise InputError(
                f"{place(0)}: column {self.layout.names[self.layout.triple[2]]} does not hold numbers"
            )
        given = None if self.vocabulary is None else self._index
        ids = encoded.indices.to_numpy()
        return triples_block(_plain(document), ids, vocabulary, values, place, self.options.weights, given)

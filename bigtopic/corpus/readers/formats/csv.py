"""CSV and TSV: a text column, or the three columns document, word, count (rows of a document together).

Further columns are typed as pandas would type them; for several authors in a cell see `split_names`. A first line such
as "sep=;", as Excel writes it, names the delimiter.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bigtopic.corpus.readers.base import Chunk, Options
from bigtopic.corpus.readers.containers.dialect import (
    Dialect,
    dialect_of,
    line_ends,
    misquoted,
    row_start,
    separator_line,
    wrong_quote,
)
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File
from bigtopic.corpus.readers.containers.lines import decode
from bigtopic.corpus.readers.containers.pieces import chunk_bytes, first_line, pieces
from bigtopic.corpus.readers.support.tables import Together
from bigtopic.corpus.readers.tables.cells import CellsReader, numeric_columns
from bigtopic.corpus.readers.tables.header import column_names, has_header
from bigtopic.corpus.readers.tables.roles import refuse_matrix, table_layout
from bigtopic.corpus.readers.tables.sample import SAMPLE_ROWS, Sample
from bigtopic.errors import InputError, argument

__all__ = ["match", "open_reader"]

_FEWEST_LINES = 4  # a sample with fewer says too little: a table may have a column for each of 20,000 words
_LONG_SAMPLE = 1 << 22  # bytes that are looked at then


def match(file: File) -> float:
    """By name; plain text with commas in it is not a table."""
    return 0.7 if file.name.lower().endswith((".csv", ".tsv", ".tab")) else 0.0


def open_reader(files: Sequence[File], options: Options) -> CsvReader:
    opened = [_Opened.of(file, options) for file in files]
    first = opened[0]
    for file, other in zip(files, opened, strict=True):
        if sorted(other.names) != sorted(first.names):
            raise InputError(
                f"{file.path} has columns {', '.join(other.names)}; {files[0].path} has {', '.join(first.names)}; give "
                f"files with the same columns, or {argument('header', ...)} if one has names and the other has not"
            )
    columns = first.columns
    table = Sample(tuple(first.names), lambda i: columns[i], numeric_columns(columns), named=first.header)
    layout = table_layout(table, options, files[0].path)
    refuse_matrix(layout, files[0].path, "pandas.read_csv")
    return CsvReader(
        "csv",
        options,
        "text" if layout.triple is None else "triples",
        sum(file.size for file in files),
        taken={"header": "the first row" if first.header else "none", **layout.taken},
        layout=layout,
        untyped=True,
        files=tuple(files),
        dialects=tuple(other.dialect for other in opened),
        orders=tuple(other.places(first.names) for other in opened),
    )


@dataclass(frozen=True)
class _Opened:
    """The beginning of a file: its dialect, the names of its columns, and its first rows."""

    dialect: Dialect
    names: list[str]
    header: bool
    rows: list[list[str]]

    @classmethod
    def of(cls, file: File, options: Options) -> _Opened:
        sample, limit = file.sample, SAMPLE_BYTES
        if len(sample) == limit and line_ends(sample) < _FEWEST_LINES:
            limit = _LONG_SAMPLE
            sample = file.first(limit)
        if cut := len(sample) == limit:
            sample = sample[: sample.rfind(b"\n") + 1 or sample.rfind(b"\r") + 1] or sample
        skipped, delimiter = separator_line(sample)
        sample, line = sample[skipped:], 1 + bool(skipped)
        text = _decoded(sample, options, file.path, lambda: line).removeprefix("\ufeff")
        dialect = dialect_of(file, text, delimiter)
        if not cut and (wrong := wrong_quote(text, dialect)):
            raise misquoted(file.path, line, text, *wrong)
        rows = [row for row in dialect.rows(io.StringIO(text, newline="")) if row]
        if not rows:
            raise InputError(f"{file.path} has no rows; there is nothing to read")
        if not has_header(rows[: SAMPLE_ROWS + 1], options, file.path):
            names = [str(i) for i in range(len(rows[0]))]
            return cls(replace(dialect, begin=skipped), names, False, rows[:SAMPLE_ROWS])
        begin = dialect.find_record(sample, 0) if dialect.quoted else row_start(sample, 0)
        if begin < 0 and cut:
            raise InputError(
                f"{file.path}, line 1: the row of names is longer than {limit >> 10} KiB; correct it"
            )
        begin = skipped + (begin if begin > 0 else len(sample))
        return cls(replace(dialect, begin=begin), column_names(rows[0]), True, rows[1 : SAMPLE_ROWS + 1])

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Where the columns of these names are."""
        place = {name: i for i, name in enumerate(self.names)}
        return tuple(place[name] for name in names)

    @property
    def columns(self) -> list[list[str]]:
        """The first cells of each column."""
        return [[row[i] for row in self.rows if i < len(row)] for i in range(len(self.names))]


@dataclass(frozen=True)
class CsvStream:
    """Chunks of whole records, or of whole documents where each has many rows.

    document : then the column that names it, or None
    """

    file: File
    dialect: Dialect
    document: int | None
    options: Options

    def chunks(self) -> Iterator[Chunk]:
        triples = self.document is not None
        find = (
            self._find_document if triples else self.dialect.find_record if self.dialect.quoted else row_start
        )
        whole = self.options.whole or triples or self.dialect.quoted
        together = Together()
        opened = self.dialect.open_quote if self.dialect.quoted and not triples else None
        begin = self.dialect.begin
        n_shorter = 4 if triples else 1
        for chunk in pieces(
            self.file, find, n_shorter=n_shorter, begin=begin, whole=whole, opened=opened, ends=line_ends
        ):
            n_docs = self._count(chunk, together) if self.options.whole or triples else None
            yield replace(chunk, data=None if self.file.plain else chunk.data, n_docs=n_docs)

    def _find_document(self, buffer: bytes, start: int) -> int:
        assert self.document is not None
        at, last = row_start(buffer, start), None
        while at >= 0 and (end := row_start(buffer, at)) >= 0:
            line = buffer[at:end].decode(self.options.text.encoding, "replace")
            cells: list[str] = next(self.dialect.rows(io.StringIO(line, newline="")), [])
            document = cells[self.document] if len(cells) > self.document else last
            if last is not None and document != last:
                return at
            at, last = end, document
        return -1

    def _count(self, chunk: Chunk, together: Together) -> int:
        """Documents of a chunk."""
        first = chunk.first_line or 1
        text = _decoded(chunk.data, self.options, chunk.name, lambda: first)
        rows = self.dialect.rows(io.StringIO(text, newline=""))
        at = self.document
        if at is None:
            return sum(map(bool, rows))
        # Rows without this cell are for the parser to complain about.
        numbered = [(i, row[at]) for i, row in enumerate(rows) if len(row) > at]
        return together.check(
            [name for _, name in numbered], lambda i: f"{chunk.name}, line {first + numbered[i][0]}"
        )


@dataclass
class CsvReader(CellsReader):
    files: tuple[File, ...] = field(default=())
    dialects: tuple[Dialect, ...] = field(default=())
    orders: tuple[tuple[int, ...], ...] = field(default=())

    def streams(self) -> list[CsvStream]:
        triple = self.layout.triple
        return [
            CsvStream(file, dialect, None if triple is None else order[triple[0]], self.options)
            for file, dialect, order in zip(self.files, self.dialects, self.orders, strict=True)
        ]

    def cells(self, chunk: Chunk) -> tuple[list[list[str]], Callable[[int], str]]:
        number = next(i for i, file in enumerate(self.files) if file.path == chunk.name)
        file, width = self.files[number], len(self.layout.names)
        first = partial(first_line, chunk, file, line_ends)
        text = _decoded(chunk_bytes(chunk, file), self.options, chunk.name, first)
        if chunk.begins:
            text = text.removeprefix("\ufeff")
        dialect = self.dialects[number]
        try:
            rows, lines = self._rows(chunk.name, text, dialect, first, strict=True)
        except csv.Error as error:
            if wrong := wrong_quote(text, dialect):
                raise misquoted(chunk.name, first(), text, *wrong) from error
            rows, lines = self._rows(chunk.name, text, dialect, first, strict=False)
        columns = [list(cells) for cells in zip(*rows, strict=True)] or [[] for _ in range(width)]
        return [columns[i] for i in self.orders[number]], lambda i: f"{chunk.name}, line {first() + lines[i]}"

    def _rows(
        self, name: str, text: str, dialect: Dialect, first: Callable[[], int], strict: bool
    ) -> tuple[list[list[str]], list[int]]:
        width, rows, lines = len(self.layout.names), [], []
        reader, line = dialect.rows(io.StringIO(text, newline=""), strict), 0
        for row in reader:
            if row and len(row) != width:
                raise InputError(
                    f"{name}, line {first() + line}: {len(row)} cells where there are {width} columns; put cells that "
                    "hold the delimiter or a line end in quotes"
                )
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num
        return rows, lines


def _decoded(data: bytes, options: Options, name: str, first: Callable[[], int] = lambda: 1) -> str:
    text = decode(data, options.text, name, first, line_ends)
    if (at := text.find("\0")) >= 0:
        raise InputError(
            f"{name}, line {first() + line_ends(text[:at])} holds a zero byte, which text does not; remove "
            "it; if the table is in UTF-16, convert it to UTF-8 with iconv"
        )
    return text

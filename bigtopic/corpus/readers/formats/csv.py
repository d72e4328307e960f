"""CSV and TSV: a text column, or the three columns document, word, count (rows of a document together).

The first row is the header when it names the text column or looks like names: short and distinct, none a number. As in
pandas, a column without a name is called "Unnamed: 0" and the second "x" is "x.1". Without a header, columns are called
"0", "1", ... Further columns are typed as pandas would type them; for several authors in a cell see `split_names`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

import numpy as np

from bigtopic.corpus.readers.base import Chunk, Options
from bigtopic.corpus.readers.containers.dialect import (
    Dialect,
    dialect_of,
    line_ends,
    misquoted,
    row_start,
    wrong_quote,
)
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File
from bigtopic.corpus.readers.containers.lines import decode
from bigtopic.corpus.readers.containers.pieces import chunk_bytes, first_line, pieces
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.records import BODIES
from bigtopic.corpus.readers.support.tables import (
    TableLayout,
    Together,
    empty_cell,
    table_documents,
    table_layout,
    triples_block,
)
from bigtopic.corpus.text.raw import RawBlock
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]


def match(file: File) -> float:
    """By name; plain text with commas in it is not a table."""
    return 0.7 if file.name.lower().endswith((".csv", ".tsv", ".tab")) else 0.0


def open_reader(files: Sequence[File], options: Options) -> CsvReader:
    opened = [_header(file, options) for file in files]
    names = opened[0][1]
    for file, (_, other, _) in zip(files, opened, strict=True):
        if other != names:
            raise InputError(
                f"{file.path} has columns {', '.join(other)}; {files[0].path} has {', '.join(names)}"
            )
    layout = table_layout(names, options, files[0].path, opened[0][2])
    dialects = tuple(dialect for dialect, _, _ in opened)
    size = sum(file.size for file in files)
    kind = "text" if layout.triple is None else "triples"
    return CsvReader("csv", options, kind, size, files=tuple(files), dialects=dialects, layout=layout)


def _header(file: File, options: Options) -> tuple[Dialect, list[str], int | None]:
    """Dialect, names of the columns, and the column with the longest texts where there is no header."""
    sample = file.sample
    if len(sample) == SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1 or sample.rfind(b"\r") + 1] or sample
    text = _decoded(sample, options, file.path).removeprefix("\ufeff")
    dialect = dialect_of(file, text)
    if len(file.sample) < SAMPLE_BYTES and (wrong := wrong_quote(text, dialect)):
        raise misquoted(file.path, 1, text, *wrong)
    rows = [row for row in dialect.rows(io.StringIO(text, newline="")) if row]
    if not rows:
        raise InputError(f"{file.path} has no rows; there is nothing to read")
    if _is_header(rows[0], options):
        begin = dialect.find_record(sample, 0) if dialect.quoted else row_start(sample, 0)
        if begin < 0 and len(file.sample) == SAMPLE_BYTES:
            raise InputError(
                f"{file.path}, line 1: the row of names is longer than {SAMPLE_BYTES >> 10} KiB; correct it"
            )
        return (
            replace(dialect, begin=begin if begin > 0 else len(sample)),
            _names(rows[0]),
            None,
        )
    lengths = [sum(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
    return dialect, [str(i) for i in range(len(rows[0]))], int(np.argmax(lengths))


def _is_header(row: list[str], options: Options) -> bool:
    """Whether the cells are names: short, distinct and not numbers; or any that include that of the text column.

    The first may be empty: pandas writes an index so.
    """
    names = [cell.strip() for cell in row]
    if options.text_column in names or any(name.lower() in BODIES for name in names):
        return True
    named = names if names[0] or len(names) == 1 else names[1:]
    short = all(0 < len(name) <= 64 and len(name.split()) <= 4 for name in named)
    return short and len(set(names)) == len(names) and not any(n.replace(".", "", 1).isdigit() for n in named)


def _names(row: list[str]) -> list[str]:
    """Names of columns as pandas reads them, each of them once."""
    names: list[str] = []
    for i, cell in enumerate(row):
        name = first = cell.strip() or f"Unnamed: {i}"
        again = count(1)
        while name in names:
            name = f"{first}.{next(again)}"
        names.append(name)
    return names


@dataclass(frozen=True)
class CsvStream:
    """Chunks of whole records, or of whole documents where each has many rows."""

    file: File
    dialect: Dialect
    layout: TableLayout
    options: Options

    def chunks(self) -> Iterator[Chunk]:
        triples = self.layout.triple is not None
        find = (
            self._find_document if triples else self.dialect.find_record if self.dialect.quoted else row_start
        )
        whole = self.options.whole or triples or self.dialect.quoted
        together = Together()
        opened = self.dialect.open_quote if self.dialect.quoted and not triples else None
        begin = self.dialect.begin
        for chunk in pieces(self.file, find, begin=begin, whole=whole, opened=opened, ends=line_ends):
            n_docs = self._count(chunk, together) if self.options.whole or triples else None
            yield replace(chunk, data=None if self.file.plain else chunk.data, n_docs=n_docs)

    def _find_document(self, buffer: bytes, start: int) -> int:
        assert self.layout.triple is not None
        at, last = row_start(buffer, start), None
        while at >= 0 and (end := row_start(buffer, at)) >= 0:
            line = buffer[at:end].decode(self.options.text.encoding, "replace")
            cells: list[str] = next(self.dialect.rows(io.StringIO(line, newline="")), [])
            document = cells[self.layout.triple[0]] if len(cells) > self.layout.triple[0] else last
            if last is not None and document != last:
                return at
            at, last = end, document
        return -1

    def _count(self, chunk: Chunk, together: Together) -> int:
        """Documents of a chunk."""
        first = chunk.first_line or 1
        text = _decoded(chunk.data, self.options, chunk.name, lambda: first)
        rows = self.dialect.rows(io.StringIO(text, newline=""))
        if self.layout.triple is None:
            return sum(map(bool, rows))
        at = self.layout.triple[0]
        # Rows without this cell are for the parser to complain about.
        numbered = [(i, row[at]) for i, row in enumerate(rows) if len(row) > at]
        return together.check(
            [name for _, name in numbered], lambda i: f"{chunk.name}, line {first + numbered[i][0]}"
        )


@dataclass
class CsvReader(DocumentReader):
    files: tuple[File, ...] = field(default=())
    dialects: tuple[Dialect, ...] = field(default=())
    layout: TableLayout = field(default_factory=lambda: TableLayout(()))

    def streams(self) -> list[CsvStream]:
        return [
            CsvStream(file, dialect, self.layout, self.options)
            for file, dialect in zip(self.files, self.dialects, strict=True)
        ]

    @property
    def body_name(self) -> str | None:
        return self.layout.body_name

    def documents(self, chunk: Chunk) -> Documents:
        columns, lines = self._table(chunk)
        return replace(table_documents(columns, self.layout, self._place(chunk, lines)), untyped=True)

    def _place(self, chunk: Chunk, lines: list[int]) -> Callable[[int], str]:
        """Says in which line of its file row i is; `lines` as `_table` returns them."""
        file = next(file for file in self.files if file.path == chunk.name)
        return lambda i: f"{chunk.name}, line {first_line(chunk, file, line_ends) + lines[i]}"

    def parse(self, chunk: Chunk) -> RawBlock:
        if self.layout.triple is None:
            return super().parse(chunk)
        columns, lines = self._table(chunk)
        place = self._place(chunk, lines)
        documents, words, counts = (columns[i] for i in self.layout.triple)
        index: dict[str, int] = {}
        ids = np.array([index.setdefault(word, len(index)) for word in words], np.int64)
        if "" in counts:
            raise empty_cell(place(counts.index("")))
        values = np.array([_number(value, i, place) for i, value in enumerate(counts)], np.float64)
        given = None if self.vocabulary is None else self._index
        names = np.array(documents, object)
        return triples_block(names, ids, list(index), values, place, self.options.weights, given)

    def _table(self, chunk: Chunk) -> tuple[list[list[str]], list[int]]:
        """The chunk's cells by column, and the line of the chunk, from 0, that each row ends on."""
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
        return [list(cells) for cells in zip(*rows, strict=True)] or [[] for _ in range(width)], lines

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


def _number(value: str, i: int, place) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{place(i)}: count {value[:60]!r} is not a number; correct it") from None

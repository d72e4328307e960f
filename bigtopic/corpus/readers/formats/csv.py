"""CSV and TSV: a text column, or the three columns document, word, count (rows of a document together).

Further columns are typed as pandas would type them; for several authors in a cell see `split_names`. A first line such
as "sep=;", as Excel writes it, names the delimiter. As for Python's `csv`, a line ends with a line feed or a carriage
return, or with both.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, AnyStr

import numpy as np

from bigtopic.corpus.readers.base import Chunk, Options, Place
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File
from bigtopic.corpus.readers.containers.lines import decode
from bigtopic.corpus.readers.containers.pieces import chunk_bytes, first_line, pieces
from bigtopic.corpus.readers.support.header import SAMPLE_ROWS, column_names, has_header
from bigtopic.corpus.readers.support.tables import CellsReader, Together, cells_fields
from bigtopic.errors import InputError, argument

__all__ = ["match", "open_reader"]

_FEWEST_LINES = 4  # a sample with fewer says too little: a table may have a column for each of 20,000 words
_LONG_SAMPLE = 1 << 22  # bytes that are looked at then
# The limit of the standard library, 131072 characters in a cell, is shorter than books.
csv.field_size_limit(2**31 - 1)

_COMPARED = 20  # lines
_SEPARATOR = re.compile(rb"(?:\xef\xbb\xbf)?\"?sep=([\t,;|])\"?(?:\r\n?|\n)", re.IGNORECASE)
_END = re.compile(rb"\r\n?|\n")
_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')


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
                f"files with the same columns, or {argument('header', ...)} if only one of them has column names"
            )
    columns = [[row[i] for row in first.rows if i < len(row)] for i in range(len(first.names))]
    found = cells_fields(first.names, first.header, columns, options, files[0].path, "pandas.read_csv")
    tables = {}
    for file, other in zip(files, opened, strict=True):
        place = {name: i for i, name in enumerate(other.names)}
        tables[file.path] = other.dialect, tuple(map(place.__getitem__, first.names))
    return CsvReader("csv", options, files=tuple(files), untyped=True, tables=tables, **found)


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
        separator = _SEPARATOR.match(sample)  # such as "sep=;"
        skipped, delimiter = (separator.end(), separator[1].decode()) if separator else (0, "")
        sample, line = sample[skipped:], 1 + bool(skipped)
        text = _decoded(sample, options, file.path, lambda: line).removeprefix("\ufeff")
        dialect = dialect_of(file, text, delimiter)
        if not cut and (wrong := _wrong_quote(file.path, lambda: line, text, dialect)):
            raise wrong
        rows = [row for row in dialect.rows(text) if row]
        if not rows:
            raise InputError(f"{file.path} has no rows; there is nothing to read")
        if not has_header(rows[: SAMPLE_ROWS + 1], options, file.path):
            names = [str(i) for i in range(len(rows[0]))]
            return cls(replace(dialect, begin=skipped), names, False, rows[:SAMPLE_ROWS])
        begin = dialect.find_record(sample, 0)
        if begin < 0 and cut:
            raise InputError(
                f"{file.path}, line 1: the row of names is longer than {limit >> 10} KiB; correct it"
            )
        begin = skipped + (begin if begin > 0 else len(sample))
        return cls(replace(dialect, begin=begin), column_names(rows[0]), True, rows[1 : SAMPLE_ROWS + 1])


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
        dialect, together = self.dialect, Together()
        for chunk in pieces(
            self.file,
            self._find_document if triples else dialect.find_record,
            begin=dialect.begin,
            n_shorter=4 if triples else 1,
            whole=self.options.whole or triples or dialect.quoted,
            opened=dialect.open_quote if dialect.quoted and not triples else None,
            ends=line_ends,
        ):
            n_docs = self._count(chunk, together) if self.options.whole or triples else None
            yield replace(chunk, data=None if self.file.plain else chunk.data, n_docs=n_docs)

    def _find_document(self, buffer: bytes, start: int) -> int:
        assert self.document is not None
        at, last = row_start(buffer, start), None
        while at >= 0 and (end := row_start(buffer, at)) >= 0:
            line = buffer[at:end].decode(self.options.text.encoding, "replace")
            cells: list[str] = next(self.dialect.rows(line), [])
            document = cells[self.document] if len(cells) > self.document else last
            if last is not None and document != last:
                return at
            at, last = end, document
        return -1

    def _count(self, chunk: Chunk, together: Together) -> int:
        """Documents of a chunk."""
        first = chunk.first_line or 1
        text = _decoded(chunk.data, self.options, chunk.name, lambda: first)
        rows, at = self.dialect.rows(text), self.document
        if at is None:
            return sum(map(bool, rows))
        # Rows without this cell are for the parser to complain about.
        numbered = [(i, row[at]) for i, row in enumerate(rows) if len(row) > at]
        return together.check(
            [name for _, name in numbered], lambda i: f"{chunk.name}, line {first + numbered[i][0]}"
        )


@dataclass
class CsvReader(CellsReader):
    """tables : by path, the dialect of a file and where each column of the layout is in it"""

    tables: Mapping[str, tuple[Dialect, tuple[int, ...]]] = field(default_factory=dict)

    def streams(self) -> list[CsvStream]:
        triple = self.layout.triple
        return [
            CsvStream(file, dialect, None if triple is None else order[triple[0]], self.options)
            for file in self.files
            for dialect, order in [self.tables[file.path]]
        ]

    def cells(self, chunk: Chunk) -> tuple[list[list[str]], Place]:
        file, (dialect, order) = self.file_of(chunk), self.tables[chunk.name]
        first = partial(first_line, chunk, file, line_ends)
        text = _decoded(chunk_bytes(chunk, file), self.options, chunk.name, first)
        if chunk.begins:
            text = text.removeprefix("\ufeff")
        try:
            rows, lines = self._rows(chunk.name, text, dialect, first, strict=True)
        except csv.Error as error:
            if wrong := _wrong_quote(chunk.name, first, text, dialect):
                raise wrong from error
            rows, lines = self._rows(chunk.name, text, dialect, first, strict=False)
        columns = [list(cells) for cells in zip(*rows, strict=True)] or [[] for _ in order]
        return [columns[i] for i in order], lambda i: f"{chunk.name}, line {first() + lines[i]}"

    def _rows(
        self, name: str, text: str, dialect: Dialect, first: Callable[[], int], strict: bool
    ) -> tuple[list[list[str]], list[int]]:
        width, rows, lines = len(self.layout.names), [], []
        reader, line = dialect.rows(text, strict), 0
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
            f"{name}, line {first() + line_ends(text[:at])} holds a zero byte, which is not text; remove "
            "it; if the table is in UTF-16, convert it to UTF-8 with iconv"
        )
    return text


@dataclass(frozen=True)
class Dialect:
    """delimiter; quoted : cells may be in quotes; begin : bytes of the header, 0 for none"""

    delimiter: str
    quoted: bool
    begin: int = 0

    def rows(self, text: str, strict: bool = False) -> Any:
        """Python's reader; strict, it raises csv.Error where a quote is not closed, or text follows a closed one."""
        return csv.reader(
            io.StringIO(text, newline=""),
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
            strict=strict,
        )

    def find_record(self, buffer: bytes, start: int) -> int:
        """First record that begins after `start`, or -1; the buffer begins with a record."""
        return self._next(buffer, start)[0] if self.quoted else row_start(buffer, start)

    def open_quote(self, buffer: bytes) -> int:
        """The quote that opened the cell in which the buffer ends, or -1."""
        return self._next(buffer, len(buffer))[1]

    def _next(self, buffer: bytes, start: int) -> tuple[int, int]:
        from bigtopic.corpus.text._kernels import next_record

        return next_record(np.frombuffer(buffer, np.uint8), start, ord(self.delimiter))


def row_start(buffer: bytes, start: int) -> int:
    """Position of the first line that begins after `start`, or -1 when the buffer does not reach so far."""
    end = _END.search(buffer, start)
    if end is None or (end[0] == b"\r" and end.end() == len(buffer)):  # which a line feed may follow
        return -1
    return end.end()


def line_ends(text: AnyStr) -> int:
    """How many lines end in a text, or in its bytes."""
    feed, back = ("\n", "\r") if isinstance(text, str) else (b"\n", b"\r")
    return text.count(feed) + text.count(back) - text.count(back + feed)


def _delimiter(lines: Sequence[str]) -> str:
    """The one that divides all rows into as many cells, or else is most often in the first; "," for none."""
    first = lines[0]
    found = sorted((mark for mark in "\t,;|" if mark in first), key=first.count, reverse=True)
    for mark in found if len(found) > 1 else ():
        rows = csv.reader((f"{line}\n" for line in lines[:_COMPARED]), delimiter=mark)
        if len({len(row) for row in rows if row}) == 1:
            return mark
    return found[0] if found else ","


def dialect_of(file: File, text: str, delimiter: str = "") -> Dialect:
    """The dialect of a file that begins with this text, perhaps with a known delimiter."""
    lines = re.split(r"\r\n?|\n", text)
    if not delimiter:
        delimiter = "\t" if file.name.lower().endswith((".tsv", ".tab")) else _delimiter(lines)
    # Tab-separated text has no quoting by its standard, but some programs quote as in CSV.
    cells = (cell.strip() for line in lines[:200] for cell in line.split(delimiter))
    quoted = delimiter != "\t" or any(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells)
    return Dialect(delimiter, quoted)


def _wrong_quote(name: str, first: Callable[[], int], text: str, dialect: Dialect) -> InputError | None:
    """The error about the first wrong quote in a text, which begins in this line of a file.

    It opens a cell and is closed nowhere; or in a later line, in the middle of a cell: then it was not closed, and met
    the quote that opens another cell. As in pandas, text that follows a quoted one in its line is part of the cell.
    """
    ends, at, closed = re.compile(f"[{re.escape(dialect.delimiter)}\r\n]"), 0, 0
    while dialect.quoted and at < len(text):
        quoted = _QUOTED.match(text, at) if text[at] == '"' else None
        closed = quoted.end() if quoted else at
        end = ends.search(text, closed)
        stop = end.start() if end else len(text)
        unclosed = text[at] == '"' and quoted is None
        if unclosed or (quoted and stop > closed and line_ends(quoted[0])):
            break
        at = stop + 1
    else:
        return None

    def line(position: int) -> int:
        return first() + line_ends(text[:position])

    what = "never closed" if unclosed else f"closed in line {line(closed - 1)} in the middle of a cell"
    return InputError(
        f"{name}, line {line(at)}: the quote that opens a cell is {what}; close it at the end of its cell, and write "
        "quotes within quotes twice"
    )

"""Excel's .xlsx (`bigtopic[excel]`): the first sheet with content, as a table of cells; formulas as their values.

A sheet has at most 1 048 576 rows. It is read row by row; rows of (document, word, count) are held together.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import islice
from typing import Any

from bigtopic.corpus.readers.base import CHUNK_DOCS, Chunk, Options
from bigtopic.corpus.readers.containers.files import File, intact
from bigtopic.corpus.readers.support.header import SAMPLE_ROWS, column_names, has_header
from bigtopic.corpus.readers.support.tables import CellsReader, Together, cells_fields
from bigtopic.errors import InputError, require, warn

__all__ = ["match", "open_reader"]

_MOST_BYTES = 1 << 28  # stored
_MOST_CONTENT = 1 << 31  # decompressed
_MOST_ROWS = 1 << 20  # of a sheet, in Excel

Row = tuple[int, list[Any]]


def match(file: File) -> float:
    return 1.0 if file.sample[:4] == b"PK\x03\x04" and file.name.lower().endswith((".xlsx", ".xlsm")) else 0.0


def open_reader(files: Sequence[File], options: Options) -> XlsxReader:
    sheets = [_Sheet.of(file) for file in files]
    first = sheets[0]
    rows = [cells for _, cells in islice(first.rows(), SAMPLE_ROWS + 1)]
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    header = has_header(texts, options, first.name)
    width = max(map(len, rows))
    names = column_names(rows[0]) if header else [str(i) for i in range(width)]
    sheets = [replace(sheet, width=width, header=rows[0] if header else None) for sheet in sheets]
    below = [_padded(row, width) for row in (rows[1:] if header else rows)]
    columns = [list(column) for column in zip(*below, strict=True)] or [[] for _ in names]
    found = cells_fields(names, header, columns, options, first.name, "pandas.read_excel")
    found["taken"] = {"sheet": first.title, **found["taken"]}
    sheets = [replace(sheet, triple=found["layout"].triple) for sheet in sheets]
    return XlsxReader("xlsx", options, unit="docs", sheets=sheets, **found)


@dataclass(frozen=True)
class _Sheet:
    """A sheet of a file; rows that are the header are passed over."""

    file: File
    title: str
    width: int = 0
    header: list[Any] | None = None
    triple: tuple[int, ...] | None = None

    @classmethod
    def of(cls, file: File) -> _Sheet:
        """The first sheet with content."""
        with _opened(file) as book:
            full = [sheet.title for sheet in book.worksheets if next(_rows(sheet, file), None)]
        if not full:
            raise InputError(f"{file.path} has no rows; there is nothing to read")
        if len(full) > 1:
            warn(
                f"{file.path} has {len(full)} sheets with content, of which {full[0]!r} is read; to read others, save "
                "each as a separate file"
            )
        return cls(file, full[0])

    @property
    def name(self) -> str:
        return f"{self.file.path}, sheet {self.title!r}"

    def rows(self) -> Iterator[Row]:
        with _opened(self.file) as book:
            yield from _rows(book[self.title], self.file)

    def chunks(self) -> Iterator[Chunk]:
        rows, row, together = self._documents(), 0, Together()
        triple = self.triple
        while some := list(rows if triple else islice(rows, CHUNK_DOCS)):
            stop = row + len(some)
            chunk = Chunk.of_rows(self.name, row, stop, some)
            if triple is not None:
                names = [cells[triple[0]] for _, cells in some]
                n_docs = together.check(names, lambda i, some=some: f"{self.name}, row {some[i][0]}")  # type: ignore[misc]
                chunk = replace(chunk, size=n_docs, first_row=None, n_docs=n_docs)
            yield chunk
            row = stop

    def _documents(self) -> Iterator[Row]:
        rows = self.rows()
        first = next(rows)
        if self.header is None:
            yield first[0], _padded(first[1], self.width)
        elif first[1] != self.header:
            raise InputError(
                f"{self.name} has other columns than the first file; give files with the same columns"
            )
        for number, cells in rows:
            if len(cells) > self.width:
                raise InputError(
                    f"{self.name}, row {number}: {len(cells)} cells where there are {self.width} columns; name all "
                    "columns, or remove the cells"
                )
            yield number, _padded(cells, self.width)


def _rows(sheet: Any, file: File) -> Iterator[Row]:
    """Number and cells of each row that has any; rows before a row that says its number count."""
    sheet.reset_dimensions()  # what the file says of them may leave out rows and columns
    for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > _MOST_ROWS:
            raise InputError(
                f"{file.path}, sheet {sheet.title!r} has rows beyond {_MOST_ROWS:,}, the last of a sheet; save it again"
            )
        width = max((i for i, cell in enumerate(cells, 1) if cell is not None), default=0)
        if width:
            yield number, list(cells[:width])


@dataclass
class XlsxReader(CellsReader):
    sheets: list[_Sheet] = field(default_factory=list)

    def streams(self) -> list[_Sheet]:
        return self.sheets

    def cells(self, chunk: Chunk) -> tuple[list[list[Any]], Any]:
        columns = [list(column) for column in zip(*(cells for _, cells in chunk.data), strict=True)]
        for i in self.layout.bodies:  # a number among texts is a text
            columns[i] = [None if cell is None else str(cell) for cell in columns[i]]
        return columns, lambda i: f"{chunk.name}, row {chunk.data[i][0]}"


@contextmanager
def _opened(file: File) -> Iterator[Any]:
    """The open workbook; whatever is raised about its contents is the file's fault."""
    openpyxl = require("openpyxl", "excel")
    with intact(file.path):
        data = BytesIO(file.content(_MOST_BYTES, "a workbook"))
        with zipfile.ZipFile(data) as archive:
            claimed = sum(member.file_size for member in archive.infolist())
        if claimed > _MOST_CONTENT:
            raise InputError(f"{file.path} expands to {claimed >> 20} MiB; save the sheet as CSV")
        book = openpyxl.load_workbook(data, read_only=True, data_only=True)
        try:
            yield book
        finally:
            book.close()


def _padded(cells: list[Any], width: int) -> list[Any]:
    return cells + [None] * (width - len(cells))

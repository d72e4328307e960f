"""Tables of text as they are written: which character divides cells, where quotes begin and end, and lines.

As for Python's `csv`, a line ends with a line feed or a carriage return, or with both.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, AnyStr

import numpy as np

from bigtopic.corpus.readers.containers.files import File
from bigtopic.errors import InputError

__all__ = ["Dialect", "dialect_of", "line_ends", "misquoted", "row_start", "separator_line", "wrong_quote"]

# The limit of the standard library, 131072 characters in a cell, is shorter than books.
csv.field_size_limit(2**31 - 1)

_COMPARED = 20  # lines
_SEPARATOR = re.compile(rb"(?:\xef\xbb\xbf)?\"?sep=([\t,;|])\"?(?:\r\n?|\n)", re.IGNORECASE)
_END = re.compile(rb"\r\n?|\n")
_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')


@dataclass(frozen=True)
class Dialect:
    """delimiter; quoted : cells may be in quotes; begin : bytes of the header, 0 for none"""

    delimiter: str
    quoted: bool
    begin: int = 0

    def rows(self, lines: io.StringIO, strict: bool = False) -> Any:
        """Python's reader; strict, it raises csv.Error where a quote is not closed, or text follows a closed one."""
        if self.quoted:
            return csv.reader(lines, delimiter=self.delimiter, strict=strict)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)

    def find_record(self, buffer: bytes, start: int) -> int:
        """First record that begins after `start`, or -1; the buffer begins with a record."""
        return self._next(buffer, start)[0]

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


def separator_line(sample: bytes) -> tuple[int, str]:
    """Length of a first line such as "sep=;", which Excel reads and writes, and its delimiter; (0, "") for none."""
    found = _SEPARATOR.match(sample)
    return (found.end(), found[1].decode()) if found else (0, "")


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


def wrong_quote(text: str, dialect: Dialect) -> tuple[int, int] | None:
    """Where the first wrong quote opens a cell, and where it is closed, or -1.

    It is closed nowhere; or in a later line, in the middle of a cell: then it was not closed, and met the quote that
    opens another cell. Text that follows a quoted one in the same line is part of the cell, as in pandas.
    """
    if not dialect.quoted:
        return None
    ends = re.compile(f"[{re.escape(dialect.delimiter)}\r\n]")
    at = 0
    while at < len(text):
        quoted = _QUOTED.match(text, at) if text[at] == '"' else None
        if text[at] == '"' and quoted is None:
            return at, -1
        closed = quoted.end() if quoted else at
        end = ends.search(text, closed)
        stop = end.start() if end else len(text)
        if quoted and stop > closed and line_ends(quoted[0]):
            return at, closed - 1
        at = stop + 1
    return None


def misquoted(name: str, line: int, text: str, opened: int, closed: int) -> InputError:
    """The error for a quote that `wrong_quote` found in a text that begins in this line of a file."""

    def at(position: int) -> int:
        return line + line_ends(text[:position])

    what = "never closed" if closed < 0 else f"closed in line {at(closed)} in the middle of a cell"
    return InputError(
        f"{name}, line {at(opened)}: the quote that opens a cell is {what}; close it at the end of its cell, and write "
        "quotes within quotes twice"
    )

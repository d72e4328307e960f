"""What `bigtopic train --follow` learns from while it grows: a corpus, a folder of files, or standard input.

A source hands out documents in the order in which they came, and a record of what it has handed out. That is saved with
the model, so that a run that was killed goes on after the documents of the model that it saved:

    corpus            `rows` of the run's corpus, see `run_record`
    folder            {"source", "format", "files": {path below it: [bytes, lines] that were learned from}}
    standard input    nothing, as it cannot be read again
"""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from bigtopic.cli.support.parameters import standard_input
from bigtopic.corpus.readers import open_source
from bigtopic.corpus.readers.base import DOCUMENT_BYTES
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.formats.json_lines import layout_of
from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.errors import BigtopicError, InputError, warn
from bigtopic.estimators.support import run_record
from bigtopic.ingestion.job import read_corpus
from bigtopic.ingestion.text import left_out

__all__ = ["Folder", "GrowingCorpus", "Source", "StandardInput"]

_LINES = ("json_lines", "text")  # formats in which a line is a document

Text = Callable[[], Mapping[str, Any] | None]
"""Settings of the model's tokeniser; None before its first documents."""


class Source:
    """Something that grows: `look` says how many documents are new, and `take` returns them.

    name : for people
    ended : whether nothing more can come
    unsettled : whether something came that is not complete yet
    """

    name: str
    ended = unsettled = False

    def look(self, most: int) -> int:
        """How many documents are complete and new; `most` are enough."""
        raise NotImplementedError

    def take(self, most: int) -> tuple[Corpus | None, Any]:
        """The documents that `look` found, `most` at most, and the record with them; None in place of none."""
        raise NotImplementedError

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


class GrowingCorpus(Source):
    """A stored corpus, to which other processes append; `run` returns the record of the model's run."""

    def __init__(self, url: str, run: Callable[[], Mapping[str, Any]]) -> None:
        self.name, self._run = url, run
        self._corpus: Corpus | None = None

    def look(self, most: int) -> int:
        corpus = open_corpus(self.name)
        first = run_record.first_new_row(self._run(), corpus)
        if self._corpus is None or corpus.fingerprint != self._corpus.fingerprint:
            if run_record.next_row(corpus) < first:
                raise InputError(
                    f"{self.name} was replaced by a corpus that lacks documents from which the model learned; train a "
                    "new model, at another path"
                )
            self._corpus, self._new = corpus, np.sort(corpus.rows())
        self._new = self._new[self._new >= first]
        return len(self._new)

    def take(self, most: int) -> tuple[Corpus | None, Any]:
        assert self._corpus is not None
        return self._corpus.select(rows=self._new[:most]), None


class Piece(NamedTuple):
    """New documents of a file.

    path, key : for people, and in the record
    data, n : lines and their number; None where all of the file is meant
    first, end : lines before, and bytes of the file up to the end
    """

    path: str
    key: str
    data: bytes | None
    n: int
    first: int
    end: int


def _documents(source: Any, format: str | None, text: Mapping[str, Any] | None) -> Corpus:
    """The documents of files, tokenised like those before; the first ones decide how."""
    reader: Any = open_source(source, format=format)
    if text is not None and getattr(reader, "kind", None) in ("text", "tokens"):
        reader = reader.with_text(TextSettings.like(text))
    first = text is None
    return read_corpus(reader, choose_language=first, limited=first, left_out=left_out(text), shuffle=False)


def _of_lines(pieces: Sequence[Piece], format: str | None, text: Any) -> tuple[Corpus, str | None]:
    """The documents of lines, and their format. Errors name the file and its line, as in `ingest`."""
    with TemporaryDirectory(prefix="bigtopic-") as folder:
        copy = str(Path(folder) / "lines")
        Path(copy).write_bytes(b"".join(piece.data or b"" for piece in pieces))
        try:
            if format is None and ((format := open_source(copy).name) not in _LINES or not _has_lines(copy)):
                raise InputError(
                    f"{copy}: a line is not a document; write JSON lines, or a text on each line, or ingest it with "
                    "--append and follow the corpus"
                )
            return _documents(copy, format, text), format
        except BigtopicError as error:
            raise InputError(_in_files(error.message, copy, pieces)) from error


def _in_files(message: str, copy: str, pieces: Sequence[Piece]) -> str:
    def place(found: re.Match[str]) -> str:
        number = int(found[1].replace(",", ""))
        for piece in pieces:
            if number <= piece.n:
                return f"{piece.path}, line {piece.first + number}"
            number -= piece.n
        return found[0]

    return re.sub(rf"{re.escape(copy)}, line (\d[\d,]*)", place, message).replace(copy, pieces[0].path)


def _has_lines(path: str) -> bool:
    """Whether a file is not compressed, and, if it is JSON, has a value on each line."""
    file = File(path)
    with Path(path).open("rb") as stream:
        return stream.read(len(file.sample)) == file.sample and layout_of(file) is None


class StandardInput(Source):
    """JSON lines, or a text per line, on standard input."""

    name = "standard input"

    def __init__(self, text: Text) -> None:
        self._text, self._stream = text, standard_input().buffer
        self._lines: list[bytes] = []
        self._rest, self._n_taken = b"", 0
        self._format: str | None = None

    def look(self, most: int) -> int:
        while not self.ended and len(self._lines) < most and self._ready(0.0):
            data = self._stream.read1(1 << 16)  # type: ignore[attr-defined]
            *lines, self._rest = (self._rest + data).split(b"\n")
            self.ended = not data
            too_long = len(self._rest) > DOCUMENT_BYTES  # the reader says so
            if self._rest and (self.ended or too_long):
                lines, self._rest = [*lines, self._rest], b""
            self._lines += [line + b"\n" for line in lines]
        return len(self._lines)

    def take(self, most: int) -> tuple[Corpus | None, Any]:
        some, self._lines = self._lines[:most], self._lines[most:]
        piece = Piece(self.name, "", b"".join(some), len(some), self._n_taken, 0)
        self._n_taken += len(some)
        if not any(map(bytes.strip, some)):
            return None, None
        corpus, self._format = _of_lines([piece], self._format, self._text())
        return corpus, None

    def wait(self, seconds: float) -> None:
        if self._lines or self.ended or not self._ready(seconds):
            time.sleep(0.0 if self.ended else 0.05)

    def _ready(self, seconds: float) -> bool:
        try:
            return bool(select.select([self._stream.fileno()], [], [], seconds)[0])
        except OSError:  # not a file of the system
            return True


class Folder(Source):
    """A folder, and those below it, into which files are put.

    Files of lines are read as they grow, line by line. Other files are read as a whole once they are no longer
    written to, and so is a last line without an end. What cannot be read is told, and left out until the file changes.

    Parameters
    ----------
    path : of the folder
    record : what the model has learned from
    settled : seconds without a write after which a file is complete
    """

    def __init__(self, path: str, record: Mapping[str, Any], text: Text, settled: float) -> None:
        self.name, self._text, self._settled = path, text, settled
        self._format: str | None = record.get("format")
        self._taken: dict[str, list[int]] = dict(record.get("files", {}))
        # Size and time of each file, and since when it has them
        self._seen: dict[str, tuple[Any, float]] = {}
        self._refused: dict[str, Any] = {}  # sizes and times of files that cannot be read
        self._pieces: list[Piece] = []

    def look(self, most: int) -> int:
        self._pieces, self.unsettled = [], False
        self._seen = self._states()
        self._taken = {key: taken for key, taken in self._taken.items() if key in self._seen}
        if self._format is None and any(map(self._is_complete, self._seen)):
            self._format = open_source(self.name).name
        self.unsettled = self._format is None and bool(self._seen)
        for key in sorted(self._seen) if self._format is not None else ():
            if (left := most - sum(piece.n for piece in self._pieces)) <= 0:
                break
            if self._refused.get(key) != self._seen[key][0]:
                try:
                    self._pieces += self._new_of(key, left)
                except BigtopicError as error:
                    self._refuse(key, error.message)
        return sum(piece.n for piece in self._pieces)

    def take(self, most: int) -> tuple[Corpus | None, Any]:
        pieces, paths = self._pieces, [piece.path for piece in self._pieces]
        try:
            if pieces[0].data is None:
                corpus = _documents(paths, self._format, self._text())
            else:
                corpus, _ = _of_lines(pieces, self._format, self._text())
        except BigtopicError as error:
            bad = [piece.key for piece in pieces if piece.path in error.message]
            if not bad:
                raise
            self._refuse(bad[0], error.message)
            return None, None
        self._taken |= {piece.key: [piece.end, piece.first + piece.n] for piece in pieces}
        source = str(Path(self.name).resolve())
        return corpus, {"source": source, "format": self._format, "files": {**self._taken}}

    def _states(self) -> dict[str, tuple[Any, float]]:
        """The files that are not empty or hidden, by path below the folder."""
        if not Path(self.name).is_dir():
            raise InputError(f"{self.name} is no longer a folder; make it again, and run the same command")
        found, now = {}, time.monotonic()
        for below, folders, names in os.walk(self.name):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for path in (Path(below, name) for name in names if not name.startswith(".")):
                with suppress(FileNotFoundError):  # it was moved in the meantime
                    if path.is_file() and (about := path.stat()).st_size:
                        key, state = path.relative_to(self.name).as_posix(), (about.st_size, about.st_mtime)
                        before = self._seen.get(key, (None, now))
                        found[key] = before if before[0] == state else (state, now)
        return found

    def _is_complete(self, key: str) -> bool:
        (_, written), since = self._seen[key]
        return max(time.monotonic() - since, time.time() - written) >= self._settled

    def _refuse(self, key: str, message: str) -> None:
        self._refused[key] = self._seen[key][0]
        warn(f"{message}. {key} is left out until it changes")

    def _new_of(self, key: str, most: int) -> list[Piece]:
        """New documents of a file."""
        path, size = str(Path(self.name, key)), self._seen[key][0][0]
        offset, first = self._taken.get(key, (0, 0))
        if size == offset:
            return []
        by_lines = self._format in _LINES and _has_lines(path)
        if offset and (size < offset or not by_lines):
            raise InputError(
                f"{path} has changed since the model learned from it; put new documents into a new file"
            )
        if not by_lines and not self._is_complete(key):
            self.unsettled = True
            return []
        if by_lines:
            with Path(path).open("rb") as file:
                file.seek(offset)
                lines = self._complete_lines(key, file, size - offset, most)
            end, data = offset + sum(map(len, lines)), b"".join(lines)
            data += b"" if data.endswith(b"\n") else b"\n"
            return [Piece(path, key, data, len(lines), first, end)] if lines else []
        alone = self._format != "files"
        those_first = self._pieces and (alone or self._pieces[0].data is not None)
        if those_first or not self._is_complete(key):
            return []
        return [Piece(path, key, None, most if alone else 1, 0, size)]

    def _complete_lines(self, key: str, file: Any, size: int, most: int) -> list[bytes]:
        lines: list[bytes] = []
        while size > 0 and len(lines) < most and (line := file.readline(min(size, DOCUMENT_BYTES + 1))):
            if not line.endswith(b"\n") and len(line) <= DOCUMENT_BYTES and not self._is_complete(key):
                self.unsettled = True
                break
            size -= len(line)
            lines.append(line)
        return lines

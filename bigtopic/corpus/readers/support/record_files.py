"""Files whose documents are made into records: base of the readers of formats with ids and fields of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from bigtopic.corpus.readers.base import Chunk, Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.lines import LineStream, lines_of
from bigtopic.corpus.readers.containers.pieces import first_line
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.records import Layout, record_documents, record_layout

__all__ = ["LineRecordReader", "RecordReader"]


@dataclass
class RecordReader(DocumentReader):
    """A subclass says what a chunk holds: `records(chunk)` returns the records and a function that names each."""

    files: tuple[File, ...] = field(default=())
    layout: Layout = field(default_factory=Layout)
    taken: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(
        cls, name: str, files: Sequence[File], options: Options, example: Mapping[str, Any], **taken: str
    ) -> Self:
        """The reader; `example` is a record with the fields that the format has.

        Raises
        ------
        InputError
            When a requested field is not one of them.
        """
        layout, kind = record_layout([example], options, files[0].path)
        size = sum(file.size for file in files)
        return cls(name, options, kind, size, files=tuple(files), layout=layout, taken=taken)

    def file_of(self, chunk: Chunk) -> File:
        return next(file for file in self.files if file.path == chunk.name)

    def records(self, chunk: Chunk) -> tuple[list[dict[str, Any]], Callable[[int], str]]:
        raise NotImplementedError

    def documents(self, chunk: Chunk) -> Documents:
        records, place = self.records(chunk)
        return record_documents(records, self.layout, place)


@dataclass
class LineRecordReader(RecordReader):
    """A record per line; blank lines are passed over. A subclass turns a line into a record."""

    def streams(self) -> list[LineStream]:
        return [LineStream(file, self.options.whole, skip=()) for file in self.files]

    def record(self, line: str, place: Callable[[], str]) -> dict[str, Any]:
        raise NotImplementedError

    def records(self, chunk: Chunk) -> tuple[list[dict[str, Any]], Callable[[int], str]]:
        file = self.file_of(chunk)
        lines = lines_of(chunk, file, self.options.text)
        numbered = [(i, line) for i, line in enumerate(lines) if line.strip()]

        def place(i: int) -> str:
            return f"{chunk.name}, line {first_line(chunk, file) + numbered[i][0]}"

        return [self.record(line, partial(place, i)) for i, (_, line) in enumerate(numbered)], place

"""Plain text, a document per line; a blank line is an empty document."""

from __future__ import annotations

from codecs import lookup
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bigtopic.corpus.readers.base import Chunk, Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.lines import LineStream, lines_of
from bigtopic.corpus.readers.containers.pieces import chunk_bytes, first_line
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.corpus.text.utf8 import Utf8Lines

__all__ = ["match", "open_reader"]


def match(file: File) -> float:
    """Any text is a document per line, if it is nothing else."""
    return 0.1


def open_reader(files: Sequence[File], options: Options) -> TextReader:
    return TextReader("text", options, size=sum(file.size for file in files), files=tuple(files))


@dataclass
class TextReader(DocumentReader):
    files: tuple[File, ...] = field(default=())

    def streams(self) -> list[LineStream]:
        return [LineStream(file, self.options.whole) for file in self.files]

    def documents(self, chunk: Chunk) -> Documents:
        file = next(file for file in self.files if file.path == chunk.name)

        def place(i: int) -> str:
            return f"{chunk.name}, line {first_line(chunk, file) + i}"

        data = chunk_bytes(chunk, file)
        lines = partial(lines_of, replace(chunk, data=data), file, self.options.text)
        return Documents(Utf8Lines(data, lines) if _is_utf8(self.options.text) else lines(), place)


def _is_utf8(settings: TextSettings) -> bool:
    return lookup(settings.encoding).name == "utf-8" and settings.encoding_errors == "strict"

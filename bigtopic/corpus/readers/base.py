"""The interface of readers: streams of light chunks, and one pure function that turns a chunk into documents.

`Stream.chunks` is sequential and cheap (it finds where documents begin and end); `Reader.parse` is the work, called
in threads or on Dask workers. Chunks depend only on the source and the settings, never on the number of workers,
and hold about `CHUNK_BYTES` of input or `CHUNK_DOCS` documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.text.tokenizer import TextSettings

__all__ = ["CHUNK_BYTES", "CHUNK_DOCS", "DOCUMENT_BYTES", "Chunk", "Options", "RawBlock", "Reader", "Stream"]

CHUNK_BYTES = 1 << 23
CHUNK_DOCS = 4096
DOCUMENT_BYTES = 1 << 25
"""Longest document (line, record, file), decompressed: memory must not depend on what one line of a source holds.

Lines and records are measured from the end of the chunk they are in, so those that begin early in it may be longer by
up to `CHUNK_BYTES`.
"""


@dataclass(frozen=True)
class Chunk:
    """A piece of a source that holds whole documents.

    Attributes
    ----------
    name : the file or object, for messages
    size : bytes or documents, in the reader's unit, for the progress bar
    start, stop : byte range of an uncompressed local file, or row range of a matrix
    data : what is to be parsed, where it is not read from `name`: bytes, documents, rows of a matrix
    first_line : number of the first line, from 1, or None (counted only when a message needs it)
    first_row, n_docs : row of the first document in its source, number of documents; None where not known
    begins : the chunk is the first of its file
    """

    name: str
    size: int
    start: int = 0
    stop: int = 0
    data: Any = None
    first_line: int | None = None
    first_row: int | None = None
    n_docs: int | None = None
    begins: bool = False


class Stream(Protocol):
    """A piece of a source: a file, a matrix, an iterable.

    One with an attribute `independent` that is true may be read while others are, its chunks between theirs; only
    where no document's place depends on the streams before.
    """

    def chunks(self) -> Iterator[Chunk]:
        """Chunks in the source's order; what can only be known at the end (a header's total) is checked there."""


class Reader(Protocol):
    """A source, opened.

    Attributes
    ----------
    name : of the format
    n_words : width, when the source has fixed word ids and says how many
    vocabulary : the words of fixed ids, when known
    size : total in `unit` ("B" or "docs"), or None
    taken : what was guessed, in short phrases for the user: {"header": "the first row", "text_column": "review"}
    """

    name: str
    n_words: int | None
    vocabulary: list[str] | None
    size: int | None
    unit: str
    taken: Mapping[str, str]

    def streams(self) -> list[Any]:
        """The pieces, in the source's order."""

    def parse(self, chunk: Chunk) -> RawBlock:
        """The documents of a chunk. Pure."""


@dataclass(frozen=True)
class Options:
    """The checked arguments of `open_source`; the same for every format.

    `keep_columns` are the further columns to keep (None: all); `whole` asks streams to count documents, because values
    are attached to each of them; `keep_text` asks for the documents' text; `forced`: the caller named the format, so it
    is not questioned; `author_separator` stands between the names in a text, see `split_names`; `split_documents` says
    how documents are divided, see `checked_division`; `layer`, `use_raw`: where an AnnData source has its counts;
    `header`: whether the first row of a table of text names its columns (None: judged).
    """

    text: TextSettings = field(default_factory=TextSettings)
    vocabulary: list[str] | None = None
    text_column: str | int | Sequence[str | int] | None = None
    id_column: str | int | None = None
    author_column: str | int | None = None
    keep_columns: tuple[str, ...] | None = None
    weights: bool = False
    whole: bool = False
    keep_text: bool = False
    storage_options: Mapping[str, Any] | None = None
    forced: bool = False
    header: bool | None = None
    document_column: str | int | None = None
    word_column: str | int | None = None
    count_column: str | int | None = None
    author_separator: str | None = None
    split_documents: int | str | None = None
    layer: str | None = None
    use_raw: bool = False

"""The interface of readers: streams of light chunks, and one pure function that turns a chunk into documents.

`chunks` of a stream is sequential and cheap (it finds where documents begin and end); `Reader.parse` is the work,
called in threads or on Dask workers. Chunks depend only on the source and the settings, never on the number of workers,
and hold about `CHUNK_BYTES` of input or `CHUNK_DOCS` documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Self

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.text.tokenizer import TextSettings
from bigtopic.errors import InputError

__all__ = [
    "CHUNK_BYTES",
    "CHUNK_DOCS",
    "DOCUMENT_BYTES",
    "Chunk",
    "Format",
    "Options",
    "Partition",
    "Place",
    "RawBlock",
    "Reader",
    "unreadable",
]

CHUNK_BYTES = 1 << 23
CHUNK_DOCS = 4096
DOCUMENT_BYTES = 1 << 25
"""Longest document (line, record, file), decompressed: memory must not depend on what one line of a source holds.

Lines and records are measured from the end of the chunk they are in, so those that begin early in it may be longer by
up to `CHUNK_BYTES`.
"""

Place = Callable[[int], str]
"""Names document or row i of a chunk, for messages; asked only then, because the answer may take reading a file."""


class Partition(NamedTuple):
    """Data of a chunk that Dask has yet to compute.

    delayed : `dask.delayed.Delayed`
    client : holds results that the computation begins with; None where there are none
    """

    delayed: Any
    client: Any = None


def unreadable(name: str, error: Exception) -> InputError:
    """The error for a partition that cannot be computed."""
    return InputError(
        f"{name} cannot be read: {type(error).__name__}: {error}; correct the collection, or what it is made from"
    )


@dataclass(frozen=True)
class Chunk:
    """A piece of a source that holds whole documents.

    Attributes
    ----------
    name : the file or object, for messages
    size : in the reader's unit, for the progress bar
    start, stop : byte range of an uncompressed local file, or row range of a matrix
    data : the input, where it is not read from `name`: bytes, documents, rows of a matrix; or a `Partition` of these
    first_line : number of the first line, from 1, or None (counted only when a message needs it)
    first_row, n_docs : row of the first document in its source, number of documents; None where not known
    begins : the chunk is the first of its file
    beside : values given beside the source, one list with a value per document for each argument
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
    beside: Mapping[tuple[str, ...], list[Any]] = field(default_factory=dict)

    @classmethod
    def of_rows(cls, name: str, start: int, stop: int, data: Any) -> Self:
        """Rows `start:stop`, a document each."""
        return cls(name, stop - start, start, stop, data, first_row=start, n_docs=stop - start)


@dataclass(frozen=True)
class Options:
    """The checked arguments of `open_source`; the same for every format.

    Attributes
    ----------
    text_column, id_column, author_column : fields of records and tables; numbers if there is no header. Several text
        columns are joined, with a blank line between their texts
    keep_columns : the further columns to keep; None keeps all
    weights : accept fractional counts
    whole : streams must count documents, because values are attached to each of them
    keep_text : hand on the text of the documents
    forced : the caller named the format, so it is not questioned
    header : whether the first row of CSV and Excel names the columns; None judges it by the rows below
    document_column, word_column, count_column : columns of a table with a row per document and word
    author_separator : what stands between the names in a text that holds several authors; None divides it where that is
        certain, "" never. See `split_names`
    split_documents : how documents are divided, see `checked_division`
    layer, use_raw : where an AnnData source has its counts, if not in X: the name of a layer, or `raw.X`
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


@dataclass
class Reader:
    """A source, opened. Base of the readers.

    Attributes
    ----------
    name : of the format
    options : vocabulary is the words of fixed ids, when known
    kind : of documents that are Python objects, such as "text"
    size : total in `unit` ("B", "docs" or "partitions"), or None; of files, the sum of their sizes if it is not given
    taken : guesses, in short phrases for the user: {"header": "the first row", "text_column": "review"}
    width : number of fixed word ids, when the source says how many
    files : that chunks are read from
    stream : where chunks come from, if not from files; tasks are given its chunks, and do not have it
    """

    name: str
    options: Options
    kind: str = ""
    _: KW_ONLY
    size: int | None = None
    unit: str = "B"
    taken: Mapping[str, str] = field(default_factory=dict)
    width: int | None = None
    files: tuple[File, ...] = ()
    stream: Any = None

    def __post_init__(self) -> None:
        if self.files and self.size is None:
            self.size = sum(file.size for file in self.files)

    @property
    def vocabulary(self) -> list[str] | None:
        return self.options.vocabulary

    @property
    def n_words(self) -> int | None:
        return self.width if self.vocabulary is None else len(self.vocabulary)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stream": None}

    def streams(self) -> list[Any]:
        """The pieces, in the source's order: usually a file each, or a matrix, or an iterable.

        The chunks of a stream, `chunks()`, come in the source's order; what can only be known at the end (a header's
        total) is checked there. A stream with an attribute `independent` that is true may be read while others are, its
        chunks between theirs; only where no document's place depends on the streams before.
        """
        return [self.stream]

    def file_of(self, chunk: Chunk) -> File:
        return next(file for file in self.files if file.path == chunk.name)

    def parse(self, chunk: Chunk) -> RawBlock:
        """The documents of a chunk. Pure."""
        raise NotImplementedError


class Format(NamedTuple):
    """A format of sources. A module with functions of these names is one, too.

    open_reader : (files, options) -> reader; of Python objects (source, options) -> reader
    match : how sure it is, 0 to 1, that a file is of this format; None for one of objects
    accepts : whether an object is of this format; None for one of files
    opens_folders : a folder may be of this format itself
    """

    open_reader: Callable[..., Any]
    match: Callable[[Any], float] | None = None
    accepts: Callable[[Any], bool] | None = None
    opens_folders: bool = False

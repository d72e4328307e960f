"""Ids, authors and columns given beside a source, one value per document, attached to its documents or their pieces.

Values are taken as chunks pass by, so an iterator will do; chunks know their number of documents because streams
were asked to count (`Options.whole`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk
from bigtopic.corpus.readers.containers.files import File, expand
from bigtopic.corpus.readers.containers.lines import lines_of
from bigtopic.corpus.readers.containers.pieces import pieces
from bigtopic.corpus.readers.support.assemble import author_csr
from bigtopic.corpus.readers.support.columns import column, id_texts
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.corpus.vocabulary import word_array
from bigtopic.errors import InputError, argument

__all__ = ["AnnotatedReader", "Annotations"]


Name = tuple[str, ...]


@dataclass(frozen=True)
class Annotations:
    """The values given: ids, authors and columns, each an iterable with a value per document, or None.

    ids : strings, or the path of a file with one per line
    divided : documents are divided into pieces, which need the number of their document where it has no id
    """

    ids: Any = None
    authors: Any = None
    columns: Mapping[str, Any] | None = None
    divided: bool = False

    def __bool__(self) -> bool:
        return self.ids is not None or self.authors is not None or bool(self.columns) or self.divided

    def named(self, options: Mapping[str, Any] | None) -> dict[Name, Iterable[Any]]:
        """The iterables by the argument they came from: ("ids",), ("authors",) or ("columns", name); or ("rows",).

        Raises
        ------
        InputError
            When one of them is a single value.
        """
        ids = self.ids
        if isinstance(ids, (str, Path)):
            ids = _Lines(expand([ids], options)[0])
        given: dict[Name, Any] = {("ids",): ids, ("authors",): self.authors}
        given |= {_ROWS: _Numbers() if self.divided else None}
        given |= {("columns", name): values for name, values in (self.columns or {}).items()}
        given = {name: values for name, values in given.items() if values is not None}
        for name, values in given.items():
            if isinstance(values, str | bytes) or not isinstance(values, Iterable):
                raise InputError(
                    f"{_shown(name)}={values!r:.60}: give a list, or another iterable, with one value per document"
                )
        return given


@dataclass(frozen=True)
class _Lines:
    """The lines of a file, read as they are asked for, again each time."""

    file: File

    def __iter__(self) -> Iterator[str]:
        for chunk in pieces(self.file):
            yield from lines_of(chunk, self.file, TextSettings())


_ROWS: Name = ("rows",)


class _Numbers:
    """0, 1, ..., without an end, again each time."""

    def __iter__(self) -> Iterator[int]:
        return count()


@dataclass(frozen=True)
class _Given:
    """A chunk of the source and the values that belong to its documents."""

    chunk: Chunk
    values: dict[Name, list[Any]]

    @property
    def name(self) -> str:
        return self.chunk.name

    @property
    def size(self) -> int:
        return self.chunk.size


def _shown(name: Name) -> str:
    return name[0] if len(name) == 1 else f"{name[0]}[{name[1]!r}]"


class _Values:
    """The iterables, consumed in step with the streams, which must therefore be read in order."""

    def __init__(self, named: dict[Name, Iterable[Any]]) -> None:
        self._named = named
        self._iterators: dict[Name, Iterator[Any]] = {}

    @property
    def repeatable(self) -> bool:
        """Whether a second pass is possible: iterators can be read only once."""
        return not any(isinstance(values, Iterator) for values in self._named.values())

    def restart(self) -> None:
        self._iterators = {name: iter(values) for name, values in self._named.items()}

    def take(self, n_docs: int, place: str) -> dict[Name, list[Any]]:
        taken = {name: list(islice(values, n_docs)) for name, values in self._iterators.items()}
        for name, values in taken.items():
            if len(values) < n_docs:
                raise InputError(
                    f"{_shown(name)} ends before the documents do, in {place}; give one value per document"
                )
        return taken

    def finish(self) -> None:
        for name, values in self._iterators.items():
            if name != _ROWS and next(values, self) is not self:
                raise InputError(
                    f"{_shown(name)} has more values than there are documents; give one value per document"
                )


@dataclass(frozen=True)
class _AnnotatedStream:
    stream: Any
    values: _Values
    first: bool
    last: bool

    @property
    def repeatable(self) -> bool:
        return self.values.repeatable and getattr(self.stream, "repeatable", True)

    def chunks(self) -> Iterator[_Given]:
        if self.first:
            self.values.restart()
        for chunk in self.stream.chunks():
            assert chunk.n_docs is not None
            yield _Given(chunk, self.values.take(chunk.n_docs, chunk.name))
        if self.last:
            self.values.finish()


def _refuse_pairs(authors: list[Any], block: RawBlock, chunk: Chunk) -> None:
    """Refuse pairs of a document of this chunk and an author, of which each would be the two authors of a document.

    Raises
    ------
    InputError
    """
    if not authors or not all(isinstance(one, tuple) and len(one) == 2 for one in authors):
        return
    first = chunk.first_row or 0
    documents = {*(map(str, range(first, first + block.n_docs)) if block.ids is None else block.ids)}
    if all(str(document) in documents for document, _ in authors):
        raise InputError(
            f"authors holds pairs of a document and a name, such as {authors[0]!r:.60}; give a name or a list of names "
            "for each document, or pass the pairs to Corpus.with_authors"
        )


class AnnotatedReader:
    """Another reader, with values attached to its documents; they replace those of the source.

    `separator` stands between the names in a text of `authors`, see `split_names`.
    """

    def __init__(self, reader: Any, named: dict[Name, Iterable[Any]], separator: str | None) -> None:
        self.reader = reader
        self._values: _Values | None = _Values(named)
        self._separator = separator

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_values": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> Any:
        if name in ("reader", "__setstate__"):
            raise AttributeError(name)
        return getattr(self.reader, name)

    def streams(self) -> list[_AnnotatedStream]:
        assert self._values is not None
        streams = self.reader.streams()
        last = len(streams) - 1
        return [_AnnotatedStream(s, self._values, i == 0, i == last) for i, s in enumerate(streams)]

    def with_collocations(self, pairs: Iterable[tuple[str, str]]) -> AnnotatedReader:
        return self._annotating(self.reader.with_collocations(pairs))

    def with_text(self, settings: TextSettings) -> AnnotatedReader:
        """This reader, with other settings of the tokeniser."""
        return self._annotating(self.reader.with_text(settings))

    def _annotating(self, reader: Any) -> AnnotatedReader:
        other = AnnotatedReader(reader, {}, self._separator)
        other._values = self._values
        return other

    def collocation_counts(self, given: _Given) -> Any:
        return self.reader.collocation_counts(given.chunk)

    def half_characters(self, given: _Given) -> str:
        """Where it is in the source; what was given beside it may hold it instead."""
        where = getattr(self.reader, "half_characters", None)
        return given.name if where is None else str(where(given.chunk))

    def parse(self, given: _Given) -> RawBlock:
        block = self.reader.parse(given.chunk)
        columns: dict[str, Any] = dict(block.columns)

        def place(i: int) -> str:
            return f"document {(given.chunk.first_row or 0) + i} of {given.name}"

        for name, values in given.values.items():
            if block.parents is not None:
                values = [values[i] for i in block.parents.tolist()]
            if name == ("ids",):
                block = replace(block, ids=id_texts(values))
            elif name == ("authors",):
                _refuse_pairs(values, block, given.chunk)
                block = replace(block, **author_csr(values, place, self._separator)._asdict())
            elif name != _ROWS:
                columns[name[1]] = column(values, name[1], place)
            elif block.ids is None:
                block = replace(block, ids=list(map(str, values)))
        block = replace(block, columns=columns)
        return block if block.parents is None else _named_pieces(block, given.name)


_PARENT = "parent"


def _named_pieces(block: RawBlock, where: str) -> RawBlock:
    """Pieces called "id#1", "id#2", ... of their documents, whose ids become a column."""
    assert block.parents is not None and block.ids is not None
    if _PARENT in block.columns:
        raise InputError(
            f"{where} has a column {_PARENT!r}, the name of the one with the ids of divided documents; leave it out by "
            f"naming the columns to keep with {argument('columns', ...)}, or rename it"
        )
    numbers = np.arange(len(block.parents)) - np.searchsorted(block.parents, block.parents) + 1
    ids = [f"{name}#{number}" if name else "" for name, number in zip(block.ids, numbers, strict=True)]
    return replace(block, ids=ids, columns={**block.columns, _PARENT: word_array(block.ids)})

"""Ids, authors and columns given beside a source, one value per document, attached to its documents or their pieces.

Values are taken as chunks pass by, so an iterator will do; chunks know their number of documents because streams
were asked to count (`Options.whole`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk
from bigtopic.corpus.readers.containers.files import File, expand
from bigtopic.corpus.readers.containers.lines import all_lines
from bigtopic.corpus.readers.support.columns import column, id_texts
from bigtopic.corpus.readers.support.counts import author_csr
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.corpus.vocabulary import word_array
from bigtopic.errors import InputError, argument

__all__ = ["AnnotatedReader", "values_beside"]

Name = tuple[str, ...]
_ROWS: Name = ("rows",)
_PARENT = "parent"  # the column with the ids of divided documents


def values_beside(
    ids: Any,
    authors: Any,
    columns: Mapping[str, Any] | None,
    divided: bool,
    options: Mapping[str, Any] | None,
) -> dict[Name, Iterable[Any]]:
    """Values given beside a source, by argument: ("ids",), ("authors",) or ("columns", name); or ("rows",).

    Parameters
    ----------
    ids : strings, or the path of a file with one per line
    divided : documents are divided into pieces, which need the number of their document where it has no id
    options : passed to fsspec

    Raises
    ------
    InputError
        When one of them is a single value.
    """
    if isinstance(ids, (str, Path)):
        ids = _Lines(expand([ids], options)[0])
    given: dict[Name, Any] = {
        ("ids",): ids,
        ("authors",): authors,
        _ROWS: range(1 << 60) if divided else None,
    }
    given |= {("columns", name): values for name, values in (columns or {}).items()}
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
        return all_lines(self.file)


def _shown(name: Name) -> str:
    return name[0] if len(name) == 1 else f"{name[0]}[{name[1]!r}]"


@dataclass(frozen=True)
class _AnnotatedStream:
    """The chunks of a stream, with the next values of iterators that all streams share: they must be read in order."""

    stream: Any
    named: Mapping[Name, Iterable[Any]]
    iterators: dict[Name, Iterator[Any]]
    last: bool

    @property
    def repeatable(self) -> bool:
        """Whether a second pass is possible: iterators can be read only once."""
        once = any(isinstance(values, Iterator) for values in self.named.values())
        return not once and getattr(self.stream, "repeatable", True)

    def chunks(self) -> Iterator[Chunk]:
        if not self.iterators:
            self.iterators.update({name: iter(values) for name, values in self.named.items()})
        for chunk in self.stream.chunks():
            beside = {name: list(islice(values, chunk.n_docs)) for name, values in self.iterators.items()}
            for name, values in beside.items():
                if len(values) < (chunk.n_docs or 0):
                    raise InputError(
                        f"{_shown(name)} ends before the documents do, in {chunk.name}; give one value per document"
                    )
            yield replace(chunk, beside=beside)
        for name, left in self.iterators.items() if self.last else ():
            if name != _ROWS and next(left, self) is not self:
                raise InputError(
                    f"{_shown(name)} has more values than there are documents; give one value per document"
                )


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
    """Another reader, with values attached to its documents; they replace the values of the source.

    `separator` stands between the names in a text of `authors`, see `split_names`.
    """

    def __init__(self, reader: Any, named: Mapping[Name, Iterable[Any]], separator: str | None) -> None:
        self.reader = reader
        self._named = named
        self._separator = separator

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_named": {}}

    def __getattr__(self, name: str) -> Any:
        if name in ("reader", "__setstate__"):  # which a copy that is not filled yet lacks
            raise AttributeError(name)
        return getattr(self.reader, name)

    def streams(self) -> list[_AnnotatedStream]:
        iterators: dict[Name, Iterator[Any]] = {}
        *others, last = self.reader.streams()
        streams = [_AnnotatedStream(stream, self._named, iterators, last=False) for stream in others]
        return [*streams, _AnnotatedStream(last, self._named, iterators, last=True)]

    def with_collocations(self, pairs: Iterable[tuple[str, str]]) -> AnnotatedReader:
        return AnnotatedReader(self.reader.with_collocations(pairs), self._named, self._separator)

    def with_text(self, settings: TextSettings) -> AnnotatedReader:
        """This reader, with other settings of the tokeniser."""
        return AnnotatedReader(self.reader.with_text(settings), self._named, self._separator)

    def parse(self, chunk: Chunk) -> RawBlock:
        block = self.reader.parse(chunk)
        columns: dict[str, Any] = dict(block.columns)

        def place(i: int) -> str:
            return f"document {(chunk.first_row or 0) + i} of {chunk.name}"

        for name, values in chunk.beside.items():
            if block.parents is not None:
                values = [values[i] for i in block.parents.tolist()]
            if name == ("ids",):
                block = replace(block, ids=id_texts(values))
            elif name == ("authors",):
                _refuse_pairs(values, block, chunk)
                block = replace(block, **author_csr(values, place, self._separator)._asdict())
            elif name != _ROWS:
                columns[name[1]] = column(values, name[1], place)
            elif block.ids is None:
                block = replace(block, ids=list(map(str, values)))
        block = replace(block, columns=columns)
        return block if block.parents is None else _named_pieces(block, chunk.name)


def _named_pieces(block: RawBlock, where: str) -> RawBlock:
    """Pieces called "id#1", "id#2", ... of their documents, whose ids become a column."""
    assert block.parents is not None and block.ids is not None
    if _PARENT in block.columns:
        raise InputError(
            f"{where} has a column {_PARENT!r}, a name that is reserved for the ids of divided documents; leave it out "
            f"by naming the columns to keep with {argument('columns', ...)}, or rename it"
        )
    numbers = np.arange(len(block.parents)) - np.searchsorted(block.parents, block.parents) + 1
    ids = [f"{name}#{number}" if name else "" for name, number in zip(block.ids, numbers, strict=True)]
    return replace(block, ids=ids, columns={**block.columns, _PARENT: word_array(block.ids)})

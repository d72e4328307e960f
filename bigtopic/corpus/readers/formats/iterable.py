"""Python iterables of texts, token lists, counters, gensim's (id, count) pairs, or records (dicts with such a field).

An iterable is read once, in order, and never held whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import chain, islice
from numbers import Integral
from typing import Any

from bigtopic.corpus.readers.base import CHUNK_BYTES, CHUNK_DOCS, Chunk, Options
from bigtopic.corpus.readers.support.records import RecordReader, record_layout
from bigtopic.errors import InputError

__all__ = ["accepts", "open_reader", "refuse_named_texts"]

_PEEK = 1000


def accepts(source: Any) -> bool:
    return isinstance(source, Iterable) and not isinstance(source, (str, bytes, Mapping))


def open_reader(source: Iterable[Any], options: Options) -> IterableReader:
    items = iter(source)
    first = [_listed(item) for item in islice(items, _PEEK)]
    refuse_named_texts(first, "the iterable")
    layout, kind = record_layout(first, options, "the iterable")
    size = len(source) if isinstance(source, Sized) else None
    again = source if items is not source else None  # an iterator can be read only once
    stream = IterableStream(first, items, again)
    return IterableReader("iterable", options, kind, size=size, unit="docs", layout=layout, stream=stream)


class IterableStream:
    """Chunks of documents; the source is read again from its beginning when it can be."""

    def __init__(self, first: list[Any], rest: Iterator[Any], source: Iterable[Any] | None) -> None:
        self.first, self._source = first, source
        self._items: Iterator[Any] | None = chain(first, rest)

    @property
    def repeatable(self) -> bool:
        """Whether a second pass is possible."""
        return self._source is not None

    def chunks(self) -> Iterator[Chunk]:
        items = self._items if self._source is None else iter(self._source)
        self._items = None
        if items is None:
            raise InputError("the source is an iterator, which can be read only once; give a list, or files")
        row = 0
        while documents := _take(items):
            stop = row + len(documents)
            yield Chunk.of_rows("the iterable", row, stop, documents)
            row = stop


def _take(items: Iterator[Any]) -> list[Any]:
    """The next documents: at most `CHUNK_DOCS`, and no more once they hold about `CHUNK_BYTES`."""
    documents: list[Any] = []
    weight = 0
    for item in islice(items, CHUNK_DOCS):
        documents.append(_listed(item))
        weight += _weight(documents[-1])
        if weight >= CHUNK_BYTES:
            break
    return documents


def _weight(item: Any) -> int:
    """Bytes, roughly: characters of a text, 8 for anything else that is counted."""
    if isinstance(item, str):
        return len(item)
    if isinstance(item, Mapping):
        return sum(map(_weight, item.values()))
    return 8 * len(item) if hasattr(item, "__len__") else 8


class IterableReader(RecordReader):
    def first_chunk(self) -> Chunk:
        return Chunk("the iterable", 0, data=self.stream.first, first_row=0)

    def records(self, chunk: Chunk) -> Any:
        return chunk.data, lambda i: f"document {(chunk.first_row or 0) + i} of the iterable"


def refuse_named_texts(first: list[Any], name: str) -> None:
    """Raise InputError for pairs of an id and a text: each would be a document of two tokens."""
    if first and all(map(_is_named_text, first)):
        raise InputError(
            f"{name} holds pairs such as {first[0]!r:.60}, each of which would be a document of two tokens; if they "
            "are ids and texts, give the texts alone, and to ingest the ids as ids=, or records, {'id': ..., 'text': "
            "...}; tokens go into lists"
        )


def _is_named_text(item: Any) -> bool:
    """Whether it is a pair of an id and a text of several words, rather than two tokens."""
    pair = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str | Integral)
    return pair and isinstance(item[1], str) and len(item[1].split()) > 1


def _listed(item: Any) -> Any:
    """A document that can only be read once, as a list."""
    return list(item) if isinstance(item, Iterator) else item

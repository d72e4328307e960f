"""The topics of documents as a table: a row per document, with its id, its columns, and a number per topic."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import IO, Any, NamedTuple

import numpy as np

from bigtopic.estimators.topic_stores.batches import Batch

__all__ = ["Format", "TopicsToWrite", "blocks", "dense", "tables", "unique", "values_of", "write_delimited"]

_BLOCK = 1 << 22  # numbers of a table in memory at once
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # with which spreadsheets let a formula begin


class TopicsToWrite(NamedTuple):
    """Topics of documents, a batch at a time.

    columns : names of the documents' columns
    """

    batches: Iterator[Batch]
    columns: Sequence[str]
    n_components: int

    @property
    def header(self) -> list[str]:
        """Names of a table's columns: document_id, the documents' own, topic_0, topic_1, ... A column of the documents
        that has the name of another gets "column_" before it."""
        topics = [f"topic_{k}" for k in range(self.n_components)]
        return ["document_id", *unique(self.columns, {"document_id", *topics}), *topics]


class Format(NamedTuple):
    """A format of files.

    name : the ending
    write : writes a table to a binary file
    streams : whether it only appends, so that the file may be a pipe
    """

    name: str
    write: Callable[[IO[bytes], TopicsToWrite], None]
    streams: bool


def unique(names: Iterable[str], taken: Collection[str]) -> list[str]:
    """The names, each with "column_" before it as often as it is among those taken or before it."""
    found: list[str] = []
    for name in names:
        while name in taken or name in found:
            name = f"column_{name}"
        found.append(name)
    return found


def blocks(topics: TopicsToWrite) -> Iterator[Batch]:
    """The batches, in pieces whose tables are small."""
    size = max(1, min(1 << 16, _BLOCK // topics.n_components))
    for batch in topics.batches:
        for start in range(0, batch.n_docs, size):
            yield batch.take(np.arange(start, min(start + size, batch.n_docs)))


def dense(batch: Batch, n_components: int) -> np.ndarray:
    """Shares float32 (n_docs, n_components); 0 where a topic was left out."""
    shares = np.zeros((batch.n_docs, n_components), np.float32)
    shares[np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr)), batch.topics] = batch.shares
    return shares


def tables(topics: TopicsToWrite) -> Iterator[list[np.ndarray]]:
    """The documents in small tables, each the columns of `topics.header`; an empty one if there are none."""
    none = True
    for batch in blocks(topics):
        none = False
        yield [*values_of(batch, topics.columns), *dense(batch, topics.n_components).T]
    if none:
        empty = [np.empty(0, object)] * (1 + len(topics.columns))
        yield [*empty, *[np.empty(0, np.float32)] * topics.n_components]


def values_of(batch: Batch, columns: Sequence[str]) -> list[np.ndarray]:
    """The ids and columns of documents, each (n_docs,)."""
    return [batch.documents[name] for name in ("document_id", *(f"column {name}" for name in columns))]


def write_delimited(file: IO[bytes], topics: TopicsToWrite, delimiter: str) -> None:
    """Write a row per document, in UTF-8; shares have six digits.

    A text that a spreadsheet would take for a formula gets an apostrophe before it, unless it is a number.
    """
    writer = csv.writer(_Encoded(file), delimiter=delimiter, lineterminator="\n")
    writer.writerow([_safe(name) for name in topics.header])
    for batch in blocks(topics):
        cells = [[_safe(value) for value in own.tolist()] for own in values_of(batch, topics.columns)]
        writer.writerows(
            [*own, *row] for own, row in zip(zip(*cells, strict=True), _shares(batch, topics), strict=True)
        )


class _Encoded:
    """Text for a binary file, which stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(text.encode())


def _shares(batch: Batch, topics: TopicsToWrite) -> Iterator[list[str]]:
    """The cells of each document's topics."""
    bounds, found, shares = batch.indptr.tolist(), batch.topics.tolist(), batch.shares.tolist()
    for start, stop in pairwise(bounds):
        row = ["0"] * topics.n_components
        for topic, share in zip(found[start:stop], shares[start:stop], strict=True):
            row[topic] = f"{share:.6g}"
        yield row


def _safe(value: Any) -> Any:
    """A cell as a spreadsheet shows it; a missing number is an empty cell."""
    if not isinstance(value, str):
        return "" if value != value else value
    return f"'{value}" if value.startswith(_FORMULA) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

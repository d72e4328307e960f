"""First stage: a chunk of the source becomes a run, spilled as it is, and counts of its words come back.

A source may be a corpus, or a view of one (`CorpusReader`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from bigtopic.corpus.columns import Cells, array_name, kinds_of
from bigtopic.corpus.part import Part
from bigtopic.corpus.readers.base import Chunk, RawBlock
from bigtopic.corpus.readers.support.columns import column
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import word_array
from bigtopic.errors import InputError
from bigtopic.ingestion.spill import Spilled, spill
from bigtopic.storage.place import Place
from bigtopic.support.pools import Pool

__all__ = ["CorpusReader", "ParseTask", "ParsedRun", "WordCounts", "parse_run", "parse_tasks", "word_counts"]

_OPEN = 4  # streams read at a time, however many threads: sums of weights depend on the order of chunks


class WordCounts(NamedTuple):
    """Tokens and documents of some words, which are strings (object), or ids fixed by the source (integers)."""

    words: np.ndarray
    tokens: np.ndarray
    documents: np.ndarray

    def take(self, chosen: np.ndarray | slice) -> WordCounts:
        """Some of them: positions, a mask or a slice."""
        return WordCounts(self.words[chosen], self.tokens[chosen], self.documents[chosen])


class ParseTask(NamedTuple):
    """A chunk, its number, and the number of the stream it comes from."""

    number: int
    stream: int
    chunk: Any


@dataclass
class ParsedRun:
    """A spilled chunk.

    Attributes
    ----------
    spilled : its arrays
    stream, first_row : where its first document is in the source, where known
    size : of the chunk in the reader's unit
    columns : {name: kinds of the values} of further columns, see `bigtopic.corpus.columns`
    words, authors, stopped : counts, taken away once they are added up; of words and authors, and of stop words
    duplicates : digests of the ids that the corpus to extend has, S16; None where they are not compared
    last_row : highest source row, when the documents know their rows, else -1
    doubtful_author : a text taken for one author that may name several, or None
    first : row of the first document in the whole source, once known; added to rows that documents know
    """

    spilled: Spilled
    stream: int
    first_row: int | None
    size: float
    n_docs: int
    nnz: int
    n_unknown: float
    columns: dict[str, frozenset[str]]
    words: WordCounts | None
    authors: WordCounts | None
    stopped: Mapping[str, int]
    duplicates: np.ndarray | None
    last_row: int = -1
    doubtful_author: str | None = None
    first: int = 0


def parse_tasks(reader: Any, n_threads: int = 1) -> Iterator[ParseTask]:
    """All chunks, stream by stream; independent streams by turns, read in at most `n_threads` threads."""
    streams = reader.streams()
    independent = all(getattr(stream, "independent", False) for stream in streams)
    in_order = ((number, chunk) for number, stream in enumerate(streams) for chunk in stream.chunks())
    chunks = _by_turns(streams, n_threads) if independent else in_order
    for number, (stream, chunk) in enumerate(chunks):
        yield ParseTask(number, stream, chunk)


def _by_turns(streams: Sequence[Any], n_threads: int) -> Iterator[tuple[int, Any]]:
    """A chunk of each open stream in turn, and the next one meanwhile; where one ends, another is opened."""
    unopened = enumerate(streams)
    turns: deque[tuple[int, Iterator[Any], Future[Any]]] = deque()
    with Pool(min(n_threads, _OPEN), "bigtopic-read") as pool:
        while True:
            for number, stream in islice(unopened, _OPEN - len(turns)):
                chunks = stream.chunks()
                turns.append((number, chunks, pool.submit(next, chunks, None)))
            if not turns:
                return
            number, chunks, ahead = turns.popleft()
            chunk = ahead.result()
            if chunk is not None:
                turns.append((number, chunks, pool.submit(next, chunks, None)))
                yield number, chunk


def parse_run(task: ParseTask, reader: Any, scratch: Place, known_ids: Any = None) -> ParsedRun:
    """Parse a chunk and spill it, but for documents to be left out, see `bigtopic.ingestion.duplicates.KnownIds`.

    No other attempt at the same task writes to the same file.
    """
    block, duplicates = reader.parse(task.chunk), None
    if known_ids is not None:
        block, duplicates = known_ids.checked(block)
    # Cast to the types of the compiled code: a custom reader may return others.
    words, counts = block.words.astype(np.int32, copy=False), block.counts.astype(np.float32, copy=False)
    arrays = {"indptr": block.indptr.astype(np.int64, copy=False), "words": words, "counts": counts}
    if block.rows is not None:
        arrays["rows"] = block.rows
    if block.vocabulary is not None:
        arrays["vocabulary"] = word_array(block.vocabulary)
    if block.ids is not None:
        arrays["ids"] = word_array(block.ids)
    if block.texts is not None:
        arrays["text"] = word_array(block.texts)
    if block.author_indptr is not None:
        arrays["author_indptr"], arrays["authors"] = block.author_indptr, block.authors
        arrays["author_names"] = word_array(block.author_names or [])
    columns = {name: _column(name, values, task) for name, values in block.columns.items()}
    for name, values in columns.items():
        arrays[f"column {name}"] = values.texts if isinstance(values, Cells) else values
    place = scratch / f"run-{task.number:08d}-{uuid4().hex[:12]}"
    try:
        spilled = spill(place, arrays)
    except UnicodeEncodeError as error:
        where = getattr(reader, "half_characters", None)
        place = task.chunk.name if where is None else where(task.chunk)
        raise InputError(
            f"{place}: {error.object[:60]!r} holds half a character (a lone surrogate); clean texts, ids and columns "
            "with text.encode('utf-8', 'replace').decode()"
        ) from None
    return ParsedRun(
        spilled,
        task.stream,
        block.first_row,
        task.chunk.size,
        block.n_docs,
        len(words),
        block.n_unknown,
        {name: kinds_of(values) for name, values in columns.items()},
        word_counts(words, counts, block.vocabulary),
        None if block.authors is None else word_counts(block.authors, None, block.author_names),
        block.stopped,
        duplicates,
        -1 if block.rows is None else int(block.rows.max(initial=0)),
        block.doubtful_author,
    )


def _column(name: str, values: np.ndarray | Cells, task: ParseTask) -> np.ndarray | Cells:
    """The column in a type that can be stored, also from a custom reader; checks its name as well."""
    array_name(name)
    if isinstance(values, Cells):
        return values
    return column(values, name, lambda i: f"document {i} of {task.chunk.name}")


def word_counts(
    ids: np.ndarray, counts: np.ndarray | None = None, names: list[str] | None = None
) -> WordCounts:
    """The counts of the words that occur, by name if they have names.

    Every entry counts one document, because words are unique within a document, and one token without `counts`.
    """
    documents = np.bincount(ids)
    found = np.flatnonzero(documents)
    tokens = np.bincount(ids, counts)[found].astype(np.float64)
    return WordCounts(found if names is None else word_array(names)[found], tokens, documents[found])


class CorpusReader:
    """Reads the documents of a corpus; they keep their source rows, ids, columns, authors and text."""

    name = "corpus"
    unit = "docs"
    taken: Mapping[str, str] = MappingProxyType({})

    def __init__(self, corpus: Corpus, keep_text: bool = True) -> None:
        words = corpus.vocabulary.words
        self.n_words = corpus.n_words
        self.vocabulary = None if words is None else words.tolist()
        self.size = corpus.n_docs
        self.text_settings = corpus.text_settings
        self._spans = list(corpus.spans())
        self._columns = list(corpus.columns)
        self._has_ids = corpus.has_ids
        self._authors = corpus.author_vocabulary
        self._keeps_text = keep_text and corpus.has_text

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "vocabulary": None, "_spans": []}

    def streams(self) -> list[CorpusReader]:
        return [self]

    def chunks(self) -> Iterator[Chunk]:
        for part, start, stop in self._spans:
            yield Chunk(part.name, stop - start, start, stop, part)

    def parse(self, chunk: Chunk) -> RawBlock:
        part: Part = chunk.data
        block = part.read(chunk.start, chunk.stop)
        authors, names = block.authors, None
        if authors is not None:
            assert self._authors is not None
            present, authors = np.unique(authors, return_inverse=True)
            names = [self._authors[int(i)] for i in present]
        return RawBlock(
            block.indptr,
            block.words,
            block.counts,
            ids=part.ids(chunk.start, chunk.stop).tolist() if self._has_ids else None,
            columns=part.columns(self._columns, chunk.start, chunk.stop),
            author_indptr=block.author_indptr,
            author_names=names,
            authors=None if authors is None else authors.astype(np.int32),
            rows=block.rows,
            texts=part.texts(chunk.start, chunk.stop).tolist() if self._keeps_text else None,
        )

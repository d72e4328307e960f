"""The documents of a corpus: its figures, and reading them. `store` adds what users make of a corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from bigtopic.corpus.blocks import concatenate, empty_block, take
from bigtopic.corpus.order import by_source, source_order
from bigtopic.corpus.part import Part, PartView
from bigtopic.corpus.select import by_positions
from bigtopic.corpus.stored.ingestion_record import Ingestion
from bigtopic.corpus.stored.schema import PART_ENTRIES
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import WITH_TEXT, SettingError, did_you_mean
from bigtopic.types import Block

__all__ = ["Document", "DocumentsInParts"]

_NO_ROW = np.iinfo(np.int64).max


class Document(NamedTuple):
    """One document.

    Attributes
    ----------
    row : in the source
    id : its id, or its row as text when the source had no ids
    counts : {word: count}
    authors : their names; None in a corpus without authors
    text : None where it was not kept, "" if other documents read with it have theirs
    columns : {name: value} of further columns
    """

    row: int
    id: str
    counts: dict[str, float]
    authors: list[str] | None
    text: str | None = None
    columns: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class DocumentsInParts:
    """Documents as word counts, read from their parts when needed; attributes as of `bigtopic.corpus.store.Corpus`."""

    parts: Sequence[Part]
    vocabulary: Vocabulary
    shuffled: bool = True
    text_settings: Mapping[str, Any] | None = None
    author_vocabulary: Vocabulary | None = None
    columns: Sequence[str] = ()
    has_ids: bool = False
    url: str | None = None
    storage_options: Mapping[str, Any] | None = None
    counted: bool = True
    word_limits: Mapping[str, Any] = field(default_factory=dict)
    ingestion_: Ingestion | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "columns", tuple(self.columns))

    # ------------------------------------------------------------------ figures

    @cached_property
    def n_docs(self) -> int:
        """Number of documents."""
        return sum(part.n_docs for part in self.parts)

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return self.vocabulary.size

    @property
    def shape(self) -> tuple[int, int]:
        """(n_docs, n_words), as of a matrix."""
        return self.n_docs, self.n_words

    @cached_property
    def nnz(self) -> int:
        """Entries: distinct words of each document, summed."""
        if self._fewer_words:
            return int(self.vocabulary.counted[0].sum())
        return sum(part.nnz for part in self.parts)

    @cached_property
    def n_tokens(self) -> float:
        """Tokens: the sum of all counts."""
        if self._fewer_words:
            return float(self.vocabulary.counted[1].sum())
        return float(sum(part.n_tokens for part in self.parts))

    @property
    def _fewer_words(self) -> bool:
        """Whether words were filtered and then counted: parts would have to read everything to know their figures."""
        return self.counted and any(getattr(part, "word_map", None) is not None for part in self.parts)

    @property
    def n_bytes(self) -> int:
        """Bytes of the documents on disk (compressed) or in memory."""
        return sum(part.n_bytes for part in self.parts)

    @property
    def n_authors(self) -> int:
        """Number of authors; 0 if the corpus has none."""
        return 0 if self.author_vocabulary is None else self.author_vocabulary.size

    @property
    def has_text(self) -> bool:
        """Whether the text of the documents was kept, see `ingest`."""
        return any(part.has_text for part in self.parts)

    @cached_property
    def authors(self) -> list[str] | None:
        """Author names by id, or None."""
        return None if self.author_vocabulary is None else self.author_vocabulary[:]

    @cached_property
    def fingerprint(self) -> str:
        """32 hex digits, equal for the same documents in the same order with the same word ids."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(self.vocabulary.fingerprint.encode())
        for part in self.parts:
            digest.update(part.fingerprint.encode())
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.n_docs

    # ------------------------------------------------------------------ reading

    @cached_property
    def _starts(self) -> np.ndarray:
        """Position of the first document of each part, and the end: int64 (n_parts + 1,)."""
        return np.concatenate([[0], np.cumsum([part.n_docs for part in self.parts], dtype=np.int64)])

    def _spans(self, start: int, stop: int) -> Iterator[tuple[Part, int, int]]:
        """The parts that hold positions `start` to `stop`, each with the positions within it."""
        for part, first in zip(self.parts, self._starts.tolist(), strict=False):
            a, b = max(start - first, 0), min(stop - first, part.n_docs)
            if a < b:
                yield part, a, b

    @cached_property
    def _source_order(self) -> np.ndarray | None:
        """See `source_order`. Reads the rows of all parts once; afterwards takes 8 bytes per document."""
        return source_order(self.rows(order="stored"))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_source_order"}

    def _values(self, read: Callable[[Part], np.ndarray], order: str, dtype: Any = object) -> np.ndarray:
        """Values of all documents, read part by part, in the requested order."""
        pieces = [read(part) for part in self.parts]
        values = np.concatenate(pieces) if pieces else np.zeros(0, dtype)
        where = self._source_order if by_source(order) else None
        return values if where is None else values[where]

    def read(self, start: int = 0, stop: int | None = None, order: str = "source") -> Block:
        """The documents of `run(start, stop, order)`, with corpus word ids, in memory.

        Raises
        ------
        CorpusDamaged
            When a chunk is missing or does not match its checksum; names the part.
        """
        view = self.run(start, stop, order)
        blocks = [part.read(0, part.n_docs) for part in view.parts]
        block = concatenate(blocks) if blocks else empty_block(self.author_vocabulary is not None)
        where = source_order(block.rows) if by_source(order) else None
        return block if where is None else take(block, where)

    def blocks(self, n_entries: int = 1 << 20) -> Iterator[Block]:
        """All documents in stored order (see `Block.rows`), in blocks of about `n_entries` entries from one part."""
        for part, start, stop in self.spans(n_entries):
            yield part.read(start, stop)

    def spans(self, n_entries: int = 1 << 20) -> Iterator[tuple[Part, int, int]]:
        """(part, start, stop) of runs with about `n_entries` entries: what `blocks` reads, without reading it."""
        for part in self.parts:
            per_document = max(1.0, part.nnz / max(part.n_docs, 1))
            step = max(1, int(n_entries / per_document))
            for start in range(0, part.n_docs, step):
                yield part, start, min(start + step, part.n_docs)

    def rows(self, order: str = "source") -> np.ndarray:
        """Source rows, int64 (n_docs,): ascending, or, with `order="stored"`, as documents are stored."""
        found = self._values(lambda part: part.rows(0, part.n_docs), "stored", np.int64)
        return np.sort(found) if by_source(order) else found

    def document_ids(self, order: str = "source") -> np.ndarray:
        """Document ids, object (n_docs,) of str; source rows as strings when the source had no ids."""
        return self._values(lambda part: part.ids(0, part.n_docs), order)

    def read_column(self, name: str, order: str = "source") -> np.ndarray:
        """A further column, (n_docs,): int64, float64 (NaN where missing), bool, or object of str ("" where missing).

        Raises
        ------
        SettingError
            When the name is not in `columns`.
        """
        self._known_columns([name])
        return self._values(lambda part: part.columns([name], 0, part.n_docs)[name], order)

    def read_columns(
        self, names: Sequence[str] | None = None, order: str = "source"
    ) -> dict[str, np.ndarray]:
        """Further columns by name, see `read_column`; all of them when `names` is None."""
        if isinstance(names, str):
            raise SettingError(f"names={names!r}: pass a list of names, or call read_column for one column")
        return {name: self.read_column(name, order) for name in (self.columns if names is None else names)}

    def read_texts(self, order: str = "source") -> np.ndarray:
        """Texts, object (n_docs,) of str; "" for documents whose text was not kept. All of them are in memory.

        Raises
        ------
        SettingError
            When the corpus has no text.
        """
        if not self.has_text:
            raise SettingError(f"this corpus has no text; {WITH_TEXT}")
        return self._values(lambda part: part.texts(0, part.n_docs), order)

    def _known_columns(self, names: Iterable[str]) -> list[str]:
        names = list(names)
        for name in names:
            if name not in self.columns:
                have = ", ".join(self.columns) or "none"
                raise SettingError(
                    f"there is no column {name!r} in this corpus; columns: {have}{did_you_mean(name, self.columns)}"
                )
        return names

    def __iter__(self) -> Iterator[Document]:
        """The documents in source order; about 2^23 entries are in memory at a time."""
        step = max(1, int(PART_ENTRIES / max(1.0, self.nnz / max(self.n_docs, 1))))
        for start in range(0, self.n_docs, step):
            yield from self.run(start, start + step)._documents()

    def _documents(self) -> Iterator[Document]:
        """All of them, read at once."""
        block, ids = self.read(), self.document_ids().tolist()
        texts = self.read_texts().tolist() if self.has_text else [None] * len(ids)
        columns = {name: values.tolist() for name, values in self.read_columns().items()}
        known, names = self.vocabulary, self.author_vocabulary
        for i, (row, name) in enumerate(zip(block.rows.tolist(), ids, strict=True)):
            own = slice(block.indptr[i], block.indptr[i + 1])
            words = [known[word] for word in block.words[own]]
            authors = None
            if block.author_indptr is not None and block.authors is not None and names is not None:
                a, b = block.author_indptr[i : i + 2]
                authors = [names[author] for author in block.authors[a:b]]
            counts = dict(zip(words, block.counts[own].tolist(), strict=True))
            own_columns = {column: values[i] for column, values in columns.items()}
            yield Document(row, str(name), counts, authors, texts[i], own_columns)

    def position(self, document_id: str) -> int | None:
        """Where the document with this id is in the source's order, the first of several; None if there is none."""
        found = [
            part.rows(0, part.n_docs)[part.ids(0, part.n_docs) == document_id].min(initial=_NO_ROW)
            for part in self.parts
        ]
        row = min(found, default=_NO_ROW)
        return None if row == _NO_ROW else int(np.searchsorted(self.rows(), row))

    # ------------------------------------------------------------------ views

    def _view(self, parts: Iterable[Part]) -> Self:
        return replace(self, parts=tuple(part for part in parts if part.n_docs), counted=False)

    def run(self, start: int = 0, stop: int | None = None, order: str = "source") -> Self:
        """A view of the documents at positions `start` to `stop`: `corpus[start:stop]` in the requested order.

        A run in source order is scattered over a shuffled store. With `order="stored"` its documents are adjacent
        there: cheap to read, and a random sample.
        """
        source = by_source(order)
        start, stop, _ = slice(start, stop).indices(self.n_docs)
        if (start, stop) == (0, self.n_docs):
            return self
        if source and self._source_order is not None:
            return self._view(self._chosen(slice(start, stop)))
        return self._view(PartView.of(part, range(a, b)) for part, a, b in self._spans(start, stop))

    def at(self, positions: np.ndarray) -> Self:
        """A view of the documents at these positions of the stored order, int64 (n,), ascending."""
        return self._view(by_positions(self.parts, self._starts, positions))

    def _chosen(self, places: slice | np.ndarray) -> Sequence[Part]:
        """The documents at these places of the source's order: a slice, or a boolean for each."""
        where = np.arange(self.n_docs) if self._source_order is None else self._source_order
        return by_positions(self.parts, self._starts, np.sort(where[places]))

    def recounted(self) -> Self:
        """This corpus with a vocabulary whose frequencies count exactly these documents (one pass for views)."""
        if self.counted:
            return self
        n_words = self.n_words
        df, tf = np.zeros(n_words, np.int64), np.zeros(n_words)
        for block in self.blocks():
            df += np.bincount(block.words, minlength=n_words)
            tf += np.bincount(block.words, weights=block.counts, minlength=n_words)
        return replace(self, vocabulary=Vocabulary(self.vocabulary.words, n_words, df, tf), counted=True)

"""Documents that are Python objects (texts, token lists, counters) to a block; readers of such sources.

The kind of a source is decided once, from its first documents, so that every block has the same form: "text",
"tokens", "counts" ({word: n} or [(word, n), ...]), "pairs" ({id: n} or [(id, n), ...], ids fixed by the source) or
"triples" (rows of document, word and count).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk, Place, Reader
from bigtopic.corpus.readers.support.columns import cells, column
from bigtopic.corpus.readers.support.counts import (
    WANTED,
    author_csr,
    count_pairs,
    most_words,
    restrict,
    shown,
)
from bigtopic.corpus.readers.support.roles import TableLayout
from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.corpus.text.segmentation import divider
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.corpus.text.tokenizer import Tokenizer
from bigtopic.corpus.text.tokens import CollocationCounts, NotAWord
from bigtopic.corpus.text.utf8 import Utf8Lines
from bigtopic.errors import InputError, warn

__all__ = ["TOO_DEEP", "DocumentReader", "Documents", "kind_of", "kind_of_all"]

TOO_DEEP = "nests lists or objects too deeply to be read; a document has at most three levels"
_PARAGRAPH = 3  # words, in the mean
_WANTED = {"text": "a string", "tokens": "a list of strings", **WANTED}


@dataclass(frozen=True)
class Documents:
    """The documents of a chunk before they are counted.

    bodies : texts, token lists, counters or pairs; None is an empty document. Or texts still to be decoded
    place : names document i of this chunk, for messages
    untyped : columns are cells of a table of text, whose type is still to be found
    """

    bodies: Sequence[Any]
    place: Place
    ids: list[str] | None = None
    authors: list[Any] | None = None
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    untyped: bool = False

    def divided(self, how: int | str) -> tuple[Documents, np.ndarray]:
        """Their pieces, each with the id, authors and columns of its document; and which document that is."""
        pieces = list(map(divider(how), self.bodies))
        parents = np.repeat(np.arange(len(pieces)), list(map(len, pieces)))

        def of_pieces(values: Any) -> Any:
            return None if values is None else [values[i] for i in parents.tolist()]

        divided = Documents(
            [piece for some in pieces for piece in some],
            lambda i: self.place(int(parents[i])),
            of_pieces(self.ids),
            of_pieces(self.authors),
            {name: of_pieces(values) for name, values in self.columns.items()},
            self.untyped,
        )
        return divided, parents

    def first(self, is_bad: Callable[[Any], bool]) -> int | None:
        """The first document of which the body, id, authors or a column is bad."""
        parts = [
            part for part in (self.bodies, self.ids, self.authors, *self.columns.values()) if part is not None
        ]
        return next((i for i in range(len(self.bodies)) if any(is_bad(part[i]) for part in parts)), None)


def kind_of(body: Any) -> str | None:
    """The kind of one document, None when it is empty, or "?"."""
    if isinstance(body, str):
        return "text"
    if isinstance(body, Mapping):
        if not body:
            return None
        return "pairs" if all(isinstance(word, Integral) for word in body) else "counts"
    if isinstance(body, (list, tuple, np.ndarray, set, frozenset)):
        if len(body) == 0:
            return None
        first = next(iter(body))
        if isinstance(first, str):
            return "tokens"
        if isinstance(first, (list, tuple, np.ndarray)) and len(first) == 2:
            return "counts" if isinstance(first[0], str) else "pairs"
    return None if body is None else "?"


def kind_of_all(bodies: Sequence[Any], name: str | None = None) -> str:
    """The kind of the first document that is not empty; "text" when all are.

    Lists of strings are the paragraphs of texts if most of the strings have several words: three in the mean, or any
    number in a field or column of this `name`, "text". In one called "tokens" they are never that.
    """
    kind = next((kind for kind in map(kind_of, bodies) if kind is not None), "text")
    if kind != "tokens" or name == "tokens":
        return kind
    strings = [part for body in bodies if kind_of(body) == "tokens" for part in body if isinstance(part, str)]
    lengths = [len(part.split()) for part in strings]
    if 2 * sum(n > 1 for n in lengths) <= len(lengths):
        return kind
    if name == "text" or sum(lengths) >= _PARAGRAPH * len(lengths):
        return "text"
    warn(
        f"most strings of the first lists, such as {shown(strings[0])}, have several words, and are taken as tokens; "
        "if they are paragraphs, join them"
    )
    return kind


@dataclass
class DocumentReader(Reader):
    """Base of the readers whose documents are texts, tokens or counters; a subclass turns a chunk into
    `Documents`.

    collocations : pairs of words to join, once known
    layout : which column or field is what, where documents have some; says what was guessed, unless `taken` does
    """

    kind: str = "text"
    collocations: frozenset[tuple[str, str]] = frozenset()
    layout: TableLayout = field(default_factory=TableLayout)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.taken = self.taken or self.layout.taken

    def documents(self, chunk: Chunk) -> Documents:
        raise NotImplementedError

    def sample(self) -> Documents:
        """The first documents. Even a source that can be read only once still has them afterwards.

        Raises
        ------
        InputError
            As `parse`.
        """
        chunk = self.first_chunk()
        documents = Documents((), str) if chunk is None else self.documents(chunk)
        self._check_kind(documents)
        return documents if self.kind != "text" else replace(documents, bodies=_texts(documents.bodies))

    def first_chunk(self) -> Chunk | None:
        """The first chunk there is."""
        for stream in self.streams():
            with closing(stream.chunks()) as chunks:
                for chunk in chunks:
                    return chunk
        return None

    def with_text(self, settings: TextSettings) -> Self:
        """This reader, with other settings of the tokeniser."""
        return replace(self, options=replace(self.options, text=settings))

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self.options.text, self.collocations)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.vocabulary or ())}

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k not in ("_tokenizer", "_index")}

    def with_collocations(self, pairs: Iterable[tuple[str, str]]) -> DocumentReader:
        """This reader, joining these pairs of adjacent words."""
        return replace(self, collocations=frozenset(pairs))

    def collocation_counts(self, chunk: Chunk) -> CollocationCounts:
        """Tokens and adjacent pairs of a chunk; nothing where documents have no order of words."""
        documents = self.documents(chunk)
        self._check_kind(documents)
        if self.kind not in ("text", "tokens"):
            return CollocationCounts()
        with _words_only(documents):
            if self.kind == "text":
                return self._tokenizer.collocation_counts(_texts(documents.bodies))
            return self._tokenizer.token_collocation_counts(body or () for body in documents.bodies)

    def parse(self, chunk: Chunk) -> RawBlock:
        documents = self.documents(chunk)
        try:
            return self._parsed(documents, chunk)
        except RecursionError:
            place = documents.place(documents.first(_is_deep) or 0)
            raise InputError(f"{place} {TOO_DEEP}") from None

    def _parsed(self, documents: Documents, chunk: Chunk) -> RawBlock:
        self._check_kind(documents)
        parents = None
        if self.options.split_documents is not None:
            documents, parents = documents.divided(self.options.split_documents)
        block = self._counted(documents)
        if self.vocabulary is not None and block.vocabulary is not None:
            block = restrict(block, self._index)
        columns = {
            name: cells(values) if documents.untyped else column(values, name, documents.place)
            for name, values in documents.columns.items()
        }
        given, separator = documents.authors, self.options.author_separator
        authors = {} if given is None else author_csr(given, documents.place, separator)._asdict()
        return replace(
            block,
            **authors,
            ids=documents.ids,
            columns=columns,
            first_row=chunk.first_row if parents is None else None,
            parents=parents,
            texts=_texts(documents.bodies) if self.options.keep_text and self.kind == "text" else None,
        )

    def _check_kind(self, documents: Documents) -> None:
        if isinstance(documents.bodies, Utf8Lines):
            return
        if self.kind == "text" and set(map(type, documents.bodies)) == {str}:
            return
        for i, body in enumerate(documents.bodies):
            found = kind_of(body)
            if found == "tokens" and self.kind == "text":
                for part in body:
                    if not isinstance(part, str):
                        raise InputError(
                            f"{documents.place(i)}: {shown(part)} is not a string; a list in a source of texts holds "
                            "their paragraphs"
                        )
            elif found is not None and found != self.kind:
                raise InputError(
                    f"{documents.place(i)} is {shown(body)}, but the documents before it are each "
                    f"{_WANTED.get(self.kind, self.kind)}; all documents of a source must be of one kind"
                )

    def _counted(self, documents: Documents) -> RawBlock:
        if self.kind in ("text", "tokens"):
            with _words_only(documents):
                if self.kind == "text":
                    return self._tokenizer.counts(_texts(documents.bodies))
                return self._tokenizer.token_counts(() if body is None else body for body in documents.bodies)
        weights, fixed = self.options.weights, self.kind == "pairs"
        # Ids that can be, where there is no vocabulary: of files, as many as they can hold.
        most = most_words(self.size or 0) if self.unit == "B" else MOST_WORDS
        return count_pairs(documents.bodies, documents.place, fixed, self.n_words, most, weights)

    def half_characters(self, chunk: Chunk) -> str:
        """Where the first document is that holds a lone surrogate, in its text, id, authors or columns."""
        documents = self.documents(chunk)
        found = documents.first(_has_half)
        return chunk.name if found is None else documents.place(found)


def _texts(bodies: Sequence[Any]) -> Sequence[str]:
    """The texts, of which a list holds the paragraphs."""
    if isinstance(bodies, Utf8Lines):
        return bodies
    return [body if isinstance(body, str) else "\n\n".join(() if body is None else body) for body in bodies]


@contextmanager
def _words_only(documents: Documents) -> Iterator[None]:
    """Say which document holds a token that is not a string."""
    try:
        yield
    except NotAWord as error:
        raise InputError(
            f"{documents.place(error.document)}: token {error}; tokens, and what your tokenizer returns, must be "
            "strings"
        ) from None


def _has_half(value: Any) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    return any(map(_has_half, (*(value if isinstance(value, Mapping) else ()), *_items(value))))


def _is_deep(value: Any) -> bool:
    """Whether lists and mappings are in one another, a hundred deep."""
    level = [value]
    for _ in range(100):
        level = [item for value in level for item in _items(value)]
    return bool(level)


def _items(value: Any) -> Iterable[Any]:
    """What is in a list or a mapping."""
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()

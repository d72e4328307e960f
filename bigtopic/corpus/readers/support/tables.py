"""Tables: a document per row with its text in a column, or document-word-count triples in three columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.support.assemble import canonical, check_counts, count_remedy, restrict
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.documents import Documents
from bigtopic.corpus.readers.support.records import AUTHORS, BODIES, IDS, choose
from bigtopic.corpus.readers.support.vocabulary import unique_words
from bigtopic.corpus.text.raw import RawBlock
from bigtopic.errors import InputError, argument

__all__ = [
    "TableLayout",
    "Together",
    "empty_cell",
    "holds_counts",
    "only_text",
    "table_documents",
    "table_layout",
    "triples_block",
    "words_of_columns",
]

_DOCUMENTS = ("doc", "document", "doc_id", "docid", "document_id", "id")
_WORDS = ("word", "term", "token", "feature", "word_id", "term_id")
_TEXTS = {*BODIES} - {"document"}
_COUNTS = ("count", "n", "freq", "frequency", "tf", "value", "weight", "counts")


@dataclass(frozen=True)
class TableLayout:
    """Positions of columns. `triple` is (document, word, count) or None; otherwise `body` is the document."""

    names: tuple[str, ...]
    triple: tuple[int, int, int] | None = None
    body: int = 0
    id: int | None = None
    authors: int | None = None
    kept: tuple[int, ...] = ()

    @property
    def body_name(self) -> str | None:
        """Name of the column with the document, unless it lies in many rows."""
        return None if self.triple else self.names[self.body]

    @property
    def positions(self) -> tuple[int, ...]:
        """The columns that are read."""
        positions = self.triple or (self.body, self.id, self.authors, *self.kept)
        return tuple(dict.fromkeys(i for i in positions if i is not None))

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return tuple(dict.fromkeys(self.names[i] for i in self.positions))


def holds_counts(names: Sequence[str], numbers: Sequence[bool], options: Options) -> bool:
    """Whether a table is a matrix of counts, with a column for each word.

    Its columns are numbers; three of them may still be document, word and count.
    """
    return options.text_column is None and all(numbers) and (len(names) != 3 or _triple(tuple(names)) is None)


def words_of_columns(names: Sequence[str], options: Options, where: str) -> Options:
    """The options for the counts of a table: its columns are the words, unless a vocabulary is given.

    Raises
    ------
    InputError
        When two columns have one name.
    """
    if options.vocabulary:
        return options
    return replace(options, vocabulary=unique_words(list(map(str, names)), f"the columns of {where}"))


def only_text(names: Sequence[str], texts: Sequence[bool]) -> int | None:
    """Position of the only column of texts that no usual name makes an id or an author."""
    found = [i for i, text in enumerate(texts) if text and names[i].lower() not in (*IDS, *AUTHORS)]
    return found[0] if len(found) == 1 else None


def table_layout(
    names: Sequence[str], options: Options, where: str, longest: int | None = None
) -> TableLayout:
    """Which column is what. `longest` is the column to take for the text when no name tells.

    Raises
    ------
    InputError
        When no column can be the document, or a requested column is missing.
    """
    names = tuple(names)
    if options.text_column is None and (triple := _triple(names)) is not None:
        return TableLayout(names, triple)
    body = _position(names, options.text_column, BODIES, where)
    body = longest if body is None else body
    if body is None:
        raise InputError(
            f"{where}: none of the columns {', '.join(names)} is known to be the text; name it with "
            f"{argument('text_column', ...)} "
            "(or call three columns document, word, count)"
        )
    identity = _position(names, options.id_column, IDS, where)
    authors = _position(names, options.author_column, AUTHORS, where)
    if options.keep_columns is None:
        kept = tuple(i for i in range(len(names)) if i not in (body, identity, authors))
    else:
        kept = tuple(names.index(choose(name, (), names, "column", where)) for name in options.keep_columns)
    return TableLayout(names, None, body, identity, authors, kept)


def _triple(names: tuple[str, ...]) -> tuple[int, int, int] | None:
    folded = [name.lower() for name in names]
    found = [
        next((folded.index(n) for n in usual if n in folded), None) for usual in (_DOCUMENTS, _WORDS, _COUNTS)
    ]
    if None in found or any(name in _TEXTS for i, name in enumerate(folded) if i not in found):
        return None
    return tuple(found)  # type: ignore[return-value]


def _position(names: tuple[str, ...], wanted: Any, usual: Sequence[str], where: str) -> int | None:
    if wanted is not None and str(wanted).isdigit() and str(wanted) not in names and int(wanted) < len(names):
        return int(wanted)
    name = choose(None if wanted is None else str(wanted), usual, names, "column", where)
    return None if name is None else names.index(name)


def table_documents(
    columns: Sequence[Sequence[Any]], layout: TableLayout, place: Callable[[int], str]
) -> Documents:
    """Documents of a table with a row for each."""
    ids = None if layout.id is None else id_texts(columns[layout.id])
    authors = None if layout.authors is None else list(columns[layout.authors])
    kept = {layout.names[i]: columns[i] for i in layout.kept}
    return Documents(columns[layout.body], place, ids, authors, kept)


class Together:
    """Watches that the rows of each document are together, over the chunks of a table."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def check(self, documents: Sequence[Any] | np.ndarray, place: Callable[[int], str]) -> int:
        """Number of documents among these rows, which begin with a new one. Keeps 64 bits of each.

        Raises
        ------
        InputError
            Naming the row that goes back to a document, or has none.
        """
        n_docs, last = 0, self
        for i, document in enumerate(documents):
            if document == last:
                continue
            if document is None or document == "":
                raise empty_cell(place(i))
            last, key = document, document if isinstance(document, int) else hash(document)
            if key in self._seen:
                raise InputError(
                    f"{place(i)} goes back to document {str(document)!r}; the rows of a document must be together: "
                    "sort the table by document"
                )
            self._seen.add(key)
            n_docs += 1
        return n_docs


def empty_cell(where: str) -> InputError:
    """The error about a row, at `where`, that lacks its document, word or count."""
    return InputError(
        f"{where} has an empty cell; every row needs document, word and count: fill it in, or leave the row out"
    )


def triples_block(
    documents: np.ndarray,
    words: np.ndarray,
    vocabulary: list[str],
    counts: np.ndarray,
    place: Callable[[int], str],
    weights: bool,
    index: dict[str, int] | None,
) -> RawBlock:
    """Rows of (document, word, count), the rows of a document one after the other, to a block.

    Parameters
    ----------
    documents : (n,) names or numbers; words : (n,) ids into `vocabulary`; counts : (n,)
    place : says where row i is
    index : word -> id of a given vocabulary, or None

    Raises
    ------
    InputError
        When a count is not allowed, or a word is empty.
    """
    if "" in vocabulary and (empty := words == vocabulary.index("")).any():
        raise empty_cell(place(int(np.argmax(empty))))
    if found := check_counts(counts, weights):
        at, kind = found
        raise InputError(f"{place(at)}: count {counts[at]:g} is {kind}; {count_remedy(kind)}")
    new = np.ones(len(documents), bool)
    new[1:] = documents[1:] != documents[:-1]
    starts = np.flatnonzero(new)
    ids = [str(documents[i]) for i in starts]
    counts = counts.astype(np.float32)
    present = counts != 0
    indptr = np.concatenate([[0], np.cumsum(present)])[np.append(starts, len(documents))]
    arrays = canonical(indptr, words[present].astype(np.int32), counts[present])
    block = RawBlock(*arrays, vocabulary, ids, n_zeros=int(len(counts) - present.sum()))
    return block if index is None else restrict(block, index)

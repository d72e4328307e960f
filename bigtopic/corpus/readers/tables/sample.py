"""Usual names of columns, and what is known of a table before it is read: names, numbers or not, first values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtopic.corpus.columns import ABSENT, is_missing

__all__ = [
    "AUTHORS",
    "BODIES",
    "COUNTS",
    "DOCUMENTS",
    "IDS",
    "KNOWN",
    "PLAINEST",
    "SAMPLE_ROWS",
    "TEXTS",
    "WORDS",
    "Sample",
    "TableLayout",
    "fold",
    "kind_of_cells",
]

SAMPLE_ROWS = 1000
# All names are folded, see `fold`; those that come first win.
PLAINEST = ("text", "tokens", "counts", "abstract", "body", "content", "document", "description")
BODIES = (
    *PLAINEST,
    *("fulltext", "reviewtext", "reviewbody", "review", "commenttext", "comment", "speech", "headlinetext"),
    *("message", "tweet", "tweettext", "post", "selftext", "article", "articletext", "transcript", "lyrics"),
    *("plot", "comments", "summary", "paragraph", "sentence", "utterance", "headline"),
)
IDS = ("id", "docid", "documentid", "key")
AUTHORS = ("authorsparsed", "authors", "author", "tags")
DOCUMENTS = ("doc", "document", "docid", "documentid", "id")
WORDS = ("word", "term", "token", "feature", "wordid", "termid")
COUNTS = ("count", "n", "freq", "frequency", "tf", "value", "weight", "counts")
TEXTS = frozenset(BODIES) - {"document", "counts"}
_FURTHER = (
    *("title", "name", "date", "year", "month", "time", "timestamp", "createdat", "user", "url"),
    *("link", "source", "label", "category", "class", "kind", "type", "topic", "subject", "section"),
    *("genre", "sentiment", "target", "rating", "score", "stars", "language", "lang", "country"),
    *("journal", "publisher"),
)
KNOWN = frozenset((*BODIES, *IDS, *AUTHORS, *DOCUMENTS, *WORDS, *COUNTS, *_FURTHER))
_DATE = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?"
    r"|(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? [\w ,:+-]*\d\d:\d\d[\w ,:+-]*"
)


def fold(name: Any) -> str:
    """A name as usual names are compared: "Review Text", "review_text" and "reviewText" are one."""
    return re.sub(r"[\s_-]+", "", str(name)).lower()


@dataclass(frozen=True)
class Sample:
    """What is known of a table before it is read.

    names : of the columns
    first : position -> the first values of the column, as Python has them
    numeric : whether each column holds numbers and nothing else
    named : the table names its columns; else they are called "0", "1", ...
    names_rows : the table names its rows, so that each is a document
    """

    names: tuple[str, ...]
    first: Callable[[int], Sequence[Any]]
    numeric: tuple[bool, ...]
    named: bool = True
    names_rows: bool = False

    def kind(self, i: int) -> str:
        """Of the values in a column, see `kind_of_cells`."""
        return kind_of_cells(self.first(i))

    def words_per_cell(self, i: int) -> float:
        """Mean number of words in the cells of a column of texts."""
        cells = [value for value in self.first(i) if isinstance(value, str) and value]
        return sum(len(cell.split()) for cell in cells) / max(1, len(cells))


@dataclass(frozen=True)
class TableLayout:
    """Positions of columns.

    triple : (document, word, count), or None
    matrix : each column holds the counts of a word
    bodies : otherwise, the columns of the document; several are joined
    taken : what was guessed, in words
    """

    names: tuple[str, ...]
    triple: tuple[int, int, int] | None = None
    bodies: tuple[int, ...] = ()
    id: int | None = None
    authors: int | None = None
    kept: tuple[int, ...] = ()
    matrix: bool = False
    taken: Mapping[str, str] = field(default_factory=dict)

    @property
    def body_name(self) -> str | None:
        """Name of the column with the document, unless it lies in many rows."""
        return ", ".join(self.names[i] for i in self.bodies) or None

    @property
    def positions(self) -> tuple[int, ...]:
        """The columns that are read."""
        positions = self.triple or (*self.bodies, self.id, self.authors, *self.kept)
        return tuple(dict.fromkeys(i for i in positions if i is not None))

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return tuple(dict.fromkeys(self.names[i] for i in self.positions))


def kind_of_cells(values: Sequence[Any]) -> str:
    """Of values, missing ones apart: "number", "code" (texts that are all numbers, or all dates, or all true or false),
    "text", "document" (lists and mappings), "other", or "" where all are missing.
    """
    present = [value for value in values if not is_missing(value) and value != ""]
    if not present:
        return ""
    if all(isinstance(value, str) for value in present):
        return "code" if all(map(_is_code, present)) else "text"
    if all(isinstance(value, (int, float, np.number, np.bool_)) for value in present):
        return "number"
    return "document" if all(map(_is_document, present)) else "other"


def _is_document(value: Any) -> bool:
    """Whether it is a list, of tokens perhaps, or a mapping to numbers, which may be counts."""
    if isinstance(value, Mapping):
        return all(isinstance(count, (int, float, np.number)) for count in value.values())
    return isinstance(value, (list, tuple, np.ndarray))


def _is_code(text: str) -> bool:
    text = text.strip()
    if text in ABSENT or text.lower() in ("true", "false") or _DATE.fullmatch(text):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True

"""What names the columns of a table: usual names, the kinds of cells, and whether the first row is a header.

A header is judged against the rows below it. A name is told from a cell by what the cells below it are: numbers or
dates under a name that is none; a value that comes again below is not a name. Names that are known decide, too. As in
pandas, a column without a name is called "Unnamed: 0" and the second "x" is "x.1"; without a header, columns are called
"0", "1", ...
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

import numpy as np

from bigtopic.corpus.columns import ABSENT, is_missing
from bigtopic.corpus.readers.base import Options
from bigtopic.errors import argument, warn

__all__ = [
    "AUTHORS",
    "BODIES",
    "IDS",
    "PLAINEST",
    "ROLES",
    "SAMPLE_ROWS",
    "TEXTS",
    "column_names",
    "fold",
    "has_header",
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
ROLES = {  # of the columns of a table of (document, word, count)
    "document": ("doc", "document", "docid", "documentid", "id"),
    "word": ("word", "term", "token", "feature", "wordid", "termid"),
    "count": ("count", "n", "freq", "frequency", "tf", "value", "weight", "counts"),
}
TEXTS = frozenset(BODIES) - {"document", "counts"}
_FURTHER = (
    *("title", "name", "date", "year", "month", "time", "timestamp", "createdat", "user", "url"),
    *("link", "source", "label", "category", "class", "kind", "type", "topic", "subject", "section"),
    *("genre", "sentiment", "target", "rating", "score", "stars", "language", "lang", "country"),
    *("journal", "publisher"),
)
_KNOWN = frozenset((*BODIES, *IDS, *AUTHORS, *chain(*ROLES.values()), *_FURTHER))
_DATE = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?"
    r"|(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? [\w ,:+-]*\d\d:\d\d[\w ,:+-]*"
)


def fold(name: Any) -> str:
    """A name as usual names are compared: "Review Text", "review_text" and "reviewText" are one."""
    return re.sub(r"[\s_-]+", "", str(name)).lower()


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


_LONGEST = 200  # characters of a name: questions of surveys are names
_IDENTIFIER = re.compile(r"[A-Za-z]\w*(?:_\w|[a-z][A-Z])\w*")
_SENTENCE = re.compile(r"(\S+\s+){4,}\S*[.!]")
_WORD = re.compile(r"[^\W\d_]+")
_FEWEST = 3  # rows that show labels, which come again
_LONGER = 3  # times as many words as the first row: what is below is another kind of thing

# The first of these that a column says decides.
_VERDICTS = {
    "a known name": True,
    "a sentence": False,
    "a word above numbers": True,
    "a value": False,
    "an identifier": True,
    "a word above labels": True,
}


def has_header(rows: Sequence[Sequence[str]], options: Options, where: str) -> bool:
    """Whether the first of these rows names the columns; warns where it may as well be a document."""
    if options.header is not None:
        return options.header
    first = [cell.strip() for cell in rows[0]]
    if _asked(options, len(first)) & set(first):
        return True
    if any(len(cell) > _LONGEST for cell in first):
        return False
    below = [[row[i].strip() for row in rows[1:] if i < len(row)] for i in range(len(first))]
    votes = {_vote(cell, cells) for cell, cells in zip(first, below, strict=True)}
    decided = [header for verdict, header in _VERDICTS.items() if verdict in votes]
    return decided[0] if decided else _ambiguous(first, below, where)


def _asked(options: Options, width: int) -> set[str]:
    """Names of columns that the caller gave; numbers that may be their positions are not."""
    text = options.text_column
    names: list[Any] = [text] if isinstance(text, (str, int)) else list(text or ())
    names += [options.id_column, options.author_column, *(options.keep_columns or ())]
    names += [options.document_column, options.word_column, options.count_column]
    return {name for name in names if isinstance(name, str) and not (name.isdigit() and int(name) < width)}


def _vote(cell: str, below: Sequence[str]) -> str:
    """What a cell in the first row is, judged by those below: one of `_VERDICTS`, or "" where it may be anything."""
    if cell in ABSENT:
        return ""
    if cell in below:
        return "a value"
    if fold(cell) in _KNOWN:
        return "a known name"
    if _SENTENCE.fullmatch(cell):
        return "a sentence"
    number, numbers = (kind_of_cells(cells) == "code" for cells in ([cell], below))
    if numbers:
        return "a value" if number else "a word above numbers"
    if below and _IDENTIFIER.fullmatch(cell) and not all(map(_IDENTIFIER.fullmatch, below)):
        return "an identifier"
    return "a word above labels" if len(below) >= _FEWEST and 2 * len(set(below)) <= len(below) + 1 else ""


def _ambiguous(first: Sequence[str], below: Sequence[Sequence[str]], where: str) -> bool:
    """A row of texts above texts: names only if it is of single words; a warning where the others are much longer."""
    lengths = [sum(len(cell.split()) for cell in cells) / len(cells) for cells in below if cells]
    own = [len(cell.split()) for cell in first]
    distinct = len(set(first)) == len(first) and all(first)
    longer = any(n >= _LONGER * mine for n, mine in zip(lengths, own, strict=False))
    if not distinct or max(own) > 4 or not longer:
        return False
    header = len(first) > 1 and all(map(_WORD.fullmatch, first))
    shown = ", ".join(first)[:60]
    taken = (
        "the names of the columns; if it is a document" if header else "a document; if it names the columns"
    )
    warn(f"{where}: the first row ({shown}) is taken as {taken}, pass {argument('header', not header)}")
    return header


def column_names(row: Sequence[Any]) -> list[str]:
    """Names of columns as pandas reads them, each of them once."""
    names: dict[str, None] = {}
    again: dict[str, Iterator[int]] = defaultdict(lambda: count(1))
    for i, cell in enumerate(row):
        name = first = str("" if cell is None else cell).strip() or f"Unnamed: {i}"
        while name in names:
            name = f"{first}.{next(again[first])}"
        names[name] = None
    return list(names)

"""Which column of a table is what, whatever the table is: CSV, records, Parquet, a data frame, a sheet.

A table is one of three things:

    rows      a document per row: a text (or tokens, or counts) in one column or several, perhaps an id and authors
    long      rows of (document, word, count)
    matrix    a column of counts for each word, a document per row

Names that were given come first, then usual names, then what the first rows hold. A table that fits two of these is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.support.header import (
    AUTHORS,
    BODIES,
    IDS,
    PLAINEST,
    ROLES,
    TEXTS,
    fold,
    kind_of_cells,
)
from bigtopic.errors import InputError, SettingError, argument, did_you_mean

__all__ = ["Sample", "TableLayout", "choose", "moved_up", "refuse_matrix", "table_layout"]

_CODE = re.compile(r"\s*[!-~]*\s*")
_MOST_LONG = 8  # columns of a table of (document, word, count): the words of a matrix are more
_FEWEST_ROWS = 4  # which tell ids from counts
_SENTENCE = 4  # words, in the mean, from which on a column holds texts
_LABEL = 2  # words, in the mean, up to which it holds labels
_NAME_THEM = "{}, {} and {}".format(*(argument(f"{role}_column", ...) for role in ROLES))


@dataclass(frozen=True)
class Sample:
    """A table before it is read: names and first values of its columns.

    names : of the columns
    first : position -> the first values of the column, as Python has them
    numeric : whether each column holds numbers and nothing else
    where, what : the table, and what it calls a column, for messages
    inner : "outer.inner" of a field inside another that could be the text, for messages
    named : the table names its columns; else they are called "0", "1", ...
    names_rows : the table names its rows, so that each is a document
    """

    names: tuple[str, ...]
    first: Callable[[int], Sequence[Any]]
    numeric: tuple[bool, ...]
    where: str
    what: str = "column"
    inner: str = ""
    named: bool = True
    names_rows: bool = False

    @cached_property
    def folded(self) -> list[str]:
        return [fold(name) for name in self.names]

    def usual(self, names: Sequence[str]) -> list[int]:
        """Positions of the columns with these names, by the order of the names."""
        return [self.folded.index(name) for name in names if name in self.folded]

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

    names : of the columns, or keys of records; of records that are documents themselves, none
    triple : (document, word, count), or None
    matrix : each column holds the counts of a word
    bodies : otherwise, the columns of the document; several are joined
    kept : further columns; None keeps all that a chunk has
    taken : what was guessed, in words
    """

    names: tuple[Any, ...] = ()
    triple: tuple[int, ...] | None = None
    bodies: tuple[int, ...] = ()
    id: int | None = None
    authors: int | None = None
    kept: tuple[int, ...] | None = ()
    matrix: bool = False
    taken: Mapping[str, str] = field(default_factory=dict)

    @property
    def body_name(self) -> str | None:
        """Name of the column with the document, unless it lies in many rows."""
        return ", ".join(str(self.names[i]) for i in self.bodies) or None

    @property
    def positions(self) -> tuple[int, ...]:
        """The columns that are read."""
        positions: Sequence[int | None] = self.triple or (
            *self.bodies,
            self.id,
            self.authors,
            *(self.kept or ()),
        )
        return tuple(dict.fromkeys(i for i in positions if i is not None))

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return tuple(dict.fromkeys(self.names[i] for i in self.positions))


def choose(wanted: Any, usual: Sequence[str], names: Sequence[str], what: str, where: str) -> Any:
    """The requested field, or else the first field with a usual name in any case."""
    if wanted is not None:
        if wanted not in names:
            outer, inner, _ = str(wanted).partition(".")
            raise InputError(
                f"{where} has no {what} named {wanted!r}; it has {', '.join(map(str, names))}"
                f"{did_you_mean(wanted, names)}{moved_up(wanted) if inner and outer in names else ''}"
            )
        return wanted
    folded = {fold(name): name for name in reversed(names)}
    return next((folded[name] for name in usual if name in folded), None)


def moved_up(path: str) -> str:
    """The end of a message about a field inside another; "" for none."""
    if not path:
        return ""
    plain = all(map(str.isidentifier, path.split(".")))  # else it needs quotes, in jq and in the shell
    return f"; {path} is inside another field: move it up" + (
        f", as jq -c '.text = .{path}' does" if plain else ""
    )


def table_layout(table: Sample, options: Options) -> TableLayout:
    """Which column is what.

    Raises
    ------
    InputError
        When no column can be the document, when a table can be read in two ways, or a requested column is missing.
    SettingError
        When columns are requested for a table of rows and for one of (document, word, count).
    """
    asked = (options.document_column, options.word_column, options.count_column)
    if any(name is not None for name in asked):
        if options.text_column is not None:
            raise SettingError(
                f"{argument('text_column', ...)} is for a table with a document per row, {_NAME_THEM} for rows of "
                "document, word and count; choose one"
            )
        return TableLayout(table.names, _triple_asked(table, asked))
    if options.text_column is None:
        found = [table.usual(names)[:1] for names in ROLES.values()]
        if all(table.numeric) and (layout := _of_numbers(table, found, options)):
            return layout
        told = any(name in TEXTS for i, name in enumerate(table.folded) if [i] not in found)
        if found[0] and found[1] and not told:
            if found[2]:
                return _long(table, found)
            word = table.names[found[1][0]]
            otherwise = f"; or the column of the text, with {argument('text_column', word)}"
            raise _unclear(table, "a count", otherwise)
    bodies, taken = _bodies(table, options)
    identity = _position(table, options.id_column, IDS)
    authors = _position(table, options.author_column, AUTHORS)
    names = table.names
    if authors is not None and options.author_column is None and "author" not in table.folded[authors]:
        taken = {**taken, "author_column": names[authors]}  # such as tags
    if options.keep_columns is None:
        kept = tuple(i for i in range(len(names)) if i not in (*bodies, identity, authors))
    else:
        wanted = options.keep_columns
        kept = tuple(names.index(choose(name, (), names, table.what, table.where)) for name in wanted)
    return TableLayout(names, None, bodies, identity, authors, kept, taken=taken)


def _of_numbers(table: Sample, found: Sequence[list[int]], options: Options) -> TableLayout | None:
    """The layout of a table that holds only numbers; None where it may also be rows of numbered texts."""
    if len(table.names) <= _MOST_LONG:
        if all(found):
            return _long(table, found)
        said = table.names_rows or len(options.vocabulary or ()) == len(table.names)
        if not said and (all(found[:2]) or _looks_long(table)):
            otherwise = f"; if each column is a word, pass their names as {argument('vocabulary', ...)}"
            raise _unclear(table, "a document, a word and a count", otherwise)
    return TableLayout(table.names, matrix=True, taken={"table": "a column of counts per word"})


def _long(table: Sample, found: Sequence[list[int]]) -> TableLayout:
    """The layout of rows of document, word and count, in columns known by their names."""
    triple = tuple(i for (i,) in found)
    taken = {"columns of document, word and count": ", ".join(table.names[i] for i in triple)}
    return TableLayout(table.names, triple, taken=taken)


def _unclear(table: Sample, what: str, otherwise: str) -> InputError:
    shown = ", ".join(table.names[:_MOST_LONG])
    return InputError(
        f"{table.where}: the columns {shown} look like rows of document, word and count, but their names do not say "
        f"which holds {what}; name them with {_NAME_THEM} (by number where they have no names), or call them document, "
        f"word and count{otherwise}"
    )


def _looks_long(table: Sample) -> bool:
    """Whether the first two columns are like ids, and the third like counts.

    Pairs of ids occur once, ids of documents or words again; counts are not 0.
    """
    if len(table.names) < 3:
        return False
    first, second, third = (np.array([_number(value) for value in table.first(i)]) for i in range(3))
    if len(first) < _FEWEST_ROWS or not (third > 0).all():
        return False
    if any((ids != np.floor(ids)).any() or (ids < 0).any() for ids in (first, second)):
        return False
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    repeated = min(len(set(first.tolist())), len(set(second.tolist()))) < len(first)
    return len(pairs) == len(first) and repeated


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):  # missing
        return np.nan


def _triple_asked(table: Sample, asked: tuple[Any, ...]) -> tuple[int, ...]:
    """The requested columns of document, word and count; those that are not, by their usual names."""
    found = []
    for wanted, (role, usual) in zip(asked, ROLES.items(), strict=True):
        at = _position(table, wanted, usual)
        if at is None:
            raise InputError(
                f"{table.where}: none of the {table.what}s {', '.join(table.names)} is known to hold the {role}; name "
                f"it with {argument(f'{role}_column', ...)}"
            )
        found.append(at)
    if len(set(found)) < 3:
        raise SettingError(
            f"{_NAME_THEM}: {', '.join(table.names[i] for i in found)} are not three columns; name three"
        )
    return tuple(found)


_BY_ROWS = (
    f"; of rows of a document, a word and a count, name the columns with {argument('document_column', ...)}, "
    f"{argument('word_column', ...)} and {argument('count_column', ...)}"
)


def _bodies(table: Sample, options: Options) -> tuple[tuple[int, ...], dict[str, str]]:
    """The columns of the document, and what was guessed."""
    wanted, names, what = options.text_column, table.names, table.what
    if wanted is not None:
        several = [wanted] if isinstance(wanted, (str, int)) else list(wanted)
        if not several:
            raise SettingError(
                f"{argument('text_column')}=[] names no column; give a name, or a list of names"
            )
        found = [_position(table, name, ()) for name in several]
        return tuple(at for at in found if at is not None), {}
    known = table.usual(BODIES)
    plain = [at for at in known if table.folded[at] in PLAINEST]
    # "comments" may as well be how many there are.
    usable = [at for at in known if table.kind(at) not in ("number", *(() if at in plain else ("code",)))]
    body = usable[0] if usable else None
    if body is None and known and known[0] in plain:
        raise InputError(
            f"{table.where}: {what} {names[known[0]]!r} holds a number where a document is expected; name "
            f"another {what} with {argument('text_column', ...)}, or put counts of words into a field, "
            '{"counts": {...}}'
        )
    body = _only_text(table) if body is None else body
    if body is None:
        raise InputError(
            f"{table.where}: none of the {what}s {', '.join(names)} is known to be the text; name it with "
            f"{argument('text_column', ...)}{moved_up(table.inner)}" + (_BY_ROWS if what == "column" else "")
        )
    if f"{names[body]}.1" in names:  # as a table of text calls the second
        raise InputError(
            f"{table.where} has several columns {names[body]!r}; rename or remove all but one, or name one with "
            f"{argument('text_column', ...)}"
        )
    others = [names[at] for at in usable if at != body] if body in usable else []
    others += [names[i] for i, one in enumerate(table.folded) if one == "title" and i != body]
    beside = {"kept beside it": ", ".join(others)} if others else {}
    return (body,), {"text_column": names[body], **beside}


def _only_text(table: Sample) -> int | None:
    """The only column of texts that is not named like ids or authors; of several, the sentences beside labels.

    Without names, the longest texts are the documents.
    """
    free = [i for i, name in enumerate(table.folded) if name not in (*IDS, *AUTHORS)]
    kinds = {i: table.kind(i) for i in free}
    texts = [i for i in free if kinds[i] == "text"]
    found = texts or [i for i in free if kinds[i] == "document"] or [i for i in free if kinds[i] == ""]
    if len(found) < 2:
        named = not found or _may_name_rows(table, found[0], kinds) or _are_codes(table, found[0])
        return None if named else found[0]
    if not texts:
        return None
    lengths = {i: table.words_per_cell(i) for i in texts}
    if not table.named:
        return max(texts, key=lambda i: lengths[i])
    sentences = [i for i in texts if lengths[i] >= _SENTENCE]
    clear = len(sentences) == 1 and all(lengths[i] <= _LABEL for i in texts if i not in sentences)
    return sentences[0] if clear else None


def _may_name_rows(table: Sample, at: int, kinds: Mapping[int, str]) -> bool:
    """Whether a column of single words, beside several of numbers, may hold the names of the rows of a matrix."""
    others = [kind for i, kind in kinds.items() if i != at]
    return len(others) > 1 and {*others} <= {"number", "code"} and 0 < table.words_per_cell(at) <= 1


def _are_codes(table: Sample, at: int) -> bool:
    """Whether a column beside others has single words without letters of another script, such as names and hashes."""
    cells = [value for value in table.first(at) if isinstance(value, str)]
    return len(table.names) > 1 and len(cells) > 1 and all(_CODE.fullmatch(cell) for cell in cells)


def _position(table: Sample, wanted: Any, usual: Sequence[str]) -> int | None:
    names, asked = table.names, None if wanted is None else str(wanted)
    if asked is not None and asked.isdigit() and asked not in names and int(asked) < len(names):
        return int(asked)
    name = choose(asked, usual, names, table.what, table.where)
    return None if name is None else names.index(name)


def refuse_matrix(layout: TableLayout, where: str, how: str) -> None:
    """Refuse a file of numbers only, which holds no documents that its format can tell.

    Raises
    ------
    InputError
    """
    if layout.matrix:
        raise InputError(
            f"{where} holds only numbers and no text: if each column has the counts of a word, pass the table of "
            f"{how}; if its rows are document, word and count, name them with {_NAME_THEM}"
        )

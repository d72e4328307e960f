"""Names of authors, tags or labels as sources give them: how they are divided, and which values are refused.

A list holds names as they are. One text may name several: it is divided where that is certain, that is

* at ";", "|" and line ends; where it is a list as JSON or Python writes it;
* at "," and "and", where every part has initials ("Smith, J., Lee, K.", "J. Smith and K. Lee");
* at "and", where every part is a last and a first name ("Smith, John and Lee, Kim").

Other commas and "and" may be part of a name ("Smith, John"; "Ministry of Trade and Industry"): such texts are one name,
and where they look like several, `DoubtfulNames` says so.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.corpus.columns import is_missing, name_text
from bigtopic.corpus.readers.base import Place
from bigtopic.corpus.readers.containers.files import File
from bigtopic.errors import InputError
from bigtopic.wording import counted

__all__ = ["DoubtfulNames", "author_names", "authors_of_file", "not_a_name", "parsed_names", "split_names"]

_NO_NAMES = Mapping | bytes | bytearray | memoryview
_ENDED = re.compile(r"(?:&#?\w+;|[^;|\n\r])+")  # an entity such as &amp; ends no name
# The blanks of what follows are single ones.
_AND = re.compile(r",? ?(?:\band\b|&) ")
_COMMA = re.compile(r" ?, ?")
_INITIALS = r"(?:[^\W\d_]\.[ -]?){1,4}"
_LAST = r"[^\W\d_][^\d,;.]*"
_INITIALS_LAST = re.compile(rf"{_INITIALS}{_LAST}")
_LAST_INITIALS = re.compile(rf"{_LAST},? {_INITIALS}|{_LAST} [A-Z]{{1,3}}")
_LAST_FIRST = re.compile(r"[^,]+,[^,]+")
_AFTER_INITIALS = re.compile(r"(?<=\.), ?")
_SUFFIX = re.compile(r"(?:[JjSs]r\.?|[IVX]+)?")

_MOST_BYTES = 1 << 28  # bytes: some 10 million pairs
_HEADER = ["document", "author"]


def author_names(given: Any, i: int, place: Place, separator: str | None) -> Iterator[str]:
    """The names in what document i has for its authors: a text, a list of names, or something missing.

    A number is the name with its digits, see `name_text`. `place` is asked only for the message: its answer may take
    reading a file from its start.

    Parameters
    ----------
    separator : as for `split_names`

    Raises
    ------
    InputError
        For mappings, bytes, and lists inside lists; begins with the document's place.
    """
    given = split_names(given, separator) if isinstance(given, str) else parsed_names(given)
    for one in given if _is_list(given) else (given,):
        if isinstance(one, str):
            if name := one.strip():
                yield name
        elif isinstance(one, _NO_NAMES) or _is_list(one):
            raise not_a_name(one, place(i))
        elif not is_missing(one):
            yield name_text(one)


def split_names(text: str, separator: str | None = None) -> list[Any]:
    """The names in one text.

    Parameters
    ----------
    separator : what stands between names; None divides the text where that is certain, "" never
    """
    if separator is not None:
        return text.split(separator) if separator else [text]
    if len(names := _ENDED.findall(text)) > 1:
        return names
    if text.lstrip().startswith("[") and (listed := _literal(text)) is not None:
        return parsed_names(listed)
    if "," in text or _AND.search(text):
        return _certain_names(" ".join(text.split()).rstrip(", ")) or [text]
    return [text]


def _literal(text: str) -> list[Any] | None:
    """The list that a text is, as JSON or Python write it."""
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list):
            return found
    return None


def _certain_names(text: str) -> list[str] | None:
    """The names in a text where every part is surely one, else None."""
    parts = _AND.split(text)
    if len(parts) > 1 and all(map(_LAST_FIRST.fullmatch, parts)):
        return parts
    for comma, name in (
        (_COMMA, _INITIALS_LAST),
        (_COMMA, _LAST_INITIALS),
        (_AFTER_INITIALS, _LAST_INITIALS),
    ):
        names = [one for part in parts for one in comma.split(part)]
        if len(names) > 1 and all(map(name.fullmatch, names)):
            return names
    return None


class DoubtfulNames:
    """Watches texts for names that may be several.

    Texts with a comma each are "last, first" names, as libraries keep them. More commas, a comma in some texts only,
    or "and", may divide names as well.

    example : the first text in doubt, or None
    """

    def __init__(self) -> None:
        self._several: str | None = None
        self._pair: str | None = None
        self._single = False

    def add(self, text: str) -> None:
        """A text that `split_names` left whole."""
        commas = text.count(",")
        if commas > 1 or _AND.search(text):
            self._several = self._several or text
        elif commas:
            self._pair = self._pair or text
        else:
            self._single = True

    @property
    def example(self) -> str | None:
        return self._several or (self._pair if self._single else None)


def parsed_names(given: Any) -> Any:
    """Names given as lists of their parts, [last, first, suffix], as in arXiv's `authors_parsed`; all else as it is."""
    if isinstance(given, list | np.ndarray) and len(given) and all(map(_is_parsed, given)):
        return [" ".join(filter(None, (name[1], name[0], name[2]))) for name in given]
    return given


def _is_parsed(name: Any) -> bool:
    return (
        isinstance(name, list | np.ndarray)
        and len(name) >= 3
        and all(isinstance(part, str) for part in name)
        and _SUFFIX.fullmatch(name[2]) is not None
    )


def not_a_name(value: Any, where: str) -> InputError:
    """The error about an author that is not a name."""
    remedy = ", such as the value of one field of each" if isinstance(value, Mapping) else ""
    shown = reprlib.repr(value)  # of the beginning, however deep it is
    return InputError(f"{where} has the author {shown}; give names as text{remedy}")


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | _NO_NAMES)


def authors_of_file(path: str, options: Mapping[str, Any] | None = None) -> Any:
    """What `Corpus.with_authors` takes, from a file that may be compressed.

    Parameters
    ----------
    path : JSON as `with_authors` takes it; or CSV, with tabs TSV, of two columns: document id and author, a row for
        each pair. A first row "document,author" is the header
    options : passed to fsspec

    Raises
    ------
    InputError
        When it is neither; names the line.
    """
    file = File(path, options)
    if not file.exists():
        raise InputError(f"{path} does not exist or is not a file; check the path")
    try:
        text = file.content(_MOST_BYTES, "authors; pass them to Corpus.with_authors in Python").decode(
            "utf-8-sig"
        )
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; convert it with iconv") from None
    return _from_json(text, path) if text.lstrip()[:1] in ("{", "[") else _pairs_of_table(text, path)


def _from_json(text: str, path: str) -> Any:
    def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise InputError(f"{path} lists {name!r} twice; join the two lists")
            found[name] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}, is not JSON: {error.msg}; correct it, or give a table of two columns"
        ) from None
    except RecursionError:
        raise InputError(f"{path} nests lists or objects too deeply; lists of names are enough") from None


def _pairs_of_table(text: str, path: str) -> list[tuple[str, str]]:
    first = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in first else ",", strict=True)
    pairs: list[tuple[str, str]] = []
    try:
        for row in rows:
            if row == _HEADER and not pairs:
                continue
            if len(row) != 2:
                raise InputError(
                    f"{path}, line {rows.line_num}, has {counted(len(row), 'column')}; give two, document id and author"
                )
            pairs.append((row[0], row[1]))
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: {error}; correct it") from None
    return pairs

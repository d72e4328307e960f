"""Further columns: their types, the common type of several sources, and their names as parts of a path.

A column is int64, float64 (NaN where a value is missing), bool or string ("" where missing). All its
values have one type: a chunk of a source reports the kinds of values it holds, and all kinds together decide.

    kind    values                                              kept beside missing values as
    bool    true and false                                      string
    int     integers that a float64 holds exactly               float64
    wide    integers beyond 2^53                                string, so that no digit is lost
    float   other numbers                                       float64
    text    everything else                                     string
    none    missing
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import word_array
from bigtopic.errors import InputError, argument

__all__ = [
    "ABSENT",
    "EXACT",
    "MISSING_TYPES",
    "Cells",
    "absent",
    "array_name",
    "column_name",
    "converted",
    "date_text",
    "is_missing",
    "kinds_of",
    "kinds_of_types",
    "name_text",
    "united",
]

EXACT = 1 << 53  # the largest integer up to which a float64 holds each
# What stands for a missing number in a table of text, as in pandas.
ABSENT = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"}
    | {"N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
MISSING_TYPES = ("NAType", "NaTType")  # what pandas has for None
_KINDS_OF_TYPE = {"int64": "int", "float64": "float", "bool": "bool", "string": "text"}
_KIND_OF_ARRAY = {"b": "bool", "i": "int", "f": "float", "O": "text"}
_LONGEST_NAME = 200  # bytes; file systems allow 255
_PLAIN = frozenset(" _-.,()+")
_RESERVED = frozenset(["source_row", "n_tokens", "document_id", "_index", "zarr.json"])


@dataclass(frozen=True)
class Cells:
    """Values whose type the rest of the column decides, as the texts they become if it is string.

    texts : object (n,) of str; kinds : what they are, see above
    """

    texts: np.ndarray
    kinds: frozenset[str]

    def __len__(self) -> int:
        return len(self.texts)


def kinds_of(values: np.ndarray | Cells) -> frozenset[str]:
    """The kinds among the values of a chunk: an array of bool, int64, float64 or str, or `Cells`."""
    if isinstance(values, Cells):
        return values.kinds
    kind = _KIND_OF_ARRAY[values.dtype.kind]
    if kind == "int" and bool(((values > EXACT) | (values < -EXACT)).any()):
        return frozenset(["int", "wide"])
    if kind == "float" and bool(np.isnan(values).all()):
        return frozenset(["none"])
    return frozenset([kind])


def united(columns: Iterable[Mapping[str, Iterable[str]]]) -> dict[str, str]:
    """The type of each column, from its kinds in each chunk; a chunk without the column lacks all its values."""
    columns = list(columns)
    names = dict.fromkeys(name for some in columns for name in some)
    return {name: _type({kind for some in columns for kind in some.get(name, ("none",))}) for name in names}


def kinds_of_types(types: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The kinds in columns that are stored with these types."""
    return {name: (_KINDS_OF_TYPE[dtype],) for name, dtype in types.items()}


def _type(kinds: set[str]) -> str:
    if kinds == {"bool"}:
        return "bool"
    if kinds & {"text", "bool"}:
        return "string"
    if "float" in kinds:
        return "float64"
    if "none" in kinds:
        return "string" if "wide" in kinds else "float64"
    return "int64"


def converted(values: np.ndarray, dtype: str) -> np.ndarray:
    """Values of a chunk (its texts, if it had `Cells`) in the type of the column."""
    if values.dtype.kind == "O":
        return _parsed(values, dtype)
    if dtype != "string":
        return values.astype(dtype, copy=False)
    return word_array(["" if value != value else str(value) for value in values.tolist()])


def _parsed(texts: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "string":
        return texts
    if dtype == "float64":
        return np.array([np.nan if text in ABSENT else float(text) for text in texts.tolist()], np.float64)
    if dtype == "bool":
        return np.array([text.lower() == "true" for text in texts.tolist()], bool)
    return np.array([int(text) for text in texts.tolist()], np.int64)


def absent(n: int, dtype: str) -> np.ndarray:
    """The values (n,) of a column that these documents lack: "" or NaN."""
    return word_array([""] * n) if dtype == "string" else np.full(n, np.nan)


def is_missing(value: Any) -> bool:
    """Whether this stands for no value: None, NaN of any type, or what pandas or NumPy has for them."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return value is None or type(value).__name__ in MISSING_TYPES


def name_text(value: Any) -> str:
    """The name that a value is, of a document or an author.

    Whole numbers are the same names as integers and as floats, which a column of integers with a missing cell holds.
    """
    whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value) if whole else value)


def date_text(value: datetime.date | datetime.time) -> str:
    """A date, or a date and time, as ISO 8601 in a form whose texts sort as the dates do; with a zone, in UTC."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    return value.isoformat()


def array_name(name: str) -> str:
    """The name of the array that holds a column: the column's own name where that is safe in a path and free.

    Otherwise each byte of its other characters is "~" and two hexadecimal digits; no two columns share an array.

    Raises
    ------
    InputError
        When the name is longer than a path can hold, or is not Unicode.
    """
    try:
        encoded = "".join(char if char.isalnum() or char in _PLAIN else _escaped(char) for char in name)
        if not encoded:
            return "~"
        if encoded[0] in " ." or encoded in _RESERVED:
            encoded = _escaped(encoded[0]) + encoded[1:]
        if encoded[-1] in " .":
            encoded = encoded[:-1] + _escaped(encoded[-1])
        size = len(encoded.encode())
    except UnicodeEncodeError:
        raise InputError(f"column {name!r} {_NO_NAME}: it holds half a character; {_REMEDY}") from None
    if size > _LONGEST_NAME:
        raise InputError(
            f"column {name[:40]!r}... {_NO_NAME}: it takes {size} bytes, where {_LONGEST_NAME} are allowed; {_REMEDY}"
        )
    return encoded


def column_name(array: str) -> str:
    """The column whose array has this name; the inverse of `array_name`."""
    if array == "~":
        return ""
    return re.sub("(?:~[0-9A-F]{2})+", lambda run: bytes.fromhex(run[0].replace("~", "")).decode(), array)


def _escaped(char: str) -> str:
    return "".join(f"~{byte:02X}" for byte in char.encode())


_NO_NAME = "has a name that cannot be stored"
_REMEDY = f"rename it, or leave it out by naming the columns to keep with {argument('columns', ...)}"

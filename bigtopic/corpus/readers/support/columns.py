"""Converts values of a source, one per document, to a column: numbers and booleans as they are, all else as text.

Dates and times become ISO 8601 (UTC where they have a zone), durations seconds, lists and mappings JSON. Cells of a
table of text are typed as pandas would type them. All chunks of a column together decide its type, see
`bigtopic.corpus.columns`.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from bigtopic.corpus.columns import ABSENT, EXACT, MISSING_TYPES, Cells, date_text, is_missing, name_text
from bigtopic.corpus.readers.base import Place
from bigtopic.corpus.vocabulary import word_array
from bigtopic.errors import InputError, argument

__all__ = ["cells", "column", "id_texts", "series_values"]

_NONE = type(None)
_PLAIN = {str, bool, int, float, _NONE}
_BOOLS = frozenset(["true", "false"])
_INT64 = np.iinfo(np.int64)
_LISTS = (Mapping, list, tuple, set, frozenset, np.ndarray)


def column(values: Any, name: str, place: Place) -> np.ndarray | Cells:
    """One value per document as a column: bool, int64, float64, str in an object array, or `Cells` of numbers.

    Parameters
    ----------
    values : a sequence of anything, or an array
    name, place : of the column, and of document i, for messages

    Raises
    ------
    InputError
        For a value that has no text; names the document and the column.
    """
    if isinstance(values, np.ndarray):
        if values.ndim == 1 and values.dtype.kind in "bif":
            return values.astype(_WIDEST.get(values.dtype.kind, bool), copy=False)
        values = _instants(values) if values.dtype.kind == "M" and values.ndim == 1 else _listed(values)
    types = set(map(type, values))
    if not types <= _PLAIN:
        values = [_plain(value, i, name, place) for i, value in enumerate(values)]
        types = set(map(type, values))
    if types == {str}:
        return word_array(values)
    if types == {bool}:
        return np.array(values, bool)
    if float in types and types <= {float, _NONE}:
        return np.array(values, np.float64)
    values = [None if value != value else value for value in values]
    kinds = _kinds(values)
    if kinds <= {"int", "wide"}:
        return np.array(values, np.int64)
    texts = word_array(["" if value is None else str(value) for value in values])
    return texts if kinds & {"text", "bool"} else Cells(texts, kinds)


_WIDEST: Mapping[str, Any] = {"i": np.int64, "f": np.float64}


def series_values(series: Any) -> Any:
    """Values of a pandas Series: an array of numbers, or a list with None where one is missing; categories become their
    labels.
    """
    if series.dtype.kind not in "iu" or not series.hasnans:  # of integers it would make floats
        array = series.to_numpy()
        if array.dtype.kind in "iufb":
            return array
    return series.astype(object).where(series.notna(), None).tolist()


def id_texts(values: Iterable[Any]) -> list[str]:
    """Names of documents as they are stored, see `name_text`; "" where one is missing."""
    return [
        value if type(value) is str else "" if is_missing(value) else name_text(value) for value in values
    ]


def cells(texts: Sequence[str]) -> np.ndarray | Cells:
    """Cells of a table of text: kept as they are, with what pandas would find in them."""
    present = [text for text in texts if text not in ABSENT]
    kinds = _kinds_of_texts(present) if present else frozenset()
    if len(present) < len(texts):
        kinds |= {"none"}
    values = word_array(texts)
    typed = "text" not in kinds and ("bool" not in kinds or len(kinds) == 1)
    return Cells(values, kinds) if typed else values


def _kinds_of_texts(texts: list[str]) -> frozenset[str]:
    try:
        kinds = _kinds_of_ints([int(text) for text in texts])
    except ValueError:
        try:
            numbers = np.array([float(text) for text in texts])
        except ValueError:
            return frozenset(["bool" if _BOOLS.issuperset(map(str.lower, texts)) else "text"])
        if any(_spoilt(texts[i]) for i in np.flatnonzero(np.abs(numbers) >= float(_INT64.max))):
            return frozenset(["text"])
        kinds = frozenset(["float"])
    joined = "".join(texts)  # Python's numbers may have underscores and digits of any script
    return kinds if joined.isascii() and "_" not in joined else frozenset(["text"])


def _spoilt(text: str) -> bool:
    """Whether a number loses its digits as a float64: an integer beyond int64, or one that becomes infinite."""
    try:
        return not _INT64.min <= int(text) <= _INT64.max
    except ValueError:
        return "inf" not in text.lower() and np.isinf(float(text))


def _kinds(values: Sequence[Any]) -> frozenset[str]:
    """Of plain values without NaN."""
    types = set(map(type, values))
    names = {str: "text", bool: "bool", float: "float", _NONE: "none"}
    kinds = frozenset(names[found] for found in types - {int})
    return (
        kinds | _kinds_of_ints([value for value in values if type(value) is int]) if int in types else kinds
    )


def _kinds_of_ints(values: list[int]) -> frozenset[str]:
    least, largest = min(values), max(values)
    if least < _INT64.min or largest > _INT64.max:
        return frozenset(["text"])
    return frozenset(["int", "wide"] if max(largest, -least) > EXACT else ["int"])


def _plain(value: Any, i: int, name: str, place: Place) -> Any:
    """A value as str, bool, int, float or None."""
    try:
        return _simplified(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        shown = str(type(value).__name__)
        raise InputError(
            f"{place(i)}: column {name!r} holds a {shown} that cannot be stored ({error}); turn it into text or a "
            f"number, or leave the column out by naming the columns to keep with {argument('columns', ...)}"
        ) from None


def _simplified(value: Any) -> Any:
    if type(value) in _PLAIN or type(value).__name__ in MISSING_TYPES:
        return value if type(value) in _PLAIN else None
    if isinstance(value, np.datetime64):
        return _instants(np.array([value]))[0]
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s"))
    if isinstance(value, np.generic):
        return _simplified(value.item())
    if isinstance(value, _LISTS):
        return json.dumps(_json(value), ensure_ascii=False, default=_json)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, (Real, Decimal)):
        return float(value)
    return _as_text(value)


def _as_text(value: Any) -> Any:
    if isinstance(value, (datetime.date, datetime.time)):
        return date_text(value)
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.decode()
    if type(value).__str__ is object.__str__:
        raise TypeError("it has no text form")
    return str(value)


def _json(value: Any) -> Any:
    """What JSON does not know, as something that it does."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, (list, tuple)) else _simplified(value)


def _listed(values: np.ndarray) -> list[Any]:
    return list(values) if values.dtype.kind == "m" or values.ndim > 1 else values.tolist()


def _instants(values: np.ndarray) -> list[str | None]:
    """ISO 8601 of NumPy's dates: a fraction of a second has 6 or 9 digits, or is left out."""
    if np.datetime_data(values.dtype)[0] in ("h", "m"):
        values = values.astype("M8[s]")
    found = []
    for text in np.datetime_as_string(values).tolist():
        whole, _, fraction = text.partition(".")
        fraction = fraction.rstrip("0")
        digits = f".{fraction.ljust(6 if len(fraction) <= 6 else 9, '0')}" if fraction else ""
        found.append(None if text == "NaT" else whole + digits)
    return found

"""Selections of documents: train and test, by row, by the values of columns. Cheap in memory.

A condition on a column (`Corpus.select`) is a value, any of several, a range, or a function. A value that no value of
the column's type can equal is an error, because it would silently select nothing.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.columns import date_text, is_missing
from bigtopic.corpus.order import checked_seed, document_keys
from bigtopic.corpus.part import Part, PartView, Selection
from bigtopic.errors import SettingError, argument, either
from bigtopic.wording import counted

__all__ = [
    "Condition",
    "by_columns",
    "by_positions",
    "by_rows",
    "condition",
    "n_test_documents",
    "of_function",
    "train_test",
]

_SALT = 0x5EED0F5B17  # a split must not repeat the order of storage, whose keys may have the same seed
_STEP = 1 << 16  # documents looked at together


def n_test_documents(test_size: float, n_docs: int, name: str = "test_size") -> int:
    """How many documents `test_size`, a share (float) or a number (integer), means; errors call it `name`.

    Raises
    ------
    SettingError
        When it would leave no document on one side.
    """
    is_share = isinstance(test_size, float | np.floating) and 0 < test_size < 1
    is_number = isinstance(test_size, Integral)
    wanted = round(float(test_size) * n_docs) if is_share else int(test_size) if is_number else -1
    if 0 < wanted < n_docs:
        return wanted
    given = f"{argument(name, int(test_size) if is_number else test_size)} of {counted(n_docs, 'document')}"
    if n_docs < 2:
        raise SettingError(f"{given}: give a corpus of at least 2 documents, which can be divided")
    fault, share = "", "a share between 0 and 1"
    if is_share:
        fault, share = (" is none", "a larger share") if wanted == 0 else (" is all", "a smaller share")
    raise SettingError(f"{given}{fault}: give {share}, or a number of documents from 1 to {n_docs - 1}")


def train_test(parts: Sequence[Part], n_test: int, seed: int) -> tuple[list[Part], list[Part]]:
    """Parts of the train and of the test documents: those with the `n_test` smallest salted keys are the test.

    The choice depends on seed and source rows alone, never on how documents are stored.
    """
    salted = checked_seed(seed) + _SALT
    keys = [document_keys(salted, part.rows(0, part.n_docs)) for part in parts]
    limit = np.partition(np.concatenate(keys), n_test - 1)[n_test - 1]
    train: list[Part] = []
    test: list[Part] = []
    for part, own in zip(parts, keys, strict=True):
        _add(train, part, np.flatnonzero(own > limit))
        _add(test, part, np.flatnonzero(own <= limit))
    return train, test


def by_rows(parts: Sequence[Part], rows: Any) -> list[Part]:
    """Documents whose source row is in `rows` (integers, or a boolean mask over source rows)."""
    wanted = np.asarray(rows)
    if wanted.dtype == bool:
        wanted = np.flatnonzero(wanted)
    if wanted.ndim != 1 or not (np.issubdtype(wanted.dtype, np.integer) or wanted.size == 0):
        raise SettingError(
            "rows: give source rows as a list of integers, or one boolean for each source row; if you mean a column of "
            "that name, give corpus.rows()[corpus.read_column('rows') == value]"
        )
    wanted = np.unique(wanted.astype(np.int64))

    def chosen(part: Part, start: int, stop: int) -> np.ndarray:
        found = part.rows(start, stop)
        at = np.minimum(np.searchsorted(wanted, found), max(len(wanted) - 1, 0))
        return wanted[at] == found if len(wanted) else np.zeros(len(found), bool)

    return _where(parts, chosen)


def by_columns(parts: Sequence[Part], wanted: Mapping[str, Any]) -> list[Part]:
    """Documents whose columns meet conditions; values, not functions."""
    known: dict[str, Condition] = {}

    def chosen(part: Part, start: int, stop: int) -> np.ndarray:
        found = np.ones(stop - start, bool)
        for name, values in part.columns(list(wanted), start, stop).items():
            if name not in known:
                known[name] = condition(name, wanted[name], values)
            found &= known[name](values)
        return found

    return _where(parts, chosen)


def by_positions(parts: Sequence[Part], starts: np.ndarray, positions: np.ndarray) -> list[Part]:
    """Documents at these ascending positions, int64, over all parts; for `starts` see `Corpus._starts`."""
    chosen: list[Part] = []
    cuts = np.searchsorted(positions, starts)
    for part, first, a, b in zip(parts, starts.tolist(), cuts[:-1], cuts[1:], strict=False):
        _add(chosen, part, positions[a:b] - first)
    return chosen


def _where(parts: Sequence[Part], chosen_of: Any) -> list[Part]:
    chosen: list[Part] = []
    for part in parts:
        steps = range(0, part.n_docs, _STEP)
        masks = [chosen_of(part, start, min(start + _STEP, part.n_docs)) for start in steps]
        _add(chosen, part, np.flatnonzero(np.concatenate(masks)))
    return chosen


def _add(parts: list[Part], part: Part, positions: np.ndarray) -> None:
    if not len(positions):
        return
    first, last = int(positions[0]), int(positions[-1])
    selection: Selection = positions.astype(np.int32)
    if last - first + 1 == len(positions):
        selection = range(first, last + 1)
    parts.append(PartView.of(part, selection))


Condition = Callable[[np.ndarray], np.ndarray]
_NOUNS = {"i": "whole numbers (int64)", "f": "numbers (float64)", "b": "true and false (bool)", "O": "text"}
_LARGEST = 2**63 - 1
_EXAMPLES = 1000  # values looked at for one to show
_RANGE = either("slice(low, high)", "COLUMN=LOW..HIGH")
_TRUTH = either("give True or False", "give true or false")
_END_OF_DAY = "T~"  # after any time of the day, as text


class _Column(NamedTuple):
    """What messages and comparisons need to know about a column: its name, the kind of its array, an example."""

    name: str
    kind: str
    example: Any

    def refuse(self, wanted: Any, why: str, remedy: str) -> SettingError:
        holds = f"column {self.name!r} holds {_NOUNS[self.kind]}{self._shown}"
        given = either(f"select({self.name}={wanted!r})", f"--where {self.name}={_typed(wanted)}")
        return SettingError(f"{given}: {holds}, {why}; {remedy}")

    @property
    def _shown(self) -> str:
        return "" if self.example is None else f" such as {self.example!r:.60}"


def _typed(wanted: Any) -> str:
    """A value or a range as people type it in a shell."""
    if isinstance(wanted, slice):
        return f"{_typed(wanted.start)}..{_typed(wanted.stop)}"
    return "" if wanted is None else str(wanted)


def condition(name: str, wanted: Any, values: np.ndarray) -> Condition:
    """The condition as a function of the values of column `name`, of the type that these first ones have.

    Raises
    ------
    SettingError
        When no value of that type can meet it.
    """
    present = (value for value in values[:_EXAMPLES].tolist() if value != "" and not is_missing(value))
    column = _Column(name, values.dtype.kind, next(present, None))
    if isinstance(wanted, slice):
        return _between(column, wanted)
    if isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable):
        return _any_of(column, [wanted])
    return _any_of(column, wanted.tolist() if isinstance(wanted, np.ndarray) else list(wanted))


def of_function(name: str, function: Callable[[np.ndarray], Any], values: np.ndarray) -> np.ndarray:
    """A user's function applied to a whole column: a boolean for each of its values.

    Raises
    ------
    SettingError
        When the function returns something else.
    """
    found = np.asarray(function(values))
    if found.dtype == bool and found.shape == values.shape:
        return found
    raise SettingError(
        f"select({name}=...): the function returned {found.dtype} of shape {found.shape}; it gets the whole column and "
        f"must return a boolean for each document, shape {values.shape}"
    )


def _any_of(column: _Column, members: list[Any]) -> Condition:
    missing = any(map(is_missing, members))
    members = [_plain(member) for member in members if not is_missing(member)]
    if missing and column.kind in "ib":
        raise column.refuse(
            None, "and none of its values is missing", either("leave None out", "give a value")
        )
    if column.kind == "O":
        return _any_text(column, members, missing)
    allowed = np.array([_number(column, member) for member in members], _DTYPES[column.kind])

    def holds(values: np.ndarray) -> np.ndarray:
        found = values == allowed[0] if len(allowed) == 1 else np.isin(values, allowed)
        return found | np.isnan(values) if missing else found

    return holds


_DTYPES: dict[str, Any] = {"i": np.int64, "f": np.float64, "b": np.bool_}


def _plain(value: Any) -> Any:
    """A date of NumPy as one of Python."""
    if not isinstance(value, np.datetime64):
        return value
    return value.item() if value.dtype == "M8[D]" else value.astype("M8[us]").item()


def _number(column: _Column, value: Any) -> Any:
    """The value as the column's type."""
    truth = isinstance(value, bool | np.bool_)
    if not (isinstance(value, Real) or truth):
        raise column.refuse(value, f"which no {_type_name(value)} equals", _number_remedy(column, value))
    if truth != (column.kind == "b"):
        remedy = _TRUTH if column.kind == "b" else "give a number"
        raise column.refuse(value, f"which no {_type_name(value)} equals", remedy)
    if column.kind == "i" and not (_float(value).is_integer() and abs(int(value)) <= _LARGEST):
        raise column.refuse(
            value, "which this number never equals", f"give a whole number, or a range: {_RANGE}"
        )
    return int(value) if column.kind == "i" else _float(value)


def _float(value: Any) -> float:
    """The number as a float; infinite beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _type_name(value: Any) -> str:
    return "text" if isinstance(value, str) else type(value).__name__


def _number_remedy(column: _Column, value: Any) -> str:
    if column.kind == "b":
        return _TRUTH
    try:
        number = float(value)
    except (TypeError, ValueError):
        return "give a number"
    return f"give the number {int(number) if number.is_integer() else number}"


def _any_text(column: _Column, members: list[Any], missing: bool) -> Condition:
    texts, days = {""} if missing else set(), []
    aware = None
    for member in members:
        text = _text(column, member)
        if isinstance(member, datetime.date) and not isinstance(member, datetime.datetime):
            days.append((text, text + _END_OF_DAY))
        elif isinstance(member, datetime.datetime):
            aware = member.tzinfo is not None
        texts.add(text)
    if aware is not None:
        _check_zone(column, aware, members)

    def holds(values: np.ndarray) -> np.ndarray:
        found = np.fromiter((value in texts for value in values.tolist()), bool, len(values))
        for first, last in days:
            found |= ((values >= first) & (values <= last)).astype(bool)
        return found

    return holds


def _text(column: _Column, value: Any) -> str:
    """The value as a column of text holds it."""
    if isinstance(value, datetime.date | datetime.time):
        return date_text(value)
    if isinstance(value, str):
        return str(value)
    known = isinstance(value, bool | np.bool_ | Integral | Real)
    remedy = f"give {str(value)!r}" if known else "give text, or a date"
    raise column.refuse(value, f"which no {_type_name(value)} equals", remedy)


def _check_zone(column: _Column, aware: bool, wanted: Any) -> None:
    """Dates with a time zone are stored in UTC and say so; those without one never equal them."""
    if column.example and "T" in column.example and column.example.endswith("+00:00") != aware:
        remedy = "without a time zone" if aware else "with a time zone, such as tzinfo=datetime.UTC"
        raise column.refuse(wanted, "which no such datetime equals", f"give datetimes {remedy}")


def _between(column: _Column, wanted: slice) -> Condition:
    if wanted.step is not None:
        raise column.refuse(wanted, "of which a slice takes all", f"give {_RANGE} without a step")
    if column.kind == "b":
        raise column.refuse(wanted, "which have no range", _TRUTH)
    first, last = (None if bound is None else _plain(bound) for bound in (wanted.start, wanted.stop))
    low, high = (None if bound is None else _bound(column, bound) for bound in (first, last))
    if low is not None and high is not None and low > high:
        raise column.refuse(wanted, "and none is at least the first and at most the last", f"give {_RANGE}")
    if isinstance(last, datetime.date) and not isinstance(last, datetime.datetime):
        high = f"{high}{_END_OF_DAY}"

    def holds(values: np.ndarray) -> np.ndarray:
        found = values != "" if column.kind == "O" else values == values  # a missing value is in no range
        if low is not None:
            found = found & (values >= low)
        if high is not None:
            found = found & (values <= high)
        return found.astype(bool)

    return holds


def _bound(column: _Column, bound: Any) -> Any:
    if column.kind == "O":
        return _text(column, bound)
    if is_missing(bound) or not isinstance(bound, Real) or isinstance(bound, bool):
        raise column.refuse(bound, f"which {_type_name(bound)} does not bound", _number_remedy(column, bound))
    return _float(bound) if column.kind == "f" else bound

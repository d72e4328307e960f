"""Columns of documents as codes, so that conditions, groups and periods cost no pass over the values.

A column has codes when it holds dates, or at most `MOST_VALUES` distinct texts or numbers. The code of a value is the
order in which it was first seen; a missing value has the code -1. Dates are coded as far as all values of the column
say when: by day, by month, or by year.
"""

from __future__ import annotations

import datetime as dt
import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.select import condition
from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument, did_you_mean
from bigtopic.explore.mapped import new_array
from bigtopic.questions.dates import DAY, FREQUENCIES, Dates, Moment

__all__ = ["MOST_VALUES", "Column", "Periods", "chosen", "coded", "frequencies", "time_column"]

MOST_VALUES = 1000  # distinct ones of a column of texts or numbers
MOST_DATES = 1 << 20  # distinct days
SHOWN = 50  # values that are listed, the most frequent
_STEP = 1 << 18  # documents that are read at once
_LOOKED_AT = 1000  # values that show whether a column holds dates
_NAMED_TIME = re.compile("year|date|time|month|published|created", re.IGNORECASE)
_YEARS = range(1000, 3000)  # that numbers in a column named like a time may be
_QUOTED = re.compile('"(.+)"', re.DOTALL)
_PERIOD = re.compile(r"(\d{1,4})(?:(s)|-Q([1-4])|-W(\d\d)|-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_KNOWN = dict(zip(FREQUENCIES, (0, 0, 1, 1, 2, 2), strict=True))  # what a date says, see `Moment.known`


@dataclass(frozen=True)
class Column:
    """A column of the documents.

    Attributes
    ----------
    name : of the column
    dtype : kind of its array: "i", "f", "b" or "O"
    values : distinct values by code; of dates the `Moment` of each period; None without codes
    counts : documents of each value, int64 (n_values,)
    codes : int32 (n_docs,), -1 where the value is missing; None without codes
    is_date : whether it holds dates
    indptr : int64 (n_docs + 1,) of authors: document d has the codes indptr[d]:indptr[d + 1]; None of other columns
    """

    name: str
    dtype: str
    values: Sequence[Any] | None = None
    counts: np.ndarray | None = None
    codes: np.ndarray | None = None
    is_date: bool = False
    indptr: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """ "date", "number", "text" or "authors"."""
        if self.indptr is not None:
            return "authors"
        return "date" if self.is_date else "number" if self.dtype in "if" else "text"

    @property
    def has_groups(self) -> bool:
        """Whether documents can be grouped by its values."""
        return self.values is not None and not self.is_date

    @property
    def numbered(self) -> tuple[np.ndarray, int, np.ndarray | None]:
        """The codes, how many there are, and `indptr`, of a column that has them."""
        assert self.codes is not None and self.values is not None
        return self.codes, len(self.values), self.indptr

    def shown(self) -> list[Any] | None:
        """The most frequent values; None of dates and of columns without codes."""
        if not self.has_groups:
            return None
        assert self.values is not None and self.counts is not None
        return [self.values[i] for i in np.argsort(-self.counts, kind="stable")[:SHOWN].tolist()]

    def described(self) -> dict[str, Any]:
        """All but the codes, as JSON."""
        return {
            "name": self.name,
            "dtype": self.dtype,
            "values": None if self.values is None else list(self.values),
            "counts": None if self.counts is None else self.counts.tolist(),
            "is_date": self.is_date,
        }

    @classmethod
    def of(cls, described: Mapping[str, Any], codes: np.ndarray | None) -> Column:
        """The inverse of `described`."""
        values, counts = described["values"], described["counts"]
        if described["is_date"]:
            values = [Moment(*value) for value in values]
        counts = None if counts is None else np.array(counts, np.int64)
        return cls(described["name"], described["dtype"], values, counts, codes, described["is_date"])


class Periods(NamedTuple):
    """The dates of a column in periods of one length.

    names : of the periods, ascending; of : period of each date of the column, int64 (n_dates,)
    """

    names: list[Any]
    of: np.ndarray

    @classmethod
    def by(cls, column: Column, freq: str) -> Periods:
        assert column.values is not None
        names = [moment.period(freq) for moment in column.values]
        order = sorted(set(names))
        at = {name: i for i, name in enumerate(order)}
        return cls(order, np.array([at[name] for name in names], np.int64))


def frequencies(column: Column) -> list[str]:
    """The lengths of periods into which the dates of a column fall, the longest first."""
    known = min((moment.known for moment in column.values or ()), default=0)
    return [freq for freq in FREQUENCIES if _KNOWN[freq] <= known]


def time_column(columns: Sequence[Column]) -> Column | None:
    """The column of dates that says most, the first of several; None when there is none."""
    dates = [column for column in columns if column.is_date]
    return max(dates, key=lambda column: len(frequencies(column)), default=None)


# ------------------------------------------------------------------ reading


def coded(documents: Corpus, folder: Path, most_dates: int, tell: Callable[[int], object]) -> list[Column]:
    """The columns of documents, with their codes in files of a folder.

    Parameters
    ----------
    documents : of a store of topics, in one part
    most_dates : periods of a column of dates; if there are more, dates are cut to longer periods
    tell : called with numbers of documents that have been read, of all columns together
    """
    columns = []
    for number, name in enumerate(documents.columns):
        columns.append(_coded(documents, name, folder / f"{number}.npy", most_dates, tell, _holds_dates))
    if not any(column.is_date for column in columns):
        for number, column in enumerate(columns):
            if column.dtype in "if" and _NAMED_TIME.search(column.name):
                path = folder / f"{number}.npy"
                columns[number] = _coded(
                    documents, column.name, path, most_dates, lambda _: None, _holds_years
                )
                if columns[number].is_date:
                    break
    return columns


def _coded(
    documents: Corpus,
    name: str,
    path: Path,
    most_dates: int,
    tell: Callable[[int], object],
    holds_dates: Callable[[str, np.ndarray], bool],
) -> Column:
    first = next(_blocks(documents, name), np.zeros(0))
    if holds_dates(name, first):
        with suppress(SettingError):  # further documents have other values
            return _dated(documents, name, path, most_dates, tell)
    column = _valued(documents, name, path, tell)
    return replace(column, dtype=first.dtype.kind)


def _blocks(documents: Corpus, name: str) -> Iterator[np.ndarray]:
    for part in documents.parts:
        for start in range(0, part.n_docs, _STEP):
            yield part.columns([name], start, min(start + _STEP, part.n_docs))[name]


def _present(values: np.ndarray) -> list[Any]:
    return [value for value in dict.fromkeys(values[:_LOOKED_AT].tolist()) if not _is_missing(value)]


def _is_missing(value: Any) -> bool:
    return value == "" or value != value


def _holds_dates(name: str, values: np.ndarray) -> bool:
    """Whether texts are dates; four digits are a year only in a column that is named like a time."""
    moments = _moments(name, values) if values.dtype.kind == "O" else []
    least = 0 if _NAMED_TIME.search(name) else 1
    return bool(moments) and min(moment.known for moment in moments) >= least


def _holds_years(name: str, values: np.ndarray) -> bool:
    moments = _moments(name, values)
    return bool(moments) and all(moment.year in _YEARS for moment in moments)


def _moments(name: str, values: np.ndarray) -> list[Moment]:
    """What the values say; nothing if one of them is not a date."""
    dates = Dates(name, "", None)
    with suppress(SettingError):
        return [dates.moment(value) for value in _present(values)]
    return []


class _Codes:
    """Codes of the keys of values, in the order in which keys are first seen, written to a file."""

    def __init__(self, path: Path, n_docs: int) -> None:
        self.index: dict[Any, int] = {}
        self._path, self._done = path, 0
        self._codes = new_array(path, np.int32, n_docs)

    @property
    def n_docs(self) -> int:
        """Documents whose codes are known."""
        return self._done

    def add(self, values: np.ndarray, key_of: Callable[[Any], Any]) -> None:
        """The values of further documents."""
        distinct, number = _distinct(values)
        keys = [None if _is_missing(value) else key_of(value) for value in distinct]
        codes = [-1 if key is None else self.index.setdefault(key, len(self.index)) for key in keys]
        self._codes[self._done : self._done + len(values)] = np.array(codes, np.int32)[number]
        self._done += len(values)

    def recoded(self, new: np.ndarray) -> None:
        """Replace each code i by new[i]."""
        for start in range(0, len(self._codes), _STEP):
            own = self._codes[start : start + _STEP]
            self._codes[start : start + _STEP] = np.append(new, -1)[own]

    def counts(self, n: int) -> np.ndarray:
        counts = np.zeros(n, np.int64)
        for start in range(0, len(self._codes), _STEP):
            own = self._codes[start : start + _STEP]
            counts += np.bincount(own[own >= 0], minlength=n)
        return counts

    def closed(self) -> np.ndarray:
        self._codes.flush()
        return self._codes

    def removed(self) -> None:
        del self._codes
        self._path.unlink()


def _distinct(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The distinct values in the order in which they are first seen, and which of them each value is."""
    if values.dtype.kind == "O":
        keys = values.tolist()
        index = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        return list(index), np.fromiter(map(index.__getitem__, keys), np.int64, len(keys))
    found, first, number = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return found[order].tolist(), np.argsort(order)[number]


def _valued(documents: Corpus, name: str, path: Path, tell: Callable[[int], object]) -> Column:
    codes = _Codes(path, documents.n_docs)
    for values in _blocks(documents, name):
        codes.add(values, lambda value: value)
        if len(codes.index) > MOST_VALUES:
            tell(documents.n_docs - codes.n_docs + len(values))
            codes.removed()
            return Column(name, "O")
        tell(len(values))
    return Column(name, "O", list(codes.index), codes.counts(len(codes.index)), codes.closed())


def _dated(documents: Corpus, name: str, path: Path, most: int, tell: Callable[[int], object]) -> Column:
    """The dates as periods of the length that all of them know. Raises SettingError for what is not a date."""
    dates, codes, dtype = Dates(name, "", None), _Codes(path, documents.n_docs), "O"
    day_of = lru_cache(maxsize=1 << 16)(lambda value: _day(dates, value))
    try:
        for values in _blocks(documents, name):
            dtype = values.dtype.kind
            codes.add(values, day_of)
            tell(len(values))
            if len(codes.index) > MOST_DATES:
                raise SettingError("too many days")
    except SettingError:
        tell(-codes.n_docs)
        codes.removed()
        raise
    moments, new = _as_far_as_known(list(codes.index), most)
    codes.recoded(new)
    return Column(name, dtype, moments, codes.counts(len(moments)), codes.closed(), is_date=True)


def _day(dates: Dates, value: Any) -> Moment:
    moment = dates.moment(value)._replace(seconds=0.0)
    if moment.year < 1:
        raise SettingError("a year before the first")
    return moment


def _cut(moment: Moment, known: int) -> Moment:
    """The month or the year of a moment, or the moment itself, see `Moment.known`."""
    if known == 0:
        return moment._replace(month=None, day=None)
    return moment._replace(day=None) if known == 1 else moment


def _as_far_as_known(moments: Sequence[Moment], most: int) -> tuple[list[Moment], np.ndarray]:
    """The distinct periods, ascending, at most so many if years allow it, and the number of each moment's.

    All have the length that every moment knows, or a longer one.
    """
    least = min((moment.known for moment in moments), default=0)
    for known in range(least, -1, -1):
        cut = [_cut(moment, known) for moment in moments]
        if len(set(cut)) <= most:
            break
    order = sorted(set(cut), key=lambda moment: moment.instant)
    at = {moment: i for i, moment in enumerate(order)}
    return order, np.array([at[moment] for moment in cut], np.int32)


# ------------------------------------------------------------------ conditions


def chosen(columns: Sequence[Column], documents: Corpus, where: Sequence[str]) -> np.ndarray | None:
    """The documents that meet all conditions, bool (n_docs,); None for all.

    A condition is COLUMN=VALUE, or COLUMN=FROM..TO with both ends included; without a value, or with the value "" in
    quotation marks, documents in which it is missing. A value in quotation marks is one value, also with dots in it. Of
    dates, VALUE is a period such as 2005, 2005-Q1, 2005-03 or 2005-03-01. Conditions on a column without codes cost a
    pass over its values.

    Raises
    ------
    SettingError
        When there is no such column, or no value of its type can meet the condition.
    """
    found = None
    for text in where:
        column, value = _parsed(columns, text)
        own = _by_codes(column, value) if column.values is not None else _by_values(column, documents, value)
        found = own if found is None else found & own
    return found


def _parsed(columns: Sequence[Column], text: str) -> tuple[Column, str]:
    fitting = [column for column in columns if text.startswith(f"{column.name}=")]
    if fitting:
        column = max(fitting, key=lambda one: len(one.name))
        value = text[len(column.name) + 1 :]
        return column, "" if value == '""' else value
    name, equals, _ = text.partition("=")
    if not equals:
        raise SettingError(
            f"{argument('where', text)}: write COLUMN=VALUE, such as year=2005 or year=2000..2005"
        )
    names = [column.name for column in columns]
    raise SettingError(
        f"{argument('where', text)}: there is no column {name!r}; columns: {', '.join(names) or 'none'}"
        f"{did_you_mean(name, names)}"
    )


def _by_codes(column: Column, value: str) -> np.ndarray:
    assert column.values is not None and column.codes is not None
    if not value:
        return np.asarray(column.codes) < 0
    if column.is_date:
        allowed = _of_dates(column, value)
    elif column.dtype == "O" and value in column.values:
        allowed = np.array([known == value for known in column.values], bool)
    else:
        types = {"i": np.int64, "f": np.float64, "b": np.bool_, "O": object}
        distinct: np.ndarray = np.empty(len(column.values), types[column.dtype])
        distinct[:] = column.values
        allowed = condition(column.name, _wanted(value, column.dtype), distinct)(distinct)
    return np.append(allowed, False)[column.codes]  # the last one is of missing values


def _by_values(column: Column, documents: Corpus, value: str) -> np.ndarray:
    holds, found = None, []
    wanted = _wanted(value, column.dtype) if value else None
    for values in _blocks(documents, column.name):
        holds = holds or condition(column.name, wanted, values)
        found.append(holds(values))
    return np.concatenate(found) if found else np.zeros(0, bool)


def _wanted(value: str, dtype: str) -> Any:
    if quoted := _QUOTED.fullmatch(value):
        return _typed(quoted[1], dtype)
    low, dots, high = value.partition("..")
    return slice(_typed(low, dtype), _typed(high, dtype)) if dots else _typed(value, dtype)


def _typed(value: str, dtype: str) -> Any:
    """The value as a column of this kind has it; None for an open end of a range."""
    if dtype == "b" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    for number in (int, float) if dtype in "if" else ():
        with suppress(ValueError):
            return number(value)
    return value or None


def _of_dates(column: Column, value: str) -> np.ndarray:
    """The dates in a period, or from one to another, both included, bool (n_dates,)."""
    assert column.values is not None
    low, dots, high = value.partition("..")
    known = min((moment.known for moment in column.values), default=0)
    first = _days(column.name, low, known)[0] if low else 0
    last = (
        _days(column.name, high if dots else low, known)[1] if high or not dots else dt.date.max.toordinal()
    )
    days = np.array([moment.instant // DAY for moment in column.values])
    return (first <= days) & (days <= last)


def _days(name: str, value: str, known: int) -> tuple[int, int]:
    """The first and the last day of a period, as ordinals.

    Parameters
    ----------
    known : what the dates of the column say, see `Moment.known`

    Raises
    ------
    SettingError
        When it is not a period, or shorter than the dates of the column.
    """
    found = _PERIOD.fullmatch(value)
    groups: Any = found.groups() if found else (None,) * 6
    year, decade, quarter, week, month, day = groups
    if known < (2 if week or day else 1 if quarter or month else 0):
        raise SettingError(
            f"column {name!r} does not say as much as {value!r}; give a {'month' if known else 'year'}"
        )
    with suppress(ValueError):
        if year:
            start = int(year) // 10 * 10 if decade else int(year)
            if week:
                first = dt.date.fromisocalendar(start, int(week), 1).toordinal()
                return first, first + 6
            if day:
                first = dt.date(start, int(month), int(day)).toordinal()
                return first, first
            begins = int(month or 3 * int(quarter or 1) - 2)
            n_months = 1 if month else 3 if quarter else 120 if decade else 12
            years, ends = divmod(begins + n_months - 2, 12)
            n_days = monthrange(start + years, ends + 1)[1]
            return dt.date(start, begins, 1).toordinal(), dt.date(start + years, ends + 1, n_days).toordinal()
    raise SettingError(
        f"column {name!r} has dates, and {value!r:.60} is not one; give a period such as 1990s, 2005, 2005-Q1, "
        "2005-03, 2005-W10 or 2005-03-01, or two of them with .. between them"
    )

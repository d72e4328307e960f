"""Dates in columns: how a value says when, and the periods and bins that it falls into.

Without a format, a text is a date if it is one in ISO 8601, `2005`, `2005-03`, `2005-03-01`, `2005-03-01T18:00` or
`20050301`. A number, or a text of digits, says by its size what it counts:

    -9999 .. 9999           years
    10000101 .. 99991231    days, as 20050301
    from 10^8, 10^11, 10^14 or 10^17 on    seconds, milliseconds, microseconds or nanoseconds since 1970, in UTC

All values of a column must be of the same kind. Times with a zone count as they are written, in their own zone.
"""

from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from bigtopic.errors import SettingError, argument

__all__ = ["DAY", "FREQUENCIES", "Dates", "Moment", "instant_texts", "year_of"]

FREQUENCIES = ("decade", "year", "quarter", "month", "week", "day")
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?.*)?)?")
_UNITS = {1e8: 1, 1e11: 10**3, 1e14: 10**6, 1e17: 10**9}  # size from which on: how many make a second
_LAST = 1e20
_EPOCH = dt.datetime(1970, 1, 1)  # in UTC
DAY = 86_400.0  # seconds
_FORMATS = (
    "%d.%m.%Y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y",
    "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %z %Y", "%d/%b/%Y:%H:%M:%S %z", "%m/%Y", "%B %Y", "%d.%m.%y",
)  # fmt: skip
_YEAR, _MONTH, _DAY_OF_MONTH = range(3)  # what is known
_NEEDED = dict(zip(FREQUENCIES, (_YEAR, _YEAR, _MONTH, _MONTH, _DAY_OF_MONTH, _DAY_OF_MONTH), strict=True))


class Moment(NamedTuple):
    """A point in time, as far as it is known.

    year, month, day : the last two are None where they are not known
    seconds : of the day
    written : what the value counts, for messages
    """

    year: int
    month: int | None = None
    day: int | None = None
    seconds: float = 0.0
    written: str = "text"

    @property
    def known(self) -> int:
        return _YEAR if self.month is None else _MONTH if self.day is None else _DAY_OF_MONTH

    @property
    def instant(self) -> float:
        """Seconds since the day before year 1; of a month or a year, where it begins."""
        return dt.date(self.year, self.month or 1, self.day or 1).toordinal() * DAY + self.seconds

    def period(self, freq: str) -> Any:
        """The period of one of `FREQUENCIES`, as text that sorts by time; years that are numbers stay numbers."""
        if freq in ("decade", "year"):
            year = self.year if freq == "year" else self.year // 10 * 10
            return year if self.written == "a year" else f"{year:04}"
        assert self.month is not None
        if freq == "quarter":
            return f"{self.year:04}-Q{(self.month + 2) // 3}"
        if freq == "month":
            return f"{self.year:04}-{self.month:02}"
        assert self.day is not None
        if freq == "day":
            return f"{self.year:04}-{self.month:02}-{self.day:02}"
        year, week, _ = dt.date(self.year, self.month, self.day).isocalendar()
        return f"{year:04}-W{week:02}"


class Dates:
    """The dates of one column.

    Parameters
    ----------
    column : its name, for messages
    setting : what asks for dates, from `argument`
    date_format : as of `datetime.strptime`, or "%s" for seconds since 1970; None for what the values themselves say
    only_format : whether `date_format` is all that the caller can set, without bins and where; for messages
    """

    def __init__(self, column: str, setting: str, date_format: str | None, only_format: bool = False) -> None:
        if date_format is not None and (not isinstance(date_format, str) or "%" not in date_format):
            raise SettingError(
                f"{argument('date_format', date_format)}: give a format of dates, such as '%d.%m.%Y'"
            )
        self._column, self._setting, self._format = column, setting, date_format
        self._only_format = only_format
        self._first: tuple[Any, Moment] | None = None

    def period(self, value: Any, freq: str) -> Any:
        """The period of a value, see `Moment.period`.

        Raises
        ------
        SettingError
            As `moment`, and when the value does not say as much.
        """
        moment = self.moment(value)
        if moment.known < _NEEDED[freq]:
            known, missing = ("a year", "a month") if moment.known == _YEAR else ("a month", "a day")
            raise self._refused(value, f"which is {known} without {missing}", "choose a longer period")
        return moment.period(freq)

    def moment(self, value: Any) -> Moment:
        """The point in time of a value.

        Raises
        ------
        SettingError
            When it is not a date, or another kind of one than the values before.
        """
        found = self._read(value)
        if found is None:
            raise self._not_a_date(value)
        if self._first is None:
            self._first = value, found
        before, first = self._first
        if found.written != first.written:
            raise self._refused(
                value,
                f"which is {found.written}, and {before!r}, which is {first.written}",
                f"say what they are with {argument('date_format')}",
            )
        return found

    def edge(self, value: Any) -> float:
        """The instant, see `Moment`, of a date of Python, or of what `moment` takes."""
        if isinstance(value, dt.date):
            return _of_datetime(dt.datetime.fromisoformat(value.isoformat())).instant
        return self.moment(value).instant

    def _read(self, value: Any) -> Moment | None:
        with suppress(ValueError, OverflowError):
            if self._format == "%s":
                return _since_1970(float(value), 1)
            if self._format is not None:
                return _formatted(_text(value), self._format)
            if isinstance(value, str):
                if not value.isdecimal() or len(value) < 8:
                    return _iso(value)
                value = int(value)
            return _number(value)
        return None

    def _not_a_date(self, value: Any) -> SettingError:
        if self._format is not None:
            what = f"which is not a date of {argument('date_format', self._format)}"
            return self._refused(value, what, "correct the format")
        fitting = []
        for one in _FORMATS:
            with suppress(ValueError):
                dt.datetime.strptime(_text(value), one)
                fitting.append(one)
        if isinstance(value, int | float) and abs(value) < min(_UNITS):
            fitting = ["%s"]
        formats = " or ".join(argument("date_format", one) for one in fitting) or argument("date_format")
        others = f", {argument('bins')} for numbers, or no {argument('freq')} for the values"
        bins = "" if self._setting == argument("bins") else others
        remedy = f"give {formats}"
        if not self._only_format:
            remedy += f"{bins}; {argument('where')} leaves out documents without a date"
        return self._refused(value, "which is not a date such as 2005-03-01", remedy)

    def _refused(self, value: Any, what: str, remedy: str) -> SettingError:
        return SettingError(f"{self._setting}: column {self._column!r} holds {value!r:.60}, {what}; {remedy}")


def _text(value: Any) -> str:
    """A value as it is written; numbers of which some are missing are floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _iso(text: str) -> Moment | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, *time = (None if part is None else int(part) for part in found.groups())
    assert year is not None
    dt.date(year, month or 1, day or 1)  # or ValueError
    hours, minutes, seconds = (part or 0 for part in time)
    return Moment(year, month, day, 3600.0 * hours + 60 * minutes + seconds)


def _formatted(text: str, form: str) -> Moment:
    time, parts = dt.datetime.strptime(text, form), set(re.findall("%(.)", form))
    moment = _of_datetime(time)
    if parts & set("djxcUVW"):
        return moment
    return Moment(time.year, time.month if parts & set("mbB") else None)


def _number(value: Any) -> Moment | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    size, whole = abs(value), int(value)
    if size <= 9999 and value == whole:
        return Moment(whole, written="a year")
    if 10**7 <= value < 10**8 and value == whole:
        day = dt.date(whole // 10_000, whole // 100 % 100, whole % 100)  # or ValueError
        return Moment(day.year, day.month, day.day, written="a day")
    if not 1e8 <= size < _LAST:
        return None
    return _since_1970(value, _UNITS[max(least for least in _UNITS if least <= size)])


def _since_1970(value: float, per_second: int) -> Moment:
    unit = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}[per_second]
    time = _EPOCH + dt.timedelta(seconds=value / per_second)
    return _of_datetime(time)._replace(written=f"{unit} since 1970")


def _of_datetime(time: dt.datetime) -> Moment:
    seconds = 3600.0 * time.hour + 60 * time.minute + time.second + time.microsecond / 1e6
    return Moment(time.year, time.month, time.day, seconds)


def instant_texts(instants: np.ndarray) -> list[str]:
    """Instants, see `Moment`, as dates in ISO 8601; if not all are whole days, with the time of the day."""
    times = [
        dt.datetime.fromordinal(int(i // DAY)) + dt.timedelta(seconds=i % DAY) for i in instants.tolist()
    ]
    return [str(time.date()) if not (instants % DAY).any() else time.isoformat() for time in times]


def year_of(period: Any) -> float:
    """When a period begins, see `Moment.period`, as a year with a fraction.

    Raises
    ------
    ValueError
        When it is not a period.
    """
    if not isinstance(period, str):
        return float(period)
    year, _, within = period.partition("-")
    if not within:
        return float(year)
    if within[0] == "W":
        day = dt.date.fromisocalendar(int(year), int(within[1:]), 1)
    else:
        month, _, of_month = within.partition("-")
        day = dt.date(
            int(year), 3 * int(month[1:]) - 2 if month[0] == "Q" else int(month), int(of_month or 1)
        )
    first, last = dt.date(day.year, 1, 1), dt.date(day.year, 12, 31)
    return day.year + (day - first).days / ((last - first).days + 1)

"""What columns hold: dates of any kind, groups, numbers; and conditions on columns with and without codes."""

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import SettingError
from bigtopic.explore import columns as module
from bigtopic.explore.columns import Periods, chosen, coded, frequencies, time_column

from .conftest import QUIET


@pytest.fixture
def held(tmp_path):
    """The columns of documents with these values."""

    def hold(most=1 << 20, **values):
        n = len(next(iter(values.values())))
        records = [{"id": str(i), "text": "a word", **{k: v[i] for k, v in values.items()}} for i in range(n)]
        corpus = bt.ingest(records, tmp_path / "held.zarr", min_df=1, shuffle=False, overwrite=True, **QUIET)
        found = coded(corpus, tmp_path, most, lambda _: None)
        return corpus, {column.name: column for column in found}

    return hold


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        (["2001-02-03", "2001-02-04", None], ["decade", "year", "quarter", "month", "week", "day"]),
        (
            ["2001-02-03T04:05:06", "2003-02-04T00:00:00", None],
            ["decade", "year", "quarter", "month", "week", "day"],
        ),
        (["2001-02", "2001-02-04", "2002"], ["decade", "year"]),
        (["2001-02", "2001-02-04", "2002-03"], ["decade", "year", "quarter", "month"]),
        (["2001", "2002", "1999"], ["decade", "year"]),
        ([2001, 2002, 1999], ["decade", "year"]),
        ([20010203, 20020304, None], ["decade", "year", "quarter", "month", "week", "day"]),
        (
            [1_000_000_000, 1_100_000_000, 1_200_000_000],
            ["decade", "year", "quarter", "month", "week", "day"],
        ),
    ],
)
def test_dates(held, values, kinds):
    _, found = held(published=values)
    assert found["published"].is_date and frequencies(found["published"]) == kinds


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pages", [2001, 2002, 1999]),
        ("code", ["2001", "2002", "1999"]),
        ("date", ["yesterday", "2001-02-03", "2001-02-04"]),
        ("date", ["", "", ""]),
        ("year", [120, 300, 17]),
        ("time", [0.5, 0.25, 3]),
    ],
)
def test_what_is_not_a_date(held, name, values):
    _, found = held(**{name: values})
    assert not found[name].is_date


def test_a_value_that_is_no_date_after_many(held, monkeypatch):
    monkeypatch.setattr(module, "_LOOKED_AT", 2)
    _, found = held(date=["2001-02-03", "2001-02-04", "soon", "2001-02-03"])
    assert not found["date"].is_date and found["date"].values == ["2001-02-03", "2001-02-04", "soon"]
    assert found["date"].counts.tolist() == [2, 1, 1] and found["date"].codes.tolist() == [0, 1, 2, 0]


def test_the_column_that_says_most_is_the_time(held):
    _, found = held(year=[2001, 2002], month=["2001-02", "2002-03"], day=["2001-02-03", "2002-03-04"])
    assert time_column([*found.values()]).name == "day"
    assert found["year"].kind == "number" and found["month"].kind == "date"
    assert time_column([found["year"]]) is None


def test_many_dates_are_cut_to_longer_periods(held):
    days = [f"200{i % 3}-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(300)]
    for most, n, kind in ((400, len({*days}), "day"), (12, 12, "month"), (5, 3, "year")):
        _, found = held(most, date=days)
        assert len(found["date"].values) == n and frequencies(found["date"])[-1] == kind
        assert found["date"].counts.sum() == 300
        names = Periods.by(found["date"], "year").names
        assert names == ["2000", "2001", "2002"]


VALUES = {
    "kind": ["a", "b", "", "a", "1..2"],
    "number": [1, 2, 3, 4, 5],
    "score": [0.5, None, 1.5, 2.5, 0.5],
    "flag": [True, False, True, True, False],
}
CONDITIONS = {
    "kind=a": [0, 3],
    "kind=1..2": [4],
    "kind=a..b": [0, 1, 3],
    "kind=": [2],
    'kind=""': [2],
    'kind="1..2"': [4],
    'kind="a"': [0, 3],
    'kind="""': [],
    "number=3": [2],
    "number=2..4": [1, 2, 3],
    "number=..2": [0, 1],
    "number=": [],
    "score=0.5": [0, 4],
    "score=1..": [2, 3],
    "score=": [1],
    "flag=true": [0, 2, 3],
    "flag=False": [1, 4],
}


@pytest.mark.parametrize("most", [1000, 1])
@pytest.mark.parametrize("where", CONDITIONS)
def test_conditions(held, monkeypatch, where, most):
    """With codes, and without them, where "" is a value like others."""
    monkeypatch.setattr(module, "MOST_VALUES", most)
    corpus, found = held(**VALUES)
    assert (found["number"].values is None) == (most == 1)
    if most == 1 and where in ("kind=1..2", "number="):
        return
    assert np.flatnonzero(chosen([*found.values()], corpus, [where])).tolist() == CONDITIONS[where]


@pytest.mark.parametrize("where", ["nope=1", "kind", "", "=", "number=x", "flag=maybe", "score=high"])
def test_mistakes(held, where):
    corpus, found = held(**VALUES)
    with pytest.raises(SettingError):
        chosen([*found.values()], corpus, [where])


def test_a_column_whose_name_has_an_equals_sign(held):
    corpus, found = held(**{"a=b": ["c", "d"], "a": ["b=c", "x"]})
    assert chosen([*found.values()], corpus, ["a=b=c"]).tolist() == [True, False]
    assert chosen([*found.values()], corpus, ["a=b=d"]).tolist() == [False, True]


DAYS = [
    "1969-01-05",
    "1969-04-01",
    "1969-06-30",
    "1969-12-31",
    "1970-01-01",
    "1978-03-31",
    "1978-05-15",
    "1978-12-31",
]
PERIODS = {
    "1969": [0, 1, 2, 3],
    "1969-Q2": [1, 2],
    "1969-12": [3],
    "1969-06-30": [2],
    "1960s": [0, 1, 2, 3],
    "1970-W01": [3, 4],
    "1969-Q1..1969-Q4": [0, 1, 2, 3],
    "1969-Q2..1978": [1, 2, 3, 4, 5, 6, 7],
    "..1969-Q2": [0, 1, 2],
    "1969-Q3..": [3, 4, 5, 6, 7],
    "1960..1969-Q1": [0],
    "1969-Q2..1978-03": [1, 2, 3, 4, 5],
    "1978-W20..1978-W30": [6],
    "1970s..": [4, 5, 6, 7],
    "..": [0, 1, 2, 3, 4, 5, 6, 7],
    "1978..1969": [],
}


@pytest.mark.parametrize("period", PERIODS)
def test_periods(held, period):
    corpus, found = held(date=DAYS)
    assert np.flatnonzero(chosen([*found.values()], corpus, [f"date={period}"])).tolist() == PERIODS[period]


NO_PERIODS = [
    "2005-13",
    "2005-W99",
    "99999",
    "2005-02-30",
    "soon",
    "2005-Q5",
    "2005-1",
    "0",
    "1969..soon",
    "9999s0",
]


@pytest.mark.parametrize("period", NO_PERIODS)
def test_what_is_no_period(held, period):
    corpus, found = held(date=DAYS)
    with pytest.raises(SettingError, match="give a period such as"):
        chosen([*found.values()], corpus, [f"date={period}"])


def test_periods_that_dates_do_not_say(held):
    corpus, found = held(month=["2001-02", "2001-07"])
    columns = [*found.values()]
    assert chosen(columns, corpus, ["month=2001-Q1"]).tolist() == [True, False]
    for period in ("2001-02-01", "2001-W07", "2001-02-01..2002"):
        with pytest.raises(SettingError, match="give a month"):
            chosen(columns, corpus, [f"month={period}"])

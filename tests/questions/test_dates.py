"""Groups by time: dates as people write them, and as machines do; what cannot be meant is refused with the remedy."""

import datetime

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import SettingError
from bigtopic.questions.dates import Moment, year_of

DAYS = [datetime.date(2003, 12, 29) + datetime.timedelta(days=11 * i) for i in range(40)]
MISSING = 7  # the document without a date
UTC = datetime.UTC


def seconds(day):
    return int(datetime.datetime(day.year, day.month, day.day, 12, 30, tzinfo=UTC).timestamp())


WRITTEN = {
    "iso": str,
    "time": lambda day: f"{day}T23:30:00-05:00",
    "basic": lambda day: day.strftime("%Y%m%d"),
    "german": lambda day: day.strftime("%d.%m.%Y"),
    "words": lambda day: day.strftime("%a %b %d 23:30:00 +0000 %Y"),
    "compact": lambda day: int(day.strftime("%Y%m%d")),
    "seconds": seconds,
    "fractions": lambda day: seconds(day) + 0.25,
    "digits": lambda day: str(seconds(day)),
    "milliseconds": lambda day: 1000 * seconds(day) + 7,
    "microseconds": lambda day: 10**6 * seconds(day),
    "nanoseconds": lambda day: 10**9 * seconds(day),
}
FORMATS = {"german": "%d.%m.%Y", "words": "%a %b %d %H:%M:%S %z %Y"}
PERIODS = {
    "decade": lambda day: f"{day.year // 10 * 10}",
    "year": lambda day: f"{day.year}",
    "quarter": lambda day: f"{day.year}-Q{(day.month - 1) // 3 + 1}",
    "month": lambda day: f"{day:%Y-%m}",
    "week": lambda day: f"{day:%G-W%V}",
    "day": str,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    records = [
        {"text": "a cat sat" if i % 3 else "rain on a tin roof", "kind": "ab"[i % 2], "size": i}
        | {name: None if i == MISSING else write(day) for name, write in WRITTEN.items()}
        | {"odd": "n.d." if i == 5 else str(day), "before": 10**6 + i, "mixed": 2000 if i else 1262304000}
        | {"never": f"2003-02-{28 + i % 3}", "authors": ["ann", "bob"][: 1 + i % 2]}
        for i, day in enumerate(DAYS)
    ]
    path = tmp_path_factory.mktemp("dated") / "c.zarr"
    return bt.ingest(records, path, client=False, n_threads=1, progress=False)


@pytest.fixture(scope="module")
def model(corpus):
    return bt.LDA(2, method="online-cvb0", max_iter=2, client=False, n_threads=1, progress=False).fit(corpus)


def counted(model, corpus, column, **settings):
    """{group: documents} of a topic."""
    found = model.topics_over(column, corpus, topics=0, **settings)
    columns = [column] if isinstance(column, str) else column
    keys = found[columns[0]] if len(columns) == 1 else zip(*(found[name] for name in columns), strict=True)
    return dict(zip(keys, found["n_documents"].tolist(), strict=True))


def expected(key):
    groups = {}
    for i, day in enumerate(DAYS):
        if i != MISSING:
            groups[key(day)] = groups.get(key(day), 0) + 1
    return dict(sorted(groups.items()))


@pytest.mark.parametrize("freq", PERIODS)
@pytest.mark.parametrize("column", WRITTEN)
def test_a_date_is_a_date_however_it_is_written(model, corpus, column, freq):
    found = counted(model, corpus, column, freq=freq, date_format=FORMATS.get(column))
    assert list(found.items()) == list(expected(PERIODS[freq]).items())


@pytest.mark.parametrize("column", ["iso", "german", "seconds", "compact"])
def test_bins_of_dates_are_of_equal_width(model, corpus, column):
    form = "%s" if column == "seconds" else FORMATS.get(column, "%Y%m%d" if column == "compact" else None)
    found = counted(model, corpus, column, bins=4, date_format=form)
    edges = [low for low, _ in found] + [[*found][-1][1]]
    assert edges[0] == str(DAYS[0]) and edges[-1] in (str(DAYS[-1]), str(DAYS[-1] + datetime.timedelta(1)))
    widths = np.diff([datetime.date.fromisoformat(edge).toordinal() for edge in edges])
    assert np.ptp(widths) <= 2 and sum(found.values()) == len(DAYS) - 1
    for (low, high), n in found.items():
        last = high == edges[-1]
        inside = [
            day for i, day in enumerate(map(str, DAYS)) if i != MISSING and low <= day < high + "~" * last
        ]
        assert len(inside) == n


def test_bins_of_dates_take_edges(model, corpus):
    whole = {
        "iso": ["2004-01-01", "2004-07-01", "2005-12-31"],
        "german": ["1.1.2004", "1.7.2004", "31.12.2005"],
    }
    for column, edges in whole.items():
        found = counted(model, corpus, column, bins=edges, date_format=FORMATS.get(column))
        assert list(found) == [("2004-01-01", "2004-07-01"), ("2004-07-01", "2005-12-31")]
    days = [datetime.date(2004, 1, 1), datetime.date(2005, 12, 31)]
    assert list(counted(model, corpus, "iso", bins=days)) == [("2004-01-01", "2005-12-31")]


def test_bins_of_hours(tmp_path):
    records = [{"text": "a cat sat", "at": f"2020-03-01T0{i}:00:00Z"} for i in range(9)]
    corpus = bt.ingest(records, tmp_path / "c.zarr", client=False, n_threads=1)
    model = bt.LDA(2, method="online-cvb0", max_iter=1, client=False, n_threads=1).fit(corpus)
    found = counted(model, corpus, "at", bins=2)
    assert found == {
        ("2020-03-01T00:00:00", "2020-03-01T04:00:00"): 4,
        ("2020-03-01T04:00:00", "2020-03-01T08:00:00"): 5,
    }


def test_seconds_before_1973_need_the_format(model, corpus):
    with pytest.raises(SettingError, match=r"'before' holds 10000\d\d, .*date_format='%s'"):
        model.topics_over("before", corpus, freq="day")
    assert list(counted(model, corpus, "before", freq="day", date_format="%s")) == ["1970-01-12"]


@pytest.mark.parametrize(
    ("column", "settings", "message"),
    [
        ("german", {"freq": "year"}, r"holds '\d\d\.\d\d\.\d{4}', .*date_format='%d\.%m\.%Y'"),
        ("words", {"freq": "year"}, r"date_format='%a %b %d %H:%M:%S %z %Y'"),
        (
            "odd",
            {"freq": "year"},
            r"holds 'n\.d\.', which is not a date such as 2005-03-01; give date_format, .*where leaves out",
        ),
        ("odd", {"bins": 3}, r"'odd' holds 'n\.d\.', which is not a date"),
        (
            "iso",
            {"freq": "year", "date_format": "%d.%m.%Y"},
            r"holds '[-0-9]{10}', .*date_format='%d\.%m\.%Y'",
        ),
        ("never", {"freq": "month"}, r"holds '2003-02-(29|30)', which is not a date"),
        (
            "mixed",
            {"freq": "year"},
            r"holds \d+, which is .*, and \d+, which is .*; say what they are with date_format",
        ),
        ("kind", {"bins": 3}, "'kind' holds '[ab]', which is not a date"),
        ("size", {"freq": "month"}, r"holds \d+, which is a year without a month"),
        ("iso", {"date_format": "%Y-%m-%d"}, "date_format has no effect without freq or bins"),
        ("iso", {"freq": "year", "date_format": 5}, "date_format=5: give"),
        ("iso", {"freq": "hour"}, "freq='hour': choose one of .*week"),
        ("iso", {"bins": ["2004-01-01", "then"]}, "bins=.*edges in ascending order"),
        ("iso", {"bins": ["2005-01-01", "2004-01-01"]}, "bins=.*edges in ascending order"),
        (["iso", "kind"], {"freq": {"knid": "year"}}, "freq: 'knid' is not one of the columns"),
        (["iso", "iso"], {}, "column 'iso' is given twice"),
        ([], {}, r"column=\[\]: give the name of a column, or several"),
        (["iso", "nosuch"], {}, "no column 'nosuch'"),
        (5, {}, "column=5: give the name of a column, or several"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(model, corpus, column, settings, message):
    with pytest.raises(SettingError, match=message):
        model.topics_over(column, corpus, **settings)


def test_two_columns(model, corpus):
    found = model.topics_over(["iso", "kind"], corpus, freq="year")
    assert list(found.columns[:4]) == ["iso", "kind", "topic", "label"]
    rows = [(f"{day.year}", "ab"[i % 2]) for i, day in enumerate(DAYS) if i != MISSING]
    assert counted(model, corpus, ["iso", "kind"], freq="year") == {
        key: rows.count(key) for key in sorted({*rows})
    }
    shares = model.transform(corpus)
    for year, kind in {*rows}:
        of = [
            i for i, day in enumerate(DAYS) if i != MISSING and (str(day.year), "ab"[i % 2]) == (year, kind)
        ]
        mine = found[(found["iso"] == year) & (found["kind"] == kind)]
        np.testing.assert_allclose(mine["share"], shares[of].mean(axis=0), atol=1e-6)


def test_two_columns_with_settings_of_their_own(model, corpus):
    found = counted(
        model,
        corpus,
        ["size", "german"],
        bins={"size": 2},
        freq={"german": "year"},
        date_format={"german": "%d.%m.%Y"},
    )
    assert [*found] == [
        ((0.0, 19.5), "2003"),
        ((0.0, 19.5), "2004"),
        ((19.5, 39.0), "2004"),
        ((19.5, 39.0), "2005"),
    ]
    assert sum(found.values()) == len(DAYS) - 1


def test_authors_by_year(model, corpus):
    rows = [
        (name, str(day.year))
        for i, day in enumerate(DAYS)
        if i != MISSING
        for name in ["ann", "bob"][: 1 + i % 2]
    ]
    found = counted(model, corpus, ["authors", "iso"], freq={"iso": "year"})
    assert found == {key: rows.count(key) for key in sorted({*rows})}
    turned = counted(model, corpus, ["iso", "authors"], freq="year")
    assert turned == {(year, name): n for (name, year), n in found.items()}


def test_the_shell(model, corpus, tmp_path):
    import json

    from tests.cli.conftest import run

    model.save(tmp_path / "m.zarr")
    ask = ["topics", tmp_path / "m.zarr", "--corpus", corpus.url, "--topic", 0, "--json"]
    found = json.loads(
        run(*ask, "--by", "german", "--by", "kind", "--freq", "week", "--date-format", "%d.%m.%Y").stdout
    )
    assert len(found) == len(DAYS) - 1 and found[0]["german"] == "2004-W01" and found[0]["kind"] == "a"
    assert "date_format" not in run(*ask, "--by", "german", "--freq", "week", code=2).stderr
    assert "a cat" not in run(*ask[:-1], "--by", "iso", "--bins", 3).stdout


@pytest.mark.parametrize(
    ("freq", "days", "rest"),
    [
        ("decade", 3652, 1),
        ("year", 365, 1),
        ("quarter", 91, 2),
        ("month", 30, 2),
        ("week", 7, 0),
        ("day", 1, 0),
    ],
)
def test_years_of_periods_rise_as_time_does(freq, days, rest):
    """Of a period that begins `days`, up to `rest` more or less, after another one, in years of 365 or 366 days."""
    moments = [datetime.date(1995, 1, 1) + datetime.timedelta(days=i) for i in range(8000)]
    periods = list(dict.fromkeys(Moment(day.year, day.month, day.day).period(freq) for day in moments))
    steps = np.diff([year_of(period) for period in periods])
    assert ((days - rest) / 366 - 1e-9 <= steps).all() and (steps <= (days + rest) / 365 + 1e-9).all()
    assert year_of(2004) == year_of("2004") == year_of("2004-01") == year_of("2004-Q1") == 2004
    assert year_of("2003-07-02") == 2003 + 182 / 365 and year_of(-44) == -44

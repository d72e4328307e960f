"""Selecting documents by what columns hold: what is given is compared as the column's type, or refused."""

import datetime
import re

import numpy as np
import pytest

from bigtopic.corpus.select import condition
from bigtopic.errors import SettingError
from bigtopic.ingestion.ingest import ingest

NAN = float("nan")
DAYS = [datetime.date(2005, 1, 1) + datetime.timedelta(days=40 * i) for i in range(10)]
TIMES = [
    datetime.datetime(2005, 1, 1, 12, tzinfo=datetime.UTC) + datetime.timedelta(hours=9 * i)
    for i in range(10)
]
COLUMNS = {
    "year": list(range(2000, 2010)),
    "score": [0.0, 0.5, NAN, 1.5, 2.0, None, 3.0, 3.5, 4.0, 4.5],
    "odd": [i % 2 == 1 for i in range(10)],
    "label": ["sport", "art", "", None, "sport", "2005", "art", "NA", "zoo", "Zoo"],
    "day": [None if i == 4 else day for i, day in enumerate(DAYS)],
    "at": TIMES,
    "naive": [time.replace(tzinfo=None) for time in TIMES],
}


def without_addresses(value):
    """A name of a test that is the same in every process."""
    return re.sub(r" at 0x\w+", "", str(value))


@pytest.fixture(scope="module", params=[True, False], ids=["shuffled", "in order"])
def corpus(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("select") / "c.zarr"
    return ingest(["some words"] * 10, path, columns=COLUMNS, shuffle=request.param, n_threads=1)


def rows(corpus, **wanted):
    return corpus.select(**wanted).rows().tolist()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"year": 2005}, [5]),
        ({"year": np.int32(2005)}, [5]),
        ({"year": 2005.0}, [5]),
        ({"year": [2001, 2003.0, 1900]}, [1, 3]),
        ({"year": {2001, 2003}}, [1, 3]),
        ({"year": range(2001, 2004)}, [1, 2, 3]),
        ({"year": np.array([2001, 2002])}, [1, 2]),
        ({"year": []}, []),
        ({"year": slice(2003, 2005)}, [3, 4, 5]),
        ({"year": slice(None, 2001.5)}, [0, 1]),
        ({"year": slice(2008, None)}, [8, 9]),
        ({"score": 0.5}, [1]),
        ({"score": 2}, [4]),
        ({"score": None}, [2, 5]),
        ({"score": [NAN, 2, 0.5]}, [1, 2, 4, 5]),
        ({"score": slice(None, 2)}, [0, 1, 3, 4]),
        ({"score": slice(None, None)}, [0, 1, 3, 4, 6, 7, 8, 9]),
        ({"odd": True}, [1, 3, 5, 7, 9]),
        ({"odd": [False, np.bool_(True)]}, list(range(10))),
        ({"label": "sport"}, [0, 4]),
        ({"label": "2005"}, [5]),
        ({"label": ["art", "NA"]}, [1, 6, 7]),
        ({"label": None}, [2, 3]),
        ({"label": ["art", None]}, [1, 2, 3, 6]),
        ({"label": slice("b", "z")}, [0, 4]),
        ({"label": slice(None, "b")}, [1, 5, 6, 7, 9]),
        ({"day": DAYS[3]}, [3]),
        ({"day": DAYS[3].isoformat()}, [3]),
        ({"day": np.datetime64(DAYS[3])}, [3]),
        ({"day": [DAYS[1], None]}, [1, 4]),
        ({"day": slice(DAYS[3], DAYS[6])}, [3, 5, 6]),
        ({"day": slice(None, DAYS[2])}, [0, 1, 2]),
        ({"at": TIMES[3]}, [3]),
        ({"at": TIMES[3].astimezone(datetime.timezone(datetime.timedelta(hours=5)))}, [3]),
        ({"at": datetime.date(2005, 1, 2)}, [2, 3]),  # the whole day
        ({"at": slice(datetime.date(2005, 1, 1), datetime.date(2005, 1, 2))}, [0, 1, 2, 3]),
        ({"at": slice(TIMES[2], TIMES[4])}, [2, 3, 4]),
        ({"naive": np.datetime64("2005-01-02T06:00:00", "ns")}, [2]),
        ({"year": lambda year: year > 2007}, [8, 9]),
        ({"year": lambda year: year > year.mean()}, [5, 6, 7, 8, 9]),  # of the whole column
        ({"score": np.isnan}, [2, 5]),
        ({"label": lambda label: label == "art"}, [1, 6]),
        ({"year": lambda year: np.arange(len(year)) < 2, "odd": True}, [1]),
        ({"year": slice(2001, 2008), "odd": False, "rows": [2, 3, 4]}, [2, 4]),
        ({"year": lambda year: year < 2006, "label": lambda label: label == "sport"}, [0, 4]),
    ],
    ids=without_addresses,
)
def test_what_matches(corpus, wanted, expected):
    assert rows(corpus, **wanted) == expected
    train, test = corpus.split(0.4, random_state=1)
    if not any(callable(value) for value in wanted.values()):  # a function sees the documents of the view
        assert sorted(rows(train, **wanted) + rows(test, **wanted)) == expected


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"year": "2005"}, r"year='2005'.*'year' holds whole numbers \(int64\).*text.*give the number 2005"),
        ({"year": ["2005", 2004]}, "give the number 2005"),
        ({"year": "recent"}, "give a number"),
        ({"year": True}, "no bool equals; give a number"),
        ({"year": 2005.5}, "never equals.*range"),
        ({"year": float("inf")}, "never equals"),
        ({"year": 10**30}, "never equals"),
        ({"year": None}, "none of its values is missing"),
        ({"year": [NAN]}, "none of its values is missing"),
        ({"year": DAYS[0]}, "no date equals; give a number"),
        ({"year": slice("2000", "2005")}, "give the number 2000"),
        ({"year": slice(2005, 2000)}, "at least the first"),
        ({"year": slice(2000, 2005, 2)}, "without a step"),
        ({"year": slice(NAN, 2005)}, "does not bound"),
        ({"year": {"from": 2000}}, "text equals"),
        ({"score": "0.5"}, r"numbers \(float64\).*give the number 0.5"),
        ({"odd": 1}, "give True or False"),
        ({"odd": "True"}, "give True or False"),
        ({"odd": None}, "none of its values is missing"),
        ({"odd": slice(False, True)}, "have no range"),
        ({"label": 2005}, r"holds text such as '.+'.*give '2005'"),
        ({"label": ["art", 5]}, "give '5'"),
        ({"label": True}, "give 'True'"),
        ({"label": b"art"}, "no bytes equals"),
        ({"label": slice(1, 2)}, "give '1'"),
        ({"day": 2005}, "give '2005'"),
        ({"at": TIMES[0].replace(tzinfo=None)}, "with a time zone"),
        ({"naive": TIMES[0]}, "without a time zone"),
        ({"year": lambda year: year.sum() > 3}, r"returned bool of shape \(\).*shape \(10,\)"),
        ({"year": lambda year: year[:3] > 0}, r"shape \(3,\)"),
        ({"year": lambda year: year}, "returned int64"),
        ({"year": str}, "must return a boolean for each document"),
        ({"nothing": 5}, "no column 'nothing'"),
        ({"rows": "5"}, "rows: give source rows"),
        ({"rows": 5}, "if you mean a column of that name"),
    ],
    ids=without_addresses,
)
def test_what_cannot_match_is_an_error(corpus, wanted, message):
    with pytest.raises(SettingError, match=message):
        corpus.select(**wanted)


def test_types_of_a_table_are_those_one_selects_by(tmp_path):
    (tmp_path / "t.csv").write_text("text,year,zip\nsome words,2005,0123\nother words,2006,x\n")
    corpus = ingest(tmp_path / "t.csv", tmp_path / "c.zarr", n_threads=1)
    assert rows(corpus, year=2005) == [0] and rows(corpus, zip="0123") == [0]
    with pytest.raises(SettingError, match="the number 2005"):
        corpus.select(year="2005")


def test_a_column_named_rows(tmp_path):
    corpus = ingest(["some words"] * 4, tmp_path / "c.zarr", columns={"rows": [5, 7, 5, 9]}, n_threads=1)
    chosen = corpus.select(rows=corpus.rows()[corpus.read_column("rows") == 5])
    assert chosen.rows().tolist() == [0, 2]


@pytest.mark.parametrize(
    "wanted", [10**400, -(10**400), slice(0, 10**400), slice(-(10**400), 10**400)], ids=range(4)
)
def test_numbers_beyond_all_floats(wanted):
    """A range may end there; no value is equal to them."""
    for values in (np.array([1, 2]), np.array([1.0, 2.0])):
        if isinstance(wanted, slice):
            assert condition("year", wanted, values)(values).all()
        elif values.dtype.kind == "i":
            with pytest.raises(SettingError, match="which this number never equals"):
                condition("year", wanted, values)
        else:
            assert not condition("year", wanted, values)(values).any()

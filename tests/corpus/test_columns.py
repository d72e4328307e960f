"""Further columns from every kind of source: their types, their missing values, their names on disk."""

import datetime
import json
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest

from bigtopic.corpus.columns import array_name
from bigtopic.corpus.readers import base
from bigtopic.corpus.readers.formats import iterable
from bigtopic.corpus.store import open_corpus
from bigtopic.errors import InputError
from bigtopic.ingestion.ingest import append, compact, ingest

pandas = pytest.importorskip("pandas")
NAN = float("nan")
UTC = datetime.UTC


def stored(path, source, **settings):
    """The columns of a source as a corpus has them, in the source's order: {name: (type, values)}."""
    corpus = ingest(source, path, n_threads=1, **settings)
    corpus.verify()
    return in_order(corpus)


def in_order(corpus):
    order = np.argsort(np.concatenate([part.rows(0, part.n_docs) for part in corpus.parts]))
    found = {}
    for name in corpus.columns:
        values = np.concatenate([part.columns([name], 0, part.n_docs)[name] for part in corpus.parts])[order]
        found[name] = ("string" if values.dtype == object else str(values.dtype), values.tolist())
    return found


def csv_column(tmp_path, cells, **settings):
    path = tmp_path / "table.csv"
    path.write_text("text,x\n" + "".join(f"some words,{cell}\n" for cell in cells))
    return stored(tmp_path / "c.zarr", path, overwrite=True, **settings)["x"]


def records(values):
    return [{"text": "some words", "x": value} for value in values]


def same(found, expected):
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    "cells",
    [
        ["2005", "-7", "+3"],
        ["007", "12"],
        ["1", "", "3"],
        ["NA", "3", "null"],
        ["0.5", "1e3", "-inf", "7"],
        ["true", "False", "TRUE"],
        ["x", "7", ""],
        ["1_000", "2"],
        ["٣", "4"],
        ["007", "x"],
        ["1970-01-01", "2005-03-01"],
        ["9007199254740993", "1"],
        [" 7", "8 "],
        ["-9223372036854775808", "9223372036854775807"],
        ["tRUE", "False"],
    ],
)
def test_columns_of_csv_have_the_types_of_pandas(tmp_path, cells):
    (tmp_path / "p.csv").write_text("x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    expected = pandas.read_csv(tmp_path / "p.csv")["x"]
    found = csv_column(tmp_path, cells)
    dtype = str(expected.dtype) if expected.dtype.kind in "ifb" else "string"
    values = expected.tolist() if dtype != "string" else ["" if v != v else v for v in expected.tolist()]
    same(found, (dtype, values))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["", ""], ("float64", [NAN, NAN])),
        (["x", "NA"], ("string", ["x", "NA"])),  # a text: the code of Namibia
        (["true", "", "false"], ("string", ["true", "", "false"])),
        (["9007199254740993", ""], ("string", ["9007199254740993", ""])),  # no digit is lost
        (["99999999999999999999", "1"], ("string", ["99999999999999999999", "1"])),
        (["1" * 400, "1"], ("string", ["1" * 400, "1"])),
    ],
)
def test_columns_of_csv_that_numbers_would_spoil_stay_text(tmp_path, cells, expected):
    same(csv_column(tmp_path, cells), expected)


def test_the_type_is_that_of_the_whole_column(tmp_path, monkeypatch):
    """Text in the last chunk, a gap in another: the first ones, numbers so far, are not rewritten."""
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 64)
    cells = ["007"] * 40 + ["x"]
    same(csv_column(tmp_path, cells), ("string", cells))
    same(csv_column(tmp_path, ["007"] * 40 + ["", "0.5"]), ("float64", [7.0] * 40 + [NAN, 0.5]))
    same(csv_column(tmp_path, ["007"] * 40), ("int64", [7] * 40))


@pytest.mark.parametrize("last", ["0.5", "1e400", "inf", "x", ""])
def test_the_type_does_not_depend_on_the_chunks(tmp_path, monkeypatch, last):
    """Even of integers beyond int64, which are floats to NumPy beside other floats."""
    cells = ["99999999999999999999"] * 40 + [last]
    whole = csv_column(tmp_path, cells)
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 64)
    same(csv_column(tmp_path, cells), whole)


MIXED = [
    [1, None, "x", 2.5],
    [1, 2, None, 0.5],
    [True, False, None],
    [True, 2, 0.5],
    [None, None, "x"],
    [None, 2**53 + 1, 3],
    [2**60, 0.5, None],
    [0.5, NAN, "x"],
    [2**63, 1, None],
    [None, None],
]


@pytest.mark.parametrize("values", MIXED, ids=str)
def test_no_value_depends_on_where_a_source_was_cut(tmp_path, monkeypatch, values):
    whole = stored(tmp_path / "whole.zarr", records(values))
    monkeypatch.setattr(iterable, "CHUNK_DOCS", 1)
    same(stored(tmp_path / "cut.zarr", records(values))["x"], whole["x"])
    assert base.CHUNK_DOCS > 1


DAY = datetime.date(2005, 3, 1)
NOON = datetime.datetime(2005, 3, 1, 12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2005, 2006], ("int64", [2005, 2006])),
        ([2005, None], ("float64", [2005.0, NAN])),
        ([2**53 + 1, None], ("string", ["9007199254740993", ""])),
        ([2**53 + 1, 1], ("int64", [2**53 + 1, 1])),
        ([2**63, 1], ("string", ["9223372036854775808", "1"])),
        (["p", None], ("string", ["p", ""])),
        ([DAY, None], ("string", ["2005-03-01", ""])),
        (
            [NOON, NOON.replace(microsecond=5)],
            ("string", ["2005-03-01T12:00:00", "2005-03-01T12:00:00.000005"]),
        ),
        (
            [NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-2)))],
            ("string", ["2005-03-01T14:00:00+00:00"]),
        ),
        ([pandas.Timestamp(NOON), pandas.NaT], ("string", ["2005-03-01T12:00:00", ""])),
        ([np.datetime64("2005-03-01"), np.datetime64("NaT")], ("string", ["2005-03-01", ""])),
        ([np.datetime64("2005-03-01T12:30", "ns")], ("string", ["2005-03-01T12:30:00"])),
        ([datetime.timedelta(minutes=1), None], ("float64", [60.0, NAN])),
        ([np.timedelta64(1500, "ms")], ("float64", [1.5])),
        ([Decimal("0.25"), None], ("float64", [0.25, NAN])),
        ([np.int64(3), np.int32(4)], ("int64", [3, 4])),
        ([np.float32(0.5), pandas.NA], ("float64", [0.5, NAN])),
        ([np.bool_(True), False], ("bool", [True, False])),
        ([b"caf\xc3\xa9"], ("string", ["café"])),
        ([UUID(int=5)], ("string", [str(UUID(int=5))])),
        ([["x", "é"], []], ("string", ['["x", "é"]', "[]"])),
        ([("x", None), {"a": DAY}], ("string", ['["x", null]', '{"a": "2005-03-01"}'])),
        pytest.param([{"b", "a"}, np.array([1, 2])], ("string", ['["a", "b"]', "[1, 2]"]), id="set"),
        ([[1, 2], [3, 4]], ("string", ["[1, 2]", "[3, 4]"])),
    ],
    ids=str,
)
def test_nothing_in_a_record_is_dropped(tmp_path, values, expected):
    same(stored(tmp_path / "c.zarr", records(values))["x"], expected)
    same(stored(tmp_path / "beside.zarr", ["some words"] * len(values), columns={"x": values})["x"], expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([2005, 2006], np.uint16), ("int64", [2005, 2006])),
        (np.array([2**63, 1], np.uint64), ("string", ["9223372036854775808", "1"])),
        (np.array([0.5, np.nan], np.float32), ("float64", [0.5, NAN])),
        (np.array(["2005-03-01T12:30", "NaT"], "M8[m]"), ("string", ["2005-03-01T12:30:00", ""])),
        (np.array(["2005-03-01T12:30:00.5"], "M8[ms]"), ("string", ["2005-03-01T12:30:00.500000"])),
        (np.array([1, 2], "m8[h]"), ("float64", [3600.0, 7200.0])),
        (np.array(["x", "yy"]), ("string", ["x", "yy"])),
        (np.array([[1, 2], [3, 4]]), ("string", ["[1, 2]", "[3, 4]"])),
        (pandas.Series([1, None], dtype="Int64"), ("float64", [1.0, NAN])),
        (pandas.Series(["u", "v", "u"], dtype="category"), ("string", ["u", "v", "u"])),
        (pandas.Series(pandas.to_datetime(["2005-03-01", None])), ("string", ["2005-03-01T00:00:00", ""])),
    ],
    ids=repr,
)
def test_arrays_beside_a_source(tmp_path, values, expected):
    same(stored(tmp_path / "c.zarr", ["some words"] * len(values), columns={"x": values})["x"], expected)


def test_integers_with_a_missing_cell_keep_their_digits(tmp_path):
    numbers = pandas.array([7, None, 2**53 + 1], "Int64")
    frame = pandas.DataFrame({"id": numbers, "text": ["some words"] * 3, "x": numbers})
    corpus = ingest(frame, tmp_path / "c.zarr", shuffle=False, n_threads=1)
    assert corpus.document_ids().tolist() == ["7", "", "9007199254740993"]
    assert in_order(corpus)["x"] == ("string", ["7", "", "9007199254740993"])


def test_ids_that_are_floats_because_one_is_missing(tmp_path):
    frame = pandas.DataFrame({"id": [7, None, 8.5], "text": ["some words"] * 3})
    corpus = ingest(frame, tmp_path / "c.zarr", shuffle=False, n_threads=1)
    assert corpus.document_ids().tolist() == ["7", "", "8.5"]


def test_texts_of_dates_sort_as_the_dates_do(tmp_path):
    steps = [0, 1, 999_999, 1_000_000, 86_400_000_000]
    dates = [NOON.replace(tzinfo=UTC) + datetime.timedelta(microseconds=step) for step in steps]
    dtype, texts = stored(tmp_path / "c.zarr", records(dates))["x"]
    assert dtype == "string" and texts == sorted(texts)
    assert [datetime.datetime.fromisoformat(text) for text in texts] == dates


@pytest.mark.parametrize(
    "value", [object(), 1j, b"\xff", {("a",): 1}, [object()], json], ids=lambda value: type(value).__name__
)
def test_a_value_without_a_text_is_an_error_that_names_it(tmp_path, value):
    with pytest.raises(InputError, match=r"document 1 .*column 'x'.*columns="):
        ingest(records(["fine", value]), tmp_path / "c.zarr", n_threads=1)
    assert not (tmp_path / "c.zarr").exists()
    assert len(ingest(records([value]), tmp_path / "c.zarr", columns=[], n_threads=1)) == 1


def test_columns_of_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "tags": pyarrow.array([["x", "q"], None, []]),
        "sides": pyarrow.array([["a"], ["b", "c"], ["d"]]),
        "point": pyarrow.array([{"a": 1, "b": [2]}, None, {"a": 2, "b": []}]),
        "day": pyarrow.array([DAY, None, DAY], pyarrow.date32()),
        "at": pyarrow.array([NOON, None, NOON], pyarrow.timestamp("ns", "UTC")),
        "took": pyarrow.array([1500, None, 0], pyarrow.duration("ms")),
        "price": pyarrow.array([Decimal("1.50"), None, Decimal("2.25")]),
        "year": pyarrow.array([2005, None, 2007]),
        "kind": pyarrow.array(["u", "v", "u"]).dictionary_encode(),
        "raw": pyarrow.array([b"r", b"s", b"t"]),
        "text": pyarrow.array(["some words"] * 3),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    found = stored(tmp_path / "c.zarr", tmp_path / "t.parquet", author_column="sides")
    assert found.pop("tags") == ("string", ['["x", "q"]', "", "[]"])
    assert found.pop("point") == ("string", ['{"a": 1, "b": [2]}', "", '{"a": 2, "b": []}'])
    assert found.pop("day") == ("string", ["2005-03-01", "", "2005-03-01"])
    assert found.pop("at")[1][1:] == ["", "2005-03-01T12:00:00+00:00"]
    same(found.pop("took"), ("float64", [1.5, NAN, 0.0]))
    same(found.pop("price"), ("float64", [1.5, NAN, 2.25]))
    same(found.pop("year"), ("float64", [2005.0, NAN, 2007.0]))
    assert found == {"kind": ("string", ["u", "v", "u"]), "raw": ("string", ["r", "s", "t"])}
    assert sorted(open_corpus(tmp_path / "c.zarr").authors) == ["a", "b", "c", "d"]
    tokens = ingest(tmp_path / "t.parquet", tmp_path / "t.zarr", text_column="sides", n_threads=1)
    assert sorted(tokens.vocabulary[:]) == ["a", "b", "c", "d"]


def test_a_date_that_python_does_not_know_is_an_error_that_names_it(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    far = pyarrow.array([0, 10**12], pyarrow.timestamp("s"))
    parquet.write_table(pyarrow.table({"text": ["one two"] * 2, "far": far}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t.parquet, rows from 0: column 'far'.*columns="):
        ingest(tmp_path / "t.parquet", tmp_path / "c.zarr", n_threads=1)
    assert len(ingest(tmp_path / "t.parquet", tmp_path / "c.zarr", columns=[], n_threads=1)) == 2


def test_appended_columns_keep_their_texts(tmp_path):
    def table(*cells):
        (tmp_path / "t.csv").write_text("text,x,y\n" + "".join(f"some words,{x},{y}\n" for x, y in cells))
        return tmp_path / "t.csv"

    corpus = ingest(table(("a", 1), ("007", 2)), tmp_path / "c.zarr", n_threads=1)
    corpus = append(corpus, table(("008", ""), ("9", "0.5")), n_threads=1)
    expected = {"x": ("string", ["a", "007", "008", "9"]), "y": ("float64", [1.0, 2.0, NAN, 0.5])}
    for found in (in_order(corpus), in_order(compact(corpus, n_threads=1))):
        assert found["x"] == expected["x"]
        same(found["y"], expected["y"])
    corpus = append(corpus.url, ["no table"], n_threads=1)
    assert in_order(corpus)["x"][1][-1] == "" and np.isnan(in_order(corpus)["y"][1][-1])
    corpus = append(corpus, table(("b", "c")), n_threads=1)
    assert in_order(corpus)["y"] == ("string", ["1.0", "2.0", "", "0.5", "", "c"])


@pytest.mark.parametrize("first", [True, False])
def test_large_integers_keep_their_digits_beside_documents_that_lack_them(tmp_path, first):
    """Appended in either order; columns that are all missing were float64 until then."""
    present, lacking = (
        {"text": "some words", "x": 2**60 + 1, "y": 7},
        {"text": "more words", "x": None, "y": None},
    )
    one, other = (present, lacking) if first else (lacking, present)
    corpus = append(ingest([one], tmp_path / "c.zarr", n_threads=1), [other], n_threads=1)
    for found in (in_order(corpus), in_order(compact(corpus, n_threads=1))):
        x, y = [str(2**60 + 1), ""], [7.0, NAN]
        assert found["x"] == ("string", x if first else x[::-1])
        same(found["y"], ("float64", y if first else y[::-1]))


HOSTILE = [
    "zarr.json", "a/b", "a_b", "..", ".", "", " ", "a ", "~", "~7E", "a\nb", "\x1b[31m", "\0", "C:\\x", "*?[x]", "a::b",
    "source_row", "n_tokens", "document_id", "_index", "c", "größe", "price (€)", "x" * 200, "../../../up",
]  # fmt: skip


def test_any_name_of_a_column_is_kept(tmp_path):
    corpus = ingest(
        ["one two", "three"],
        tmp_path / "in" / "c.zarr",
        ids=["u", "v"],
        columns={name: [i, -1] for i, name in enumerate(HOSTILE)},
        n_threads=1,
    )
    assert corpus.verify().n_arrays == 6 + len(HOSTILE) and list(corpus.columns) == HOSTILE
    assert {name: values[1] for name, values in in_order(corpus).items()} == {
        name: [i, -1] for i, name in enumerate(HOSTILE)
    }
    assert sorted(corpus.rows().tolist()) == [0, 1] and sorted(corpus.document_ids()) == ["u", "v"]
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    before = in_order(corpus)
    assert in_order(compact(corpus, n_threads=1)) == before
    names = [array_name(name) for name in HOSTILE]
    assert len(set(names)) == len(names) and array_name("price 2.5, net_a-b") == "price 2.5, net_a-b"


@pytest.mark.filterwarnings("ignore:.*string.*")
def test_anndata_reads_the_table_of_a_part(tmp_path):
    anndata = pytest.importorskip("anndata")
    import zarr

    columns = {"year": [2005, 2006], "a/b": ["x", "y"], "n_tokens": [0.5, 1.5]}
    ingest(["one two", "three"], tmp_path / "c.zarr", columns=columns, shuffle=False, n_threads=1)
    part = zarr.open_group(tmp_path / "c.zarr" / "parts" / "00000000", mode="r")
    frame = anndata.io.read_elem(part["obs"])
    assert frame["year"].tolist() == [2005, 2006] and frame["a~2Fb"].tolist() == ["x", "y"]
    assert frame["n_tokens"].tolist() == [2, 1] and frame["~6E_tokens"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize("name", ["x" * 201, "é" * 101, "/" * 70, "\ud800"], ids=ascii)
def test_a_name_that_no_path_can_hold_is_an_error(tmp_path, name):
    with pytest.raises(InputError, match=r"has a name that cannot be stored.*columns="):
        ingest(["one two"], tmp_path / "c.zarr", columns={name: [1]}, n_threads=1)
    assert not (tmp_path / "c.zarr").exists()


def test_columns_beside_texts_may_be_a_table(tmp_path):
    table = pandas.DataFrame({"year": [2001, 2002], "label": ["a", "b"]}, index=[7, 3])
    found = stored(tmp_path / "c.zarr", ["some words", "more words"], columns=table)
    assert found == {"year": ("int64", [2001, 2002]), "label": ("string", ["a", "b"])}


def test_columns_that_are_to_be_kept_and_are_not_there(tmp_path):
    with pytest.raises(InputError, match="no columns, so 'year' cannot be kept"):
        ingest(["some words"], tmp_path / "c.zarr", columns=["year"])


MISSING = [None, float("nan"), np.float32("nan"), np.datetime64("NaT"), pandas.NA, pandas.NaT]


@pytest.mark.parametrize("missing", MISSING, ids=lambda value: type(value).__name__)
def test_a_missing_id_is_empty_whatever_holds_it(missing):
    texts, ids = ["cat dog", "dog ran"], ["x", missing]
    records = [{"text": text, "id": name} for text, name in zip(texts, ids, strict=True)]
    index = pandas.DataFrame({"text": texts}, index=pandas.Index(ids, dtype=object))
    for source, beside in (
        (records, None),
        (texts, ids),
        (pandas.DataFrame(records), None),
        (index, None),
    ):
        corpus = ingest(source, "memory://ids.zarr", ids=beside, overwrite=True, n_threads=1)
        assert corpus.document_ids().tolist() == ["x", ""]
    numbers = pandas.DataFrame({"text": texts, "id": [1.5, np.nan]})
    assert ingest(numbers, "memory://ids.zarr", overwrite=True).document_ids().tolist() == ["1.5", ""]

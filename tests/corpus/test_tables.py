"""Columns of tables: which are read as what, and tables that are refused."""

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.corpus.readers import open_source
from bigtopic.errors import InputError

pandas = pytest.importorskip("pandas")


def test_a_text_beside_columns_like_those_of_triples_is_read():
    table = pandas.DataFrame({"id": ["a", "b"], "text": ["cat dog", "dog"], "term": ["x", "y"], "n": [1, 2]})
    assert open_source(table).layout.body_name == "text"
    assert open_source(table.rename(columns={"text": "year"})).layout.body_name is None


def test_the_only_column_of_texts_may_be_of_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    words = pandas.Series(["cat dog", "dog ran"], dtype=pandas.ArrowDtype(pyarrow.string()))
    assert open_source(pandas.DataFrame({"said": words, "year": [1, 2]})).layout.body_name == "said"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pandas.DataFrame([["cat", 1, 2]], columns=["text", "year", "year"]), "several columns 'year'"),
        (pandas.DataFrame(), "no documents"),
        (
            pandas.DataFrame([[1, 2, 3]], columns=["cat", "dog", "cat"]),
            "columns of the table: word 'cat' at position 3 is a duplicate",
        ),
    ],
)
def test_tables_that_cannot_be_read_are_refused(table, message):
    with pytest.raises(InputError, match=message):
        bt.ingest(table, "memory://refused.zarr", client=False, progress=False)


def test_columns_of_one_name_are_refused_in_every_table_of_counts():
    pyarrow, dask = pytest.importorskip("pyarrow"), pytest.importorskip("dask.dataframe")
    counts = pandas.DataFrame([[1, 2], [3, 4]], columns=["cat", "cat"])
    numbers = [pyarrow.array(column) for column in ([1, 3], [2, 4])]
    for table in (
        counts,
        counts.set_axis([1, "1"], axis="columns"),
        counts.astype(pandas.SparseDtype(int, 0)),
        dask.from_pandas(counts, npartitions=1),
        pyarrow.Table.from_arrays(numbers, ["cat", "cat"]),
    ):
        with pytest.raises(InputError, match=r"word '(cat|1)' at position 2 is a duplicate"):
            open_source(table)
        assert open_source(table, vocabulary=["cat", "dog"]).vocabulary == ["cat", "dog"]


def test_topics_of_triples_are_named_by_their_documents():
    triples = pandas.DataFrame(
        {"doc": list("aabb"), "word": ["cat", "dog", "dog", "ran"], "count": [1, 2, 1, 3]}
    )
    model = bt.LDA(2, method="online-cvb0", max_iter=1, client=False, n_threads=1, progress=False).fit(
        triples
    )
    found = model.set_output(transform="pandas").transform(triples)
    assert found.index.tolist() == ["a", "b"] and np.allclose(found.sum(axis=1), 1)

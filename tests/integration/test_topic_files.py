"""Topics of documents in files of every format: the same ids, columns and numbers, whole or not at all."""

import csv
import io
import json

import numpy as np
import pytest

from bigtopic.errors import BigtopicError, CorpusExists, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.topic_stores import contents
from bigtopic.ingestion.ingest import ingest

IDS = ["d0", "=1+1", 'a "b", c', "-5", "@x", "tab\there", "line\nend", "é"]
COLUMNS = {
    "year": list(range(1990, 1998)),
    "topic_0": ["x", "=cmd", "", "y", "z", "x", "-", "+1"],
    "weight": [0.5, None, *[1.5] * 6],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts = ["water bank bridge flow", "violin chord concert melody"] * 4
    path = tmp_path_factory.mktemp("corpus") / "c.zarr"
    return ingest(texts, path, ids=IDS, columns=COLUMNS, n_threads=1)


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(3, method="online-cvb0", max_iter=3, client=False, n_threads=1).fit(corpus)


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch):
    monkeypatch.setattr(contents, "BUCKET_DOCUMENTS", 3)


def shares(model, corpus):
    return model.transform(corpus, sparse=True).toarray()


@pytest.mark.parametrize("ending, delimiter", [("csv", ","), ("tsv", "\t")])
def test_tables_have_a_row_per_document_and_no_formulas(ending, delimiter, model, corpus, tmp_path):
    path = tmp_path / f"theta.{ending}"
    assert model.transform_to(corpus, path) == str(path)
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter=delimiter)
    assert header == ["document_id", "year", "column_topic_0", "weight", "topic_0", "topic_1", "topic_2"]
    assert [row[0] for row in rows] == ["d0", "'=1+1", 'a "b", c', "-5", "'@x", "tab\there", "line\nend", "é"]
    assert [row[2] for row in rows] == ["x", "'=cmd", "", "y", "z", "x", "'-", "+1"]
    assert [row[1:4:2] for row in rows][:2] == [["1990", "0.5"], ["1991", ""]]
    np.testing.assert_allclose(np.array([row[4:] for row in rows], float), shares(model, corpus), rtol=1e-5)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_json_lines_have_the_text_as_it_is(model, corpus, tmp_path):
    model.transform_to(corpus, tmp_path / "theta.jsonl", top_k=1)
    documents = [json.loads(line) for line in (tmp_path / "theta.jsonl").read_text().splitlines()]
    assert [document["document_id"] for document in documents] == IDS
    assert documents[1]["weight"] is None and documents[1]["column_topic_0"] == "=cmd"
    best = shares(model, corpus).argmax(axis=1)
    assert [[*document["topics"]] for document in documents] == [[str(topic)] for topic in best]


def test_json_lines_keep_columns_whose_names_clash(model, tmp_path):
    columns = {"topics": ["T"], "column_topics": ["CT"]}
    documents = ingest(["water violin"], tmp_path / "c.zarr", columns=columns, n_threads=1)
    model.transform_to(documents, tmp_path / "theta.jsonl")
    (line,) = (tmp_path / "theta.jsonl").read_text().splitlines()
    kept = {name: value for name, value in json.loads(line).items() if isinstance(value, str)}
    assert {*kept.values()} >= {"T", "CT"} and "column_topics" in kept


def test_parquet_has_types(model, corpus, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(model.transform_to(corpus, tmp_path / "theta.parquet"))
    assert frame["document_id"].tolist() == IDS and frame["year"].dtype == np.int64
    topics = frame[[f"topic_{k}" for k in range(3)]].to_numpy()
    assert topics.dtype == np.float32
    np.testing.assert_array_equal(topics, shares(model, corpus))


def test_h5ad_is_what_the_store_is(model, corpus, tmp_path):
    anndata = pytest.importorskip("anndata")
    found = anndata.read_h5ad(model.transform_to(corpus, tmp_path / "theta.h5ad"))
    store = anndata.read_zarr(model.transform_to(corpus, tmp_path / "theta.zarr"))
    assert (found.X != store.X).nnz == 0 and found.var_names.tolist() == ["0", "1", "2"]
    assert found.obs_names.tolist() == IDS and found.obs.equals(store.obs)


def test_an_open_file_and_a_url_take_the_same_bytes(model, corpus, tmp_path):
    stream = io.BytesIO()
    model.transform_to(corpus, stream, format="csv")
    model.transform_to(corpus, tmp_path / "theta.csv")
    model.transform_to(corpus, "memory://topics/theta.csv")
    with pytest.raises(CorpusExists, match="overwrite=True"):
        model.transform_to(corpus, "memory://topics/theta.csv")
    import fsspec

    assert stream.getvalue() == (tmp_path / "theta.csv").read_bytes()
    assert stream.getvalue() == fsspec.filesystem("memory").cat("topics/theta.csv")


def test_a_file_is_replaced_when_asked_and_kept_when_the_work_fails(model, corpus, tmp_path, monkeypatch):
    path = tmp_path / "theta.csv"
    path.write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(CorpusExists, match="exists"):
        model.transform_to(corpus, path)
    with pytest.raises(CorpusExists, match="not a file"):
        model.transform_to(corpus, tmp_path / "folder.csv", overwrite=True)

    def failing(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(BigtopicError, match=r"theta\.csv cannot be written"):
        patch.setattr("bigtopic.estimators.topic_stores.formats._rows", failing)
        model.transform_to(corpus, path, overwrite=True)
    assert path.read_text() == "mine"
    model.transform_to(corpus, path, overwrite=True)
    assert path.read_text().startswith("document_id,")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["folder.csv", "theta.csv"]


def test_formats_are_checked_before_the_work(model, corpus, tmp_path):
    with pytest.raises(SettingError, match=r"format='cvs': .*did you mean 'csv'"):
        model.transform_to(corpus, tmp_path / "theta", format="cvs")
    with pytest.raises(SettingError, match="must be written to a path"):
        model.transform_to(corpus, io.BytesIO(), format="parquet")

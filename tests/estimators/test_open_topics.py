"""A store of topics opens as a table: the one that a file of the same topics holds."""

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import InputError, MissingExtra, SettingError
from bigtopic.estimators.topic_stores import stored_topics

HERE = {"client": False, "n_threads": 1, "progress": False}
RECORDS = [
    {
        "id": f"d{i}",
        "text": ["river bank boat", "choir opera song"][i % 2] * 3,
        "topic_1": f"mine {i}",
        "year": 1990 + i,
    }
    for i in range(50)
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return bt.ingest(RECORDS, tmp_path_factory.mktemp("opened") / "c.zarr", max_df=1.0, **HERE)


@pytest.fixture(scope="module")
def model(corpus):
    return bt.LDA(3, method="online-cvb0", max_iter=3, **HERE).fit(corpus)


@pytest.fixture(params=["source", "stored"])
def order(request):
    return request.param


@pytest.fixture(params=[1 << 18, 7], ids=["whole", "in pieces"])
def batches(request, monkeypatch):
    monkeypatch.setattr(stored_topics, "DOCUMENTS", request.param)


def test_as_arrow_it_is_what_parquet_holds(model, corpus, order, batches, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    settings = {"order": order, "top_k": 2}
    store = bt.open_topics(model.transform_to(corpus, tmp_path / "theta.zarr", **settings))
    written = parquet.read_table(model.transform_to(corpus, tmp_path / "theta.parquet", **settings))
    assert store.to_arrow().equals(written)
    assert written.column_names == ["document_id", "column_topic_1", "year", "topic_0", "topic_1", "topic_2"]


def test_as_pandas_it_is_what_parquet_holds(model, corpus, order, batches, tmp_path):
    pandas = pytest.importorskip("pandas")
    store = bt.open_topics(model.transform_to(corpus, tmp_path / "theta.zarr", order=order))
    written = pandas.read_parquet(model.transform_to(corpus, tmp_path / "theta.parquet", order=order))
    pandas.testing.assert_frame_equal(store.to_pandas(), written)
    assert len(store) == 50 and store.columns == ["topic_1", "year"] and store.n_components == 3


def test_what_was_left_out_is_zero(model, corpus, tmp_path):
    store = bt.open_topics(model.transform_to(corpus, tmp_path / "theta.zarr", top_k=1))
    shares = store.to_pandas().filter(regex="^topic_").to_numpy()
    assert (np.count_nonzero(shares, axis=1) == 1).all()
    np.testing.assert_array_equal(shares.max(axis=1), model.transform(corpus).max(axis=1))


def test_without_documents_there_are_columns(model, corpus, tmp_path):
    store = bt.open_topics(model.transform_to(corpus[:0], tmp_path / "theta.zarr"))
    assert (
        list(store.to_pandas().columns)
        == store.to_arrow().column_names
        == ["document_id", "topic_0", "topic_1", "topic_2"]
    )
    assert len(store.to_pandas()) == store.to_arrow().num_rows == 0


def test_an_open_store_is_one_to_ask(model, corpus, tmp_path):
    path = model.transform_to(corpus, tmp_path / "theta.zarr")
    store = bt.open_topics(path)
    assert model.topics_over("year", theta=store).equals(model.topics_over("year", theta=path))
    assert model.similar_documents("d3", store) == model.similar_documents("d3", path)


def test_behind_a_url(model, corpus):
    url = model.transform_to(corpus, "memory://open-topics.zarr", overwrite=True)
    assert bt.open_topics(url).to_pandas()["document_id"].tolist() == [record["id"] for record in RECORDS]


@pytest.mark.parametrize("what", ["no store", "corpus", 5])
def test_what_is_not_one_is_refused(what, corpus, tmp_path):
    target = {"no store": tmp_path, "corpus": corpus.url}.get(what, what)
    with pytest.raises(SettingError, match=r"theta: .*transform_to"):
        bt.open_topics(target)


def test_damage_is_named(model, corpus, tmp_path):
    import zarr

    path = model.transform_to(corpus, tmp_path / "theta.zarr")
    zarr.open_group(path)["X/data"][3] = -1
    for read in (bt.open_topics(path).to_pandas, bt.open_topics(path).to_arrow):
        with pytest.raises(InputError, match="X/data holds shares that are not probabilities"):
            read()


def test_what_is_missing_is_named(model, corpus, tmp_path, monkeypatch):
    store = bt.open_topics(model.transform_to(corpus, tmp_path / "theta.zarr"))
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    for read, extra in ((store.to_pandas, "pandas"), (store.to_arrow, "parquet")):
        with pytest.raises(MissingExtra, match=rf"bigtopic\[{extra}\]"):
            read()

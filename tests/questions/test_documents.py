"""Questions about documents: the same as by brute force over all of them, from a store or inferred."""

import re
import shutil

import numpy as np
import pytest
import zarr

import bigtopic as bt
from bigtopic.errors import BigtopicWarning, InputError, SettingError, argument
from bigtopic.estimators.topic_stores import stored_topics as stored
from bigtopic.questions import groups
from bigtopic.questions.dates import Dates
from bigtopic.questions.table import Table

pytestmark = pytest.mark.battery


def columns_of(found):
    return Table.of(found).columns


@pytest.fixture(params=[False, True])
def small(request, monkeypatch):
    """Batches of a few documents, or all in one."""
    if request.param:
        monkeypatch.setattr(stored, "DOCUMENTS", 37)
        monkeypatch.setattr(stored, "ENTRIES", 53)


def test_documents_about_a_topic(model, asked, theta, dense, records, small):
    found = columns_of(model.documents(2, asked, n=7, theta=theta, columns=["year"]))
    best = np.sort(dense[:, 2])[::-1][:7]
    np.testing.assert_allclose(found["share"], best)
    for i, row in enumerate(found["row"]):
        assert (found["document"][i], found["text"][i], found["year"][i]) == tuple(
            records[row][name] for name in ("id", "text", "year")
        )
        assert found["share"][i] == pytest.approx(dense[row, 2])
    alone = columns_of(model.documents(2, n=7, theta=theta, columns=["year"]))
    assert list(alone) == ["document", "row", "share", "year"]
    assert alone == {name: found[name] for name in alone}


def test_documents_without_a_store_are_inferred(model, asked):
    found = columns_of(model.documents(1, asked, n=5))
    shares = model.transform(asked)
    np.testing.assert_allclose(found["share"], np.sort(shares[:, 1])[::-1][:5], rtol=1e-6)
    np.testing.assert_allclose(shares[found["row"], 1], found["share"], rtol=1e-6)
    assert found["text"] == [asked[row].text for row in found["row"]]


@pytest.mark.parametrize(
    "where",
    [
        {"year": [1997, 2000]},
        {"date": slice("1998-02", "2001-11-30"), "kind": "long"},
        {"rows": np.arange(0, 300, 3)},
        {"score": lambda score: score > np.nanmedian(score)},
        {"year": 1900},
    ],
)
def test_where_is_what_select_takes(model, asked, theta, where, small):
    chosen = asked.select(**where).rows().tolist()
    found = columns_of(model.documents(0, n=1000, theta=theta, where=where))
    everything = columns_of(model.documents(0, n=1000, theta=theta))
    expected = [row for row in everything["row"] if row in set(chosen)]
    assert found["row"] == expected
    inferred = columns_of(model.documents(0, asked, n=1000, where=where))
    assert set(found["row"]) <= set(inferred["row"]) <= set(chosen)


@pytest.mark.parametrize(
    ("column", "settings", "key"),
    [
        ("year", {}, lambda r: r["year"]),
        ("kind", {}, lambda r: r["kind"]),
        ("year", {"freq": "decade"}, lambda r: r["year"] // 10 * 10),
        ("date", {"freq": "year"}, lambda r: r["date"] and r["date"][:4]),
        ("date", {"freq": "month"}, lambda r: r["date"] and r["date"][:7]),
        (
            "date",
            {"freq": "quarter"},
            lambda r: r["date"] and f"{r['date'][:4]}-Q{(int(r['date'][5:7]) - 1) // 3 + 1}",
        ),
        (
            "score",
            {"bins": [0, 10, 20, 50]},
            lambda r: (
                None
                if r["score"] is None
                else next(
                    (p for p in ((0.0, 10.0), (10.0, 20.0), (20.0, 50.0)) if p[0] <= r["score"] < p[1]), None
                )
            ),
        ),
    ],
)
def test_topics_over_groups(model, asked, theta, dense, records, column, settings, key, small):
    found = columns_of(model.topics_over(column, theta=theta, **settings))
    keys = [key(record) for record in records]
    groups = sorted({k for k in keys if k is not None})
    assert found[column][::4] == groups and found["topic"][:4] == [0, 1, 2, 3]
    for g, name in enumerate(groups):
        own = dense[[k == name for k in keys]]
        rows = slice(4 * g, 4 * g + 4)
        assert found["n_documents"][rows] == [len(own)] * 4
        np.testing.assert_allclose(found["share"][rows], own.mean(axis=0))
        np.testing.assert_allclose(
            found["standard_error"][rows], own.std(axis=0, ddof=1) / np.sqrt(len(own)), atol=1e-9
        )


def test_bins_of_equal_width_cover_all_numbers(model, asked, theta, records):
    found = columns_of(model.topics_over("score", theta=theta, bins=3, topics=[1]))
    scores = [record["score"] for record in records if record["score"] is not None]
    assert sum(found["n_documents"]) == len(scores) and len(found["score"]) == 3
    assert found["score"][0][0] == min(scores) and found["score"][-1][1] == max(scores)
    years = columns_of(model.topics_over("year", theta=theta, bins=2, topics=[1]))
    assert years["year"] == [(1996.0, 1999.0), (1999.0, 2002.0)] and sum(years["n_documents"]) == len(records)


def test_bins_are_those_of_the_documents_asked_for(model, asked, theta):
    where = {"year": slice(None, 1999)}
    stored_bins = columns_of(model.topics_over("year", theta=theta, bins=2, topics=0, where=where))
    inferred = columns_of(model.topics_over("year", asked, bins=2, topics=0, where=where))
    assert stored_bins["year"] == inferred["year"] == [(1996.0, 1997.5), (1997.5, 1999.0)]


def test_years_of_which_one_is_missing(tmp_path):
    records = [{"text": "river bank boat", "year": year} for year in (1998, 2001, None)]
    corpus = bt.ingest(records, tmp_path / "c.zarr", client=False, n_threads=1, progress=False)
    model = bt.LDA(2, method="online-cvb0", max_iter=1, client=False, progress=False).fit(corpus)
    assert columns_of(model.topics_over("year", corpus, freq="decade", topics=0))["year"] == [1990, 2000]


def test_a_month_that_does_not_exist_is_no_date():
    with pytest.raises(SettingError, match="not a date"):
        Dates("date", argument("freq"), None).period("2005-13", "quarter")


def test_topics_of_authors(model, asked, theta, dense, records):
    found = columns_of(model.topics_over("authors", asked, theta=theta, topics=3))
    assert found["authors"] == ["ann", "bob", "cy"]
    for name, share in zip(found["authors"], found["share"], strict=True):
        own = dense[[name in record["authors"] for record in records]]
        assert share == pytest.approx(own[:, 3].mean())
    inferred = columns_of(model.topics_over("authors", asked, topics=3))
    np.testing.assert_allclose(inferred["share"], found["share"], atol=0.05)
    with pytest.raises(SettingError, match="give a corpus"):
        model.topics_over("authors", theta=theta)


def test_authors_of_other_documents_are_refused(model, records, theta, tmp_path):
    renamed = [{**record, "id": f"other-{i}"} for i, record in enumerate(records)]
    other = bt.ingest(renamed, tmp_path / "c.zarr", max_df=1.0, client=False, n_threads=1, progress=False)
    with pytest.raises(SettingError, match="other documents"):
        model.topics_over("authors", other, theta=theta)


def test_a_standard_error_covers_the_truth(model, asked, theta, dense):
    """Of groups that are random samples, about 95 % of the means are within two errors of the mean of all."""
    found = columns_of(model.topics_over("year", theta=theta))
    off = (np.array(found["share"]).reshape(-1, 4) - dense.mean(axis=0)) / np.array(
        found["standard_error"]
    ).reshape(-1, 4)
    assert (np.abs(off) < 2).mean() > 0.8


def test_topics_that_do_not_vary_have_no_correlation(model, asked):
    """Not even where rounding leaves them a variance."""
    equal = asked.to_scipy()[[0] * 1000]
    assert np.isnan(np.asarray(model.topic_correlation(equal))).all()


def test_correlation(model, theta, dense, small):
    found = np.asarray(model.topic_correlation(theta=theta))
    np.testing.assert_allclose(found, np.corrcoef(dense.T), atol=1e-10)


def test_a_document_with_its_topics(model, asked, theta, dense, records):
    found = model.document("doc-7", asked, theta=theta)
    assert found.document.text == records[7]["text"]
    topics, words = columns_of(found.topics), columns_of(found.words)
    np.testing.assert_allclose(topics["share"], sorted(dense[7][dense[7] > 0], reverse=True))
    assert dict(zip(words["word"], words["count"], strict=True)) == asked["doc-7"].counts
    source = model.topic_source()
    for word, topic, probability in zip(words["word"], words["topic"], words["probability"], strict=True):
        joint = dense[7] * source.gather(model.vocabulary_.index_of([word]))[0, :4]
        assert topic == joint.argmax() and probability == pytest.approx(joint.max() / joint.sum(), rel=1e-5)
    inferred = columns_of(model.document("doc-7", asked).topics)
    assert dict(zip(inferred["topic"], inferred["share"], strict=True)) == pytest.approx(
        dict(enumerate(model.transform(asked)[7])), abs=1e-6
    )
    assert model.document("doc-7", theta=theta).words is None
    assert "w" in repr(found) and "<table" in found._repr_html_()


def test_topics_with_figures_of_documents(model, asked, theta, dense):
    found = columns_of(model.topic_info(asked, theta=theta))
    np.testing.assert_allclose(found["share"], dense.mean(axis=0))
    assert found["n_documents"] == np.bincount(dense.argmax(axis=1), minlength=4).tolist()
    scores = bt.evaluate.coherence(model, asked).per_topic
    np.testing.assert_allclose(found["npmi"], scores)
    alone = columns_of(model.topic_info(asked, n_top=1))
    assert "npmi" not in alone and [len(words) for words in alone["words"]] == [1] * 4


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (lambda m, c, t: m.documents(4, theta=t), r"0 \.\. 3"),
        (lambda m, c, t: m.documents(True, theta=t), r"0 \.\. 3"),
        (lambda m, c, t: m.documents(0), "give X"),
        (lambda m, c, t: m.documents(0, theta=t, n=0), "n=0"),
        (lambda m, c, t: m.documents(0, theta=t, columns="year"), "give a list"),
        (
            lambda m, c, t: m.documents(0, theta=t, columns=["year", "share"]),
            "'share' is a column of the answer",
        ),
        (lambda m, c, t: m.documents(0, c, columns=["text"]), "'text' is a column of the answer"),
        (lambda m, c, t: m.documents(0, theta=t, where={"yaer": 1}), "no column 'yaer'"),
        (lambda m, c, t: m.documents(0, theta=t, where=["year"]), "give a mapping"),
        (lambda m, c, t: m.documents(0, theta=t, where={"year": "2002"}), "whole numbers"),
        (lambda m, c, t: m.documents(0, c.select(year=1999), theta=t), "other documents"),
        (lambda m, c, t: m.topics_over("text", theta=t), "no column 'text'"),
        (lambda m, c, t: m.topics_over("kind", theta=t, freq="year"), "not a date"),
        (lambda m, c, t: m.topics_over("year", theta=t, freq="month"), "a year without a month"),
        (lambda m, c, t: m.topics_over("year", theta=t, freq="hour"), "freq='hour'"),
        (lambda m, c, t: m.topics_over("kind", theta=t, bins=3), "which is not a date"),
        (lambda m, c, t: m.topics_over("year", theta=t, bins=[3]), "bins"),
        (lambda m, c, t: m.topics_over("year", theta=t, bins=["a", "b"]), "bins=.*edges"),
        (lambda m, c, t: m.topics_over("yaer", theta=t, bins=2), "no column 'yaer'.*did you mean 'year'"),
        (lambda m, c, t: m.topics_over("author", theta=t), "no column 'author'.*did you mean 'authors'"),
        (lambda m, c, t: m.document("doc-300", c), "nearest is 'doc-30'"),
        (lambda m, c, t: m.document("doc-300", theta=t), "no document 'doc-300'"),
        (lambda m, c, t: m.document("doc-3"), "give X"),
    ],
)
def test_mistakes_are_named(model, asked, theta, question, message):
    with pytest.raises(SettingError, match=message):
        question(model, asked, theta)


@pytest.mark.parametrize(
    "damage",
    [
        lambda obs: obs.attrs.pop("column-order"),
        lambda obs: obs.attrs.update({"column-order": ["source_row", "gone"]}),
        lambda obs: obs["year"].resize((7,)),
        lambda obs: obs["source_row"].resize((7,)),
    ],
)
def test_a_damaged_store_is_named(model, asked, tmp_path, damage):
    path = model.transform_to(asked[:20], tmp_path / "theta.zarr")
    damage(zarr.open_group(path, mode="r+")["obs"])
    with pytest.raises(InputError, match="obs"):
        model.topics_over("year", theta=path)


ARRAYS = ["X/indptr", "X/indices", "X/data", "obs/document_id", "obs/year", "obs/source_row"]


@pytest.mark.parametrize("array", ARRAYS)
def test_a_missing_chunk_is_named(model, asked, tmp_path, array):
    path = model.transform_to(asked[:20], tmp_path / "theta.zarr")
    (chunk,) = (tmp_path / f"theta.zarr/{array}/c").iterdir()
    chunk.unlink()
    with pytest.raises(InputError, match=f"{array}/c/0 is missing"):
        model.topics_over("year", theta=path)
        model.similar_documents("doc-0", path)
        stored.StoredTopics(path).documents.rows()


def test_chunks_of_zeros_and_empty_strings_are_stored(tmp_path):
    """So that a chunk that is missing is an error."""
    records = [{"id": "", "text": "river bank boat", "year": 0} for _ in range(6)]
    corpus = bt.ingest(records, tmp_path / "c.zarr", client=False, n_threads=1)
    model = bt.LDA(1, method="online-cvb0", max_iter=1, client=False, progress=False).fit(corpus)
    path = model.transform_to(corpus, tmp_path / "theta.zarr")
    assert columns_of(model.topics_over("year", theta=path))["n_documents"] == [6]
    assert all((tmp_path / f"theta.zarr/{name}/c/0").exists() for name in ARRAYS)


def test_a_store_of_the_first_version_may_lack_chunks_of_zeros(model, asked, tmp_path):
    path = model.transform_to(asked[:20], tmp_path / "theta.zarr")
    group = zarr.open_group(path, mode="r+")
    group.attrs["bigtopic-topics"] = 1
    group["obs/year"][:] = 0
    (tmp_path / "theta.zarr/obs/year/c/0").unlink(missing_ok=True)
    assert columns_of(model.topics_over("year", theta=path, topics=1))["year"] == [0]


def test_columns_of_any_name(tmp_path):
    names = ["source_row", "a/b", "~", "", "topic", "share"]
    records = [{"text": "river bank boat", **dict.fromkeys(names, i % 2)} for i in range(6)]
    corpus = bt.ingest(records, tmp_path / "c.zarr", client=False, n_threads=1)
    model = bt.LDA(2, method="online-cvb0", max_iter=1, client=False, progress=False).fit(corpus)
    path = model.transform_to(corpus, tmp_path / "theta.zarr")
    for name in names:
        found = columns_of(model.topics_over(name, theta=path, topics=1))
        assert next(iter(found)) == (name if name not in ("topic", "share") else "group")
        assert found["n_documents"] == [3, 3] and next(iter(found.values())) == [0, 1]


def test_too_many_groups_are_refused(model, theta, monkeypatch):
    monkeypatch.setattr(groups, "MOST_CELLS", 20)
    with pytest.raises(SettingError, match="too many"):
        model.topics_over("score", theta=theta)


def test_too_many_bins_are_refused_before_they_are_made(model, theta):
    with pytest.raises(SettingError, match=r"bins=1000000000: at most [\d,]+ are possible with"):
        model.topics_over("score", theta=theta, bins=10**9)


def test_cells_are_shown_as_they_are_meant():
    table = Table(
        {"bin": [(0.5, 71.142857)], "count": [2.0], "share": [0.25], "words": [["a", "b"]], "no": [None]}
    )
    assert repr(table).splitlines()[1].split() == ["0.5", "to", "71.1429", "2", "0.2500", "a", "b"]
    assert len(table.text(5).splitlines()[1]) < 40 and "…" in table.text(5)
    with pytest.raises(SettingError, match="columns: bin"):
        table["bins"]


def test_answers_without_pandas(asked, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    model = bt.LDA(4, method="online-cvb0", max_iter=1, client=False, progress=False).fit(asked)
    theta = model.transform_to(asked, tmp_path / "theta.zarr")
    model._labels = ["<b>bold\x1b[31m", *"bcd"]  # as models of earlier versions have them
    found = model.topics_over("kind", theta=theta)
    assert isinstance(found, Table) and len(found) == 8 and found["kind"][0] == "long"
    html, text = found._repr_html_(), repr(found)
    assert "<b>" not in html and "&lt;b&gt;" in html and "\x1b" not in text
    assert len(re.findall("<tr>", html)) == 9 and len(text.splitlines()) == 9
    assert isinstance(model.topic_correlation(theta=theta), np.ndarray)


def test_a_store_is_asked_of_the_model_that_wrote_it(model, theta, synthetic, tmp_path):
    saved = tmp_path / "m.zarr"
    model.save(saved)
    assert len(bt.load_model(saved).documents(0, theta=theta)) == 10
    other = bt.LDA(4, method="online-cvb0", max_iter=5, random_state=1, client=False, n_threads=1).fit(
        synthetic.counts
    )
    for ask in (lambda: other.documents(0, theta=theta), lambda: other.similar_documents("doc-7", theta)):
        with pytest.raises(SettingError, match="with another model"):
            ask()
    grown = bt.load_model(saved).partial_fit(["w1 w2 w3 new"])
    with pytest.warns(BigtopicWarning, match="before the model learned more"):
        grown.topic_correlation(theta=theta)
    without_record = shutil.copytree(theta, tmp_path / "old.zarr")
    del zarr.open_group(without_record, mode="a").attrs["bigtopic-topics-model"]
    assert len(other.documents(0, theta=without_record)) == 10


def test_a_store_is_asked_of_its_model_after_the_words_got_names(synthetic, tmp_path):
    """Also of the default method, which then goes back to its first phase."""
    settings = {"client": False, "n_threads": 1, "random_state": 0}
    model = bt.LDA(4, max_iter=1, **settings).fit(synthetic.counts)
    theta = model.transform_to(synthetic.counts, tmp_path / "theta.zarr")
    model.name_words([f"w{i}" for i in range(80)])
    assert len(model.documents(0, theta=theta)) == 10
    model.partial_fit(["w1 w2 w3 new"] * 3)
    with pytest.warns(BigtopicWarning, match="before the model learned more"):
        model.documents(0, theta=theta)

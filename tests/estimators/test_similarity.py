"""Similar documents over a stored theta: the same as by brute force over all rows, whatever the store was cut into."""

import shutil

import numpy as np
import pytest
import zarr
from scipy.sparse import csr_array
from scipy.spatial.distance import jensenshannon

import bigtopic as bt
from bigtopic.corpus.readers.containers.files import intact
from bigtopic.errors import InputError, SettingError, VocabularyMismatch
from bigtopic.estimators.topic_stores import stored_topics as stored

IDS = [f"doc-{i}" for i in range(300)]
MEASURES = {
    "hellinger": lambda p, q: 1 - np.linalg.norm(np.sqrt(p) - np.sqrt(q)) / np.sqrt(2),
    "cosine": lambda p, q: p @ q / np.linalg.norm(p) / np.linalg.norm(q),
    "jensen-shannon": lambda p, q: 1 - jensenshannon(p, q, base=2),
}


@pytest.fixture(scope="module")
def corpus(synthetic, tmp_path_factory):
    path = tmp_path_factory.mktemp("similar") / "corpus.zarr"
    words = [f"w{i}" for i in range(80)]
    return bt.ingest(synthetic.counts, path, vocabulary=words, ids=IDS, progress=False, n_threads=1)


@pytest.fixture(scope="module")
def model(corpus):
    return bt.LDA(4, method="online-cvb0", max_iter=3, client=False, n_threads=1, progress=False).fit(corpus)


@pytest.fixture(scope="module")
def theta(model, corpus, tmp_path_factory):
    return model.transform_to(corpus, tmp_path_factory.mktemp("theta") / "theta.zarr")


def dense(theta):
    """Ids and rows of the store, scaled to sum 1."""
    group = zarr.open_group(theta, mode="r")
    x = group["X"]
    parts = (x["data"][:], x["indices"][:], x["indptr"][:])
    rows = csr_array(parts, shape=x.attrs["shape"]).toarray().astype(float)
    return list(group["obs/document_id"][:]), rows / rows.sum(axis=1, keepdims=True)


def by_force(theta, query, measure, leave_out=None):
    ids, rows = dense(theta)
    scores = [MEASURES[measure](row, query) for row in rows]
    order = [i for i in np.argsort(-np.array(scores), kind="stable") if ids[i] != leave_out]
    return [ids[i] for i in order], [scores[i] for i in order]


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_the_same_as_by_force(model, theta, measure, small, monkeypatch):
    if small:
        monkeypatch.setattr(stored, "DOCUMENTS", 37)
        monkeypatch.setattr(stored, "ENTRIES", 11)
    ids, rows = dense(theta)
    vector = np.random.default_rng(1).dirichlet(np.ones(4))
    for query, topics, left_out in ((vector * 7, vector, None), ("doc-5", rows[ids.index("doc-5")], "doc-5")):
        found = model.similar_documents(query, theta, n_documents=300, measure=measure)
        names, scores = by_force(theta, topics, measure, left_out)
        np.testing.assert_allclose([score for _, score in found], scores, atol=1e-7)
        expected = dict(zip(names, scores, strict=True))
        assert expected.keys() == {name for name, _ in found} and left_out not in expected
        np.testing.assert_allclose([expected[name] for name, _ in found], scores, atol=1e-7)
        assert model.similar_documents(query, theta, 3, measure=measure) == found[:3]


def test_a_text(model, theta, synthetic):
    text = " ".join(f"w{i}" for i, n in enumerate(synthetic.counts[[7]].toarray()[0]) for _ in range(int(n)))
    topics = model.transform([text])[0].astype(float)
    _, scores = by_force(theta, topics / topics.sum(), "hellinger")
    found = model.similar_documents(text, theta, n_documents=2)
    np.testing.assert_allclose([score for _, score in found], scores[:2], atol=1e-7)


def test_one_topic_is_like_itself_and_unlike_another(model, theta, tmp_path):
    copy = shutil.copytree(theta, tmp_path / "pure.zarr")
    x = zarr.open_group(str(copy))["X"]
    one = np.arange(300, dtype=np.int32) % 4
    for name, values in (("indptr", np.arange(301)), ("indices", one), ("data", np.full(300, 0.9, "f4"))):
        x[name].resize((len(values),))
        x[name][:] = values
    for measure in MEASURES:
        found = model.similar_documents([0, 0, 1, 0], copy, 300, measure=measure)
        assert [score for _, score in found] == [1.0] * 75 + [0.0] * 225
        assert len({name for name, _ in found[:75]} & {f"doc-{i}" for i in range(2, 300, 4)}) == 75


def test_rows_are_ids_where_the_source_had_none(model, synthetic, tmp_path):
    theta = model.transform_to(bt.from_matrix(synthetic.counts), tmp_path / "theta.zarr")
    found = model.similar_documents(12, theta, n_documents=299)
    assert "12" not in dict(found) and found == model.similar_documents("12", theta, n_documents=299)


def test_behind_a_url(model, theta, corpus):
    url = model.transform_to(corpus, "memory://similar/theta.zarr")
    assert model.similar_documents("doc-1", url) == model.similar_documents("doc-1", theta)


@pytest.mark.parametrize(
    ("query", "settings", "message"),
    [
        ("doc-1", {"measure": "euclidean"}, "measure='euclidean'.*hellinger, cosine, jensen-shannon"),
        ("doc-1", {"n_documents": 0}, "n_documents=0"),
        ([0.5, 0.5], {}, r"query.*\(4,\).*\(2,\)"),
        (np.ones((1, 4)), {}, "query"),
        ([1, 0, -1, 0], {}, "query"),
        ([0, 0, 0, 0], {}, "query"),
        ([1, np.nan, 0, 0], {}, "query"),
        (["doc-1"], {}, "query"),
        (None, {}, "query"),
        (7, {}, "no document '7'"),
    ],
)
def test_wrong_questions(model, theta, query, settings, message):
    with pytest.raises(SettingError, match=message):
        model.similar_documents(query, theta, **settings)


def test_neither_an_id_nor_a_text_of_known_words(model, theta):
    with pytest.raises(VocabularyMismatch, match=r"(?s)'doc-999' is not a document.*does not know"):
        model.similar_documents("doc-999", theta)


@pytest.mark.parametrize("query", ["", " ", "7"])
def test_a_text_without_words_is_refused(tmp_path, query):
    """Such as an id that is not in the store."""
    texts = ["w1 w2 of a text", "w1 w3"] * 2
    model = bt.LDA(4, method="online-cvb0", max_iter=1, client=False, n_threads=1, progress=False).fit(texts)
    theta = model.transform_to(texts, tmp_path / "theta.zarr")
    with pytest.raises(VocabularyMismatch, match=r"is not a document.*finds no words in it"):
        model.similar_documents(query, theta)


def test_wrong_stores(model, theta, corpus, tmp_path):
    with pytest.raises(SettingError, match=r"theta: give the path of a store.* found ndarray"):
        model.similar_documents("doc-1", model.transform(corpus))
    with pytest.raises(SettingError, match="no store of topics"):
        model.similar_documents("doc-1", tmp_path / "nothing.zarr")
    with pytest.raises(SettingError, match="no store of topics"):
        model.similar_documents("doc-1", corpus.url)
    other = bt.LDA(3, method="online-cvb0", max_iter=1, client=False, n_threads=1, progress=False).fit(corpus)
    with pytest.raises(SettingError, match=r"4 topics.*3"):
        other.similar_documents("doc-1", theta)


@pytest.mark.parametrize(
    ("array", "at", "value"),
    [
        ("X/indices", 3, 4),
        ("X/indices", 3, -1),
        ("X/indptr", 5, 10**9),
        ("X/indptr", 5, -1),
        ("X/indptr", 300, 7),
        ("X/data", 3, np.nan),
        ("X/data", 3, -1.0),
        ("X/data", slice(None), 0.0),
    ],
)
def test_crafted_stores(model, theta, tmp_path, array, at, value):
    copy = shutil.copytree(theta, tmp_path / "crafted.zarr")
    zarr.open_group(str(copy))[array][at] = value
    with pytest.raises(InputError, match="X"):
        model.similar_documents([1, 1, 1, 1], copy)


def test_a_message_quotes_the_error_whole(model, theta, tmp_path):
    gone, cut = (shutil.copytree(theta, tmp_path / name) for name in ("gone.zarr", "cut.zarr"))
    shutil.rmtree(gone / "X/indices")
    with pytest.raises(InputError, match=r"X/indices is damaged or cut short \(KeyError: 'X/indices'\); "):
        model.similar_documents("doc-1", gone)
    with pytest.raises(InputError, match=r"cut.zarr .*\(ValueError: it's too short\); "), intact(str(cut)):
        raise ValueError("it's too short")
    chunk = cut / "obs/document_id/c/0"
    chunk.write_bytes(chunk.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"obs/document_id is damaged .*\(RuntimeError: [^'\"]*\); "):
        model.similar_documents("doc-1", cut)


def test_a_group_instead_of_an_array(model, theta, tmp_path):
    copy = shutil.copytree(theta, tmp_path / "group.zarr")
    shutil.rmtree(copy / "X/indices")
    zarr.open_group(str(copy)).create_group("X/indices")
    with pytest.raises(InputError, match="X/indices"):
        model.similar_documents("doc-1", copy)


def test_a_missing_array(model, theta, tmp_path):
    for name in ("X/indptr", "X/data", "obs/document_id"):
        copy = shutil.copytree(theta, tmp_path / name.replace("/", "-"))
        shutil.rmtree(copy / name)
        with pytest.raises(InputError, match=name):
            model.similar_documents("doc-1", copy)

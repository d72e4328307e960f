"""Topics of documents: in the caller's order, for whatever documents are given, in memory or streamed to a store."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import (
    BigtopicWarning,
    CorpusExists,
    CorpusVersionError,
    InputError,
    SettingError,
    VocabularyMismatch,
)
from bigtopic.estimators import inference
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.topic_stores import contents
from bigtopic.ingestion.ingest import ingest

WORDS = [f"w{i}" for i in range(80)]


@pytest.fixture(scope="module")
def model(corpus) -> LDA:
    return LDA(4, batch_size=50, max_iter=3, client=False, n_threads=2).fit(corpus)


def test_rows_are_in_the_order_of_the_matrix(model, synthetic):
    counts = synthetic.counts
    expected = np.vstack([model.transform(counts[[i]]) for i in range(0, 300, 30)])
    topics = model.transform(counts)
    assert topics.dtype == np.float32 and topics.shape == (300, 4)
    np.testing.assert_allclose(topics[::30], expected, rtol=1e-5)
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-5)
    for same in (counts.toarray(), sparse.csc_matrix(counts), counts.astype(int)):
        np.testing.assert_array_equal(model.transform(same), topics)


def test_a_corpus_gives_its_sources_order_or_its_own(model, corpus, synthetic):
    expected = model.transform(synthetic.counts)
    np.testing.assert_array_equal(model.transform(corpus), expected)
    rows = corpus.rows(order="stored")
    assert (rows != np.arange(300)).any()
    np.testing.assert_array_equal(model.transform(corpus, order="stored"), expected[rows])
    view = corpus[40:90]
    np.testing.assert_array_equal(model.transform(view), expected[np.sort(view.rows())])
    with pytest.raises(SettingError, match=r"order='shuffled'.*'source'"):
        model.transform(corpus, order="shuffled")


def test_words_are_matched_by_name(model, synthetic):
    order = np.random.default_rng(0).permutation(80)
    shuffled = from_matrix(synthetic.counts[:, order], [WORDS[i] for i in order])
    np.testing.assert_array_equal(model.transform(shuffled), model.transform(synthetic.counts))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(synthetic.counts.toarray(), columns=WORDS)
    np.testing.assert_array_equal(model.transform(frame), model.transform(synthetic.counts))
    texts = pandas.DataFrame({"id": ["a"], "text": ["w0 w0 w1"]})
    np.testing.assert_array_equal(model.transform(texts), model.transform([{"w0": 2, "w1": 1}]))


@pytest.mark.parametrize("method", ["vb", "online-vb", "online-cvb0", "online-ope", "ml-ope"])
def test_empty_documents_have_the_prior_mean(corpus, synthetic, method):
    prior = np.array([0.4, 0.1, 0.3, 0.2])
    model = LDA(4, method=method, doc_topic_prior=prior, max_iter=1, client=False).fit(corpus)
    counts = synthetic.counts[:5].toarray()
    counts[[0, 3]] = 0
    topics = model.transform(counts)
    np.testing.assert_allclose(topics[[0, 3]], [prior / prior.sum()] * 2, rtol=1e-5)
    assert (np.abs(topics[[1, 2, 4]] - prior).max(axis=1) > 0.1).all()


def test_empty_documents_do_not_disturb_learning(synthetic):
    """They are kept, and count as documents only where a scheme counts documents."""
    counts = synthetic.counts[:100].toarray()
    with_gaps = np.zeros((200, 80))
    with_gaps[::2] = counts
    full, gaps = (
        LDA(3, method="vb", max_iter=3, client=False).fit(m).components_ for m in (counts, with_gaps)
    )
    np.testing.assert_allclose(full, gaps, rtol=2e-3, atol=2e-3)


def test_a_text_and_no_texts_are_refused(model):
    with pytest.raises(CorpusVersionError, match=r"no corpus at .*open a socket.*; a text goes into a list"):
        model.transform("open a socket")
    with pytest.raises(InputError, match="documents: the list is empty"):
        model.transform([])


def test_texts_are_split_as_the_corpus_was():
    texts = ["Cat dog, cat!", "dog cat pet", "sun rain", "rain wind sun"] * 5
    model = LDA(2, method="online-cvb0", max_iter=20, client=False).fit(texts)
    assert sorted(model.vocabulary_) == ["cat", "dog", "pet", "rain", "sun", "wind"]
    new = model.transform(["CAT; dog", "rain", "", "sun sun sun"])
    assert new.shape == (4, 2)
    assert new[0].argmax() != new[1].argmax() == new[3].argmax()
    np.testing.assert_allclose(new[2], 0.5, rtol=1e-5)
    np.testing.assert_array_equal(new[[0]], model.transform(["cat dog"]))


def test_unknown_words_are_left_out_with_a_warning_and_refused_when_they_are_most(model, synthetic):
    names = [*WORDS[:60], *(f"other{i}" for i in range(20))]
    by_frequency = np.argsort(-np.asarray(synthetic.counts.sum(axis=0)).ravel())
    counts = synthetic.counts[:, np.concatenate([by_frequency[20:], by_frequency[:20]])]
    known = [WORDS[i] for i in by_frequency[20:]]
    share = counts[:, 60:].sum() / counts.sum()
    assert share > 0.5
    with pytest.raises(VocabularyMismatch, match=f"{share:.0%}"):
        model.transform(from_matrix(counts, [*known, *names[60:]]))
    fewer = counts.tolil()
    fewer[:, 60:75] = 0
    fewer = fewer.tocsr()
    share = fewer[:, 60:].sum() / fewer.sum()
    assert 0.2 < share < 0.5
    with pytest.warns(BigtopicWarning, match=f"{share:.0%} of the tokens are unknown"):
        topics = model.transform(from_matrix(fewer, [*known, *names[60:]]))
    only_known = fewer.copy()[:, :60]
    np.testing.assert_allclose(topics, model.transform(from_matrix(only_known, known)), atol=1e-6)


def test_a_view_is_judged_by_its_own_words(model, synthetic):
    """A corpus in two languages: documents in the model's are not refused for those in the other."""
    both = sparse.block_diag([synthetic.counts[:100], synthetic.counts[100:]]).tocsr()
    corpus = from_matrix(both, [*WORDS, *(f"mot{i}" for i in range(80))])
    np.testing.assert_allclose(
        model.transform(corpus.select(rows=np.arange(100))),
        model.transform(synthetic.counts[:100]),
        atol=1e-6,
    )
    with pytest.raises(VocabularyMismatch, match="100%"):
        model.transform(corpus.select(rows=np.arange(100, 300)))


def test_sparse_topics_keep_what_is_large(model, synthetic):
    dense = model.transform(synthetic.counts)
    kept = model.transform(synthetic.counts, sparse=True, min_probability=0.2).toarray()
    np.testing.assert_array_equal(kept, np.where(dense >= 0.2, dense, 0))
    top = model.transform(synthetic.counts, sparse=True, min_probability=0.0, top_k=1)
    assert top.nnz == 300
    np.testing.assert_array_equal(top.indices, dense.argmax(axis=1))
    all_small = model.transform(synthetic.counts, sparse=True, min_probability=0.999)
    assert (np.diff(all_small.indptr) == 1).all()  # the largest always stays


def test_tokens_the_model_does_not_know_do_not_make_a_document_long(model, corpus):
    """A document of one known word and a thousand unknown ones is a document of one word."""
    counts = np.zeros((41, 81))
    counts[:40, :80] = corpus.to_scipy().toarray()[:40] * 10
    counts[40, 0], counts[40, 80] = 1, 2000
    found = model.representative_documents(
        from_matrix(counts, [*WORDS, "other"]), n_documents=41, min_tokens=2
    )
    assert "40" not in {identity for topic in found for identity, _ in topic}


def test_representative_documents_take_the_largest_share(model, corpus, synthetic):
    found = model.representative_documents(corpus, n_documents=3, min_tokens=20)
    topics = model.transform(synthetic.counts)
    lengths = np.asarray(synthetic.counts.sum(axis=1)).ravel()
    for k, documents in enumerate(found):
        assert len(documents) == 3
        allowed = np.where(lengths >= 20, topics[:, k], -1)
        np.testing.assert_allclose([share for _, share in documents], np.sort(allowed)[::-1][:3], rtol=1e-6)
        for identity, share in documents:
            np.testing.assert_allclose(topics[int(identity), k], share, rtol=1e-6)


@pytest.mark.parametrize("n_documents", [0, -1, 1.5, None, True])
def test_a_number_of_documents_that_is_none_is_refused(n_documents, model, corpus):
    with pytest.raises(SettingError, match="n_documents="):
        model.representative_documents(corpus, n_documents=n_documents)


def test_scores_and_perplexity(model, corpus, synthetic):
    score = model.score(corpus)
    assert -np.log(80) < score < 0
    assert model.perplexity(corpus) == pytest.approx(np.exp(-score))
    assert model.score(synthetic.counts) == pytest.approx(score, rel=1e-12)  # summed in another order


# ---------------------------------------------------------------- streamed to a store


@pytest.fixture
def written(model, corpus, tmp_path) -> str:
    return model.transform_to(corpus, tmp_path / "theta.zarr", min_probability=0.05)


@pytest.mark.parametrize(
    ("name", "wide"), [("t.csv", True), ("t.tsv", True), ("t.jsonl", False), ("t.zarr", False)]
)
def test_a_table_of_a_column_for_each_of_many_topics_is_said(
    name, wide, model, corpus, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(inference, "_MANY", 3)
    model.transform_to(corpus, tmp_path / name)
    told = f"{name[2:]} has a column for each of 4 topics; others hold only the shares that are kept: zarr, h5ad, jsonl"
    assert (told in capsys.readouterr().err) == wide


def test_anndata_opens_streamed_topics(written, model, corpus):
    anndata = pytest.importorskip("anndata")
    found = anndata.read_zarr(written)
    expected = model.transform(corpus, sparse=True, min_probability=0.05)
    assert (expected != found.X).nnz == 0
    assert found.obs_names.tolist() == corpus.document_ids().tolist()
    np.testing.assert_array_equal(found.obs["source_row"], np.arange(300))
    assert found.var_names.tolist() == ["0", "1", "2", "3"]


def test_streamed_topics_in_many_pieces(model, corpus, tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata")
    monkeypatch.setattr(contents, "CHUNK", 64)
    found = anndata.read_zarr(
        model.transform_to(corpus, tmp_path / "theta.zarr", min_probability=0.0, top_k=2)
    )
    expected = model.transform(corpus, sparse=True, min_probability=0.0, top_k=2)
    assert (expected != found.X).nnz == 0 and found.X.nnz == 600


def test_a_store_that_is_there_stays_unless_it_may_go(written, model, corpus):
    anndata = pytest.importorskip("anndata")
    with pytest.raises(CorpusExists, match="overwrite"):
        model.transform_to(corpus, written)
    model.transform_to(corpus[:10], written, overwrite=True)
    assert anndata.read_zarr(written).shape == (10, 4)


def test_only_topics_are_overwritten(model, corpus, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(CorpusExists, match="not a store of topics"):
        model.transform_to(corpus, tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_failure_leaves_no_half_store(model, corpus, tmp_path, monkeypatch):
    def fail(*args, **settings):
        raise RuntimeError("disk full")

    monkeypatch.setattr(contents, "BUCKET_DOCUMENTS", 100)
    for place in ("_frame", "_Growing"):
        with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="disk full"):
            patch.setattr(contents, place, fail)
            model.transform_to(corpus, tmp_path / "theta.zarr")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("settings", [{"min_probability": 1.0}, {"min_probability": -0.1}, {"top_k": 0}])
def test_wrong_sparsity(model, corpus, tmp_path, settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        model.transform_to(corpus, tmp_path / "theta.zarr", **settings)
    with pytest.raises(SettingError, match=next(iter(settings))):
        model.transform(corpus, sparse=True, **settings)


def test_words_that_limits_dropped_are_expected_to_be_unknown(tmp_path):
    where = ["river bank shore", "music hall stage"]
    texts = [f"the cat sat on the mat and the dog number{i} ran to the {where[i % 2]}" for i in range(50)]
    corpus = ingest(texts, tmp_path / "cats.zarr", max_df=0.6, min_df=2, client=False)
    model = LDA(2, method="online-cvb0", max_iter=2, client=False).fit(corpus)
    assert model.transform(texts).shape == (50, 2)
    assert model.score(texts) < 0
    with pytest.raises(VocabularyMismatch, match="does not know"):
        model.transform(["nothing here was ever seen before"] * 300)


def test_a_client_that_is_no_address_is_refused():
    with pytest.raises(SettingError, match="tcp://"):
        LDA(2, client="nonsense").fit(np.ones((4, 3)))

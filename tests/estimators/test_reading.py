"""What a fitted model shows of its topics."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

import toys


@pytest.fixture(scope="module")
def model(corpus) -> LDA:
    return LDA(4, method="online-cvb0", batch_size=50, max_iter=2, client=False, n_threads=1).fit(corpus)


def test_components_are_weights_and_topics_are_probabilities(model):
    weights, topics = model.components_, model.get_topics()
    assert weights.shape == topics.shape == (4, 80) and topics.dtype == np.float32
    np.testing.assert_allclose(topics, weights / weights.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-5)
    expected = np.exp(psi(weights.astype(float)) - psi(weights.astype(float).sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(model.exp_dirichlet_component_, expected)


def test_topics_are_the_most_probable_words(model, corpus):
    topics, probabilities = model.topics(5), model.get_topics()
    assert len(topics) == 4
    for k, topic in enumerate(topics):
        best = np.argsort(-probabilities[k], kind="stable")[:5]
        assert [word for word, _ in topic] == [f"w{i}" for i in best]
        np.testing.assert_allclose([p for _, p in topic], probabilities[k, best])
        assert all(isinstance(word, str) and isinstance(p, float) for word, p in topic)
    assert len(model.topics(1000)[0]) == 80
    assert model.show_topic(2, 3) == topics[2][:3]
    assert model.show_topics(2)[1] == (1, f"{topics[1][0][0]} {topics[1][1][0]}")
    for topic in (-1, 4):
        with pytest.raises(SettingError, match=r"0 \.\. 3"):
            model.show_topic(topic)


def test_a_frame_of_topics(model):
    pytest.importorskip("pandas")
    frame = model.topics_frame(3)
    assert list(frame.columns) == ["topic", "label", "rank", "word", "probability", "unused"]
    assert len(frame) == 12
    assert frame.iloc[5].tolist() == [1, model.topic_labels_[1], 2, *model.topics(3)[1][2], False]


def test_pyldavis_input_has_the_shapes_it_wants(model, corpus, synthetic):
    given = model.pyldavis_input(corpus)
    counts = np.asarray(synthetic.counts.sum(axis=0)).ravel()
    used = counts > 0
    assert given["topic_term_dists"].shape == (4, used.sum()) and len(given["vocab"]) == used.sum()
    np.testing.assert_allclose(given["topic_term_dists"].sum(axis=1), 1)
    np.testing.assert_allclose(given["doc_topic_dists"].sum(axis=1), 1)
    np.testing.assert_allclose(given["term_frequency"], counts[used])
    np.testing.assert_allclose(given["doc_lengths"].sum(), counts.sum(), rtol=1e-6)
    # Shares of topics are all that pyLDAvis takes from documents; they come from VB, as evaluations do.
    topics, lengths = model.transform(synthetic.counts), np.asarray(synthetic.counts.sum(axis=1)).ravel()
    shares = given["doc_lengths"] @ given["doc_topic_dists"] / given["doc_lengths"].sum()
    np.testing.assert_allclose(shares, lengths @ topics / lengths.sum(), atol=0.02)


def test_pyldavis_input_of_a_corpus_with_other_words(model, synthetic):
    names = [*(f"w{i}" for i in range(75)), *(f"other{i}" for i in range(5))]
    given = model.pyldavis_input(from_matrix(synthetic.counts, names))
    assert set(given["vocab"]) <= set(names[:75])
    assert len(given["vocab"]) == len(given["term_frequency"]) == given["topic_term_dists"].shape[1]


def test_attributes(model, corpus):
    assert model.n_features_in_ == 80
    assert model.n_iter_ == 2 and model.n_batch_iter_ == 12
    assert model.doc_topic_prior_.shape == (4,) and model.random_state_ == 0
    assert [row["pass"] for row in model.history_] == [1, 2]


@pytest.mark.parametrize("shape", [(80,), (2, 80)], ids=str)
def test_a_prior_is_shown_as_it_was_given(shape, corpus):
    prior = np.linspace(0.1, 1, np.prod(shape)).reshape(shape)
    model = LDA(2, topic_word_prior=prior, max_iter=1, client=False).fit(corpus)
    np.testing.assert_array_equal(model.topic_word_prior_, prior)


def test_a_notebook_shows_escaped_words():
    model = LDA(2, method="online-cvb0", max_iter=1, client=False).fit(
        from_matrix(np.eye(3) + 1, ["<script>", "b", "c"])
    )
    html = model._repr_html_()
    assert "&lt;script&gt;" in html and "<script>" not in html


def test_arrays_of_lda_are_its_topics_and_its_prior(model):
    words, prior = model.array("topic_words"), model.array("doc_topic_prior")
    np.testing.assert_array_equal(words.values.T, model.get_topics())
    assert words.names.tolist() == [f"w{i}" for i in range(80)]
    np.testing.assert_array_equal(prior.values, [model.doc_topic_prior_])
    assert prior.names is None
    with pytest.raises(SettingError, match=r"'topics'.*choose one of: topic_words, doc_topic_prior"):
        model.array("topics")


def test_rows_without_names_have_none():
    assert (
        LDA(2, method="online-cvb0", max_iter=1, client=False).fit(np.ones((5, 7))).array("topic_words").names
        is None
    )


@pytest.fixture(scope="module")
def by_author(corpus) -> Corpus:
    """The documents, the i-th by author i modulo 3."""
    block = corpus.read(order="stored")
    authors = (np.arange(block.n_docs) % 3).astype(np.int32)
    block = replace(block, author_indptr=np.arange(block.n_docs + 1), authors=authors)
    names = Vocabulary(["Ann", "Bob", "Cleo"])
    return Corpus([MemoryPart("all", block)], corpus.vocabulary, author_vocabulary=names)


def test_arrays_of_a_model_of_ones_own(by_author, tmp_path):
    model = LDA(4, method=toys.METHODS["author-steps"], client=False, n_threads=1).fit(by_author)
    shares, names = model.array("author_topics")
    assert names.tolist() == ["Ann", "Bob", "Cleo"] and shares.shape == (3, 4)
    weights = model._model.params["author_topics"].gather(None)[:, :4]
    np.testing.assert_allclose(shares, weights / weights.sum(axis=1, keepdims=True), rtol=1e-6)
    steps = model.array("author_topics.steps")  # weights as they are: this one counts
    assert (
        steps.values.shape == (3, 1) and (steps.values > 0).all() and steps.names.tolist() == names.tolist()
    )
    model.save(tmp_path / "model.zarr")
    again = load_model(tmp_path / "model.zarr", method=toys.METHODS["author-steps"])
    np.testing.assert_array_equal(again.array("author_topics").values, shares)
    assert again.array("author_topics").names.tolist() == names.tolist()

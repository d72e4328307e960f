"""Topics of any library behind one interface."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import InputError, SettingError, VocabularyMismatch
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import log_predictive, top_words, topics_of
from bigtopic.evaluation.source import labels_of

WEIGHTS = np.array([[4.0, 2, 1, 1], [1, 1, 0, 6]])
IDS = np.arange(4, dtype=np.int32)


def test_an_array_is_normalised_and_floored():
    source = topics_of(WEIGHTS)
    topic_words = source.gather(IDS)
    np.testing.assert_allclose(topic_words.sum(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(topic_words[:, 0], [0.5, 0.25, 0.125, 0.125], rtol=1e-6)
    assert 0 < topic_words[2, 1] < 1e-9
    np.testing.assert_array_equal(source.doc_topic_prior, [0.5, 0.5])


def test_a_gensim_model_brings_words_and_prior():
    gensim = SimpleNamespace(
        get_topics=lambda: WEIGHTS, id2word={0: "a", 1: "b", 2: "c", 3: "d"}, alpha=np.array([0.1, 0.3])
    )
    source = topics_of(gensim)
    assert source.vocabulary[:] == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(source.doc_topic_prior, [0.1, 0.3])


def test_a_scikit_learn_model_takes_the_words_of_its_vectorizer():
    feature_extraction = pytest.importorskip("sklearn.feature_extraction.text")
    decomposition = pytest.importorskip("sklearn.decomposition")
    vectorizer = feature_extraction.CountVectorizer()
    counts = vectorizer.fit_transform(["one two", "two three three", "one three"])
    model = decomposition.LatentDirichletAllocation(2, doc_topic_prior=0.7).fit(counts)
    source = topics_of(model, vectorizer)
    assert source.vocabulary[:] == ["one", "three", "two"]
    np.testing.assert_array_equal(source.doc_topic_prior, [0.7, 0.7])
    expected = model.components_.T / model.components_.sum(axis=1)
    np.testing.assert_allclose(source.gather(IDS[:3]), expected, rtol=1e-6)


def test_a_prior_that_is_given_takes_the_place_of_a_model_s_own():
    corpus = from_matrix([[4, 1, 0, 2], [0, 3, 3, 1], [2, 2, 2, 2]] * 4)
    model = LDA(2, method="vb", max_iter=2, doc_topic_prior=0.5, progress=False).fit(corpus)
    for given in (model, topics_of(model)):
        source = pickle.loads(pickle.dumps(topics_of(given, doc_topic_prior=[2.0, 0.1])))
        np.testing.assert_array_equal(source.doc_topic_prior, [2.0, 0.1])
        np.testing.assert_array_equal(source.gather(IDS), topics_of(model).gather(IDS))
        assert labels_of(source) == labels_of(topics_of(given))
        found = log_predictive(given, corpus, doc_topic_prior=2.0).value
        assert found == pytest.approx(log_predictive(model.get_topics(), corpus, doc_topic_prior=2.0).value)
        assert found != pytest.approx(log_predictive(model, corpus).value)


def test_what_has_no_topics_is_refused():
    with pytest.raises(SettingError, match=r"str has no topics.*bigtopic\.load_model"):
        topics_of("model.zarr")
    with pytest.raises(SettingError, match="no topics"):
        topics_of(np.ones(3))
    with pytest.raises(
        SettingError, match=r"model: its topics have shape \(4,\), not \(n_components, n_words\)"
    ):
        topics_of(SimpleNamespace(components_=WEIGHTS[0]))
    with pytest.raises(InputError, match="not negative"):
        topics_of(-WEIGHTS)
    with pytest.raises(InputError, match="all zero"):
        topics_of(WEIGHTS * [[0], [1]])
    for kind in (object, str, complex):
        with pytest.raises(InputError, match="must be numbers, not"):
            topics_of(WEIGHTS.astype(kind))
    with pytest.raises(VocabularyMismatch, match="give the matrix transposed"):
        topics_of(np.ones((3, 2)), ["a", "b", "c"])
    with pytest.raises(VocabularyMismatch, match="3 words"):
        topics_of(WEIGHTS, ["a", "b", "c"])
    with pytest.raises(SettingError, match="doc_topic_prior"):
        topics_of(WEIGHTS, doc_topic_prior=[0.1, -1])


def test_top_words_fall_and_ties_follow_the_ids(monkeypatch):
    weights = np.array([[1.0, 3, 3, 2, 3, 1, 1]])
    for rows in (100, 3, 1):  # however many rows are looked at together
        monkeypatch.setattr("bigtopic.evaluation.source._ROWS", rows)
        ids, probabilities = top_words(topics_of(weights), 5)
        assert ids.tolist() == [[1, 2, 4, 3, 0]]
        np.testing.assert_allclose(probabilities, weights[:, ids[0]] / 14, rtol=1e-6)


def test_words_are_given_in_any_form_that_has_their_order():
    ids = {"d": 3, "b": 1, "a": 0, "c": 2}
    for words in (
        list("abcd"),
        iter("abcd"),
        np.array(list("abcd")),
        ids,
        {i: word for word, i in ids.items()},
    ):
        assert topics_of(WEIGHTS, words).vocabulary[:] == ["a", "b", "c", "d"]
    for words in (
        "abcd",
        4,
        {"a", 1},
        [0, 1, 2, 3],
        [b"a", b"b", b"c", b"d"],
        {"a": 7, "b": 1, "c": 2, "d": 3},
    ):
        with pytest.raises(SettingError, match="vocabulary"):
            topics_of(WEIGHTS, words)
    with pytest.raises(InputError, match="'a' at position 3 is a duplicate"):
        topics_of(WEIGHTS, ["a", "b", "a", "d"])


def test_a_given_prior_takes_the_place_of_the_models_own():
    own = topics_of(WEIGHTS)
    with_topics = SimpleNamespace(topic_source=lambda: own)
    for model in (WEIGHTS, own, with_topics):
        source = pickle.loads(pickle.dumps(topics_of(model, doc_topic_prior=[3, 0.5])))
        assert source.doc_topic_prior.tolist() == [3, 0.5] and source.n_components == 2
        np.testing.assert_array_equal(source.gather(IDS), own.gather(IDS))
    assert topics_of(with_topics) is own
    for prior in ("auto", [[1], [1, 2]], np.nan):
        with pytest.raises(SettingError, match="doc_topic_prior: must be a positive number or 2 of them"):
            topics_of(own, doc_topic_prior=prior)


def test_a_class_has_no_topics():
    with pytest.raises(SettingError, match="other: LDA is a class, which has no topics; give a fitted model"):
        topics_of(LDA, name="other")


@pytest.mark.parametrize("n_top", [0, 5, 2.0, "2", None, True])
def test_a_number_of_words_is_whole(n_top):
    with pytest.raises(
        SettingError, match=f"n_top: must be between 1 and the vocabulary's 4 words, found {n_top!r}"
    ):
        top_words(topics_of(WEIGHTS), n_top)

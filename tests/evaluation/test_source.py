"""Topics of any library behind one interface."""

from types import SimpleNamespace

import numpy as np
import pytest

from bigtopic.errors import InputError, SettingError, VocabularyMismatch
from bigtopic.evaluation import top_words, topics_of

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


def test_what_has_no_topics_is_refused():
    with pytest.raises(SettingError, match=r"str has no topics.*bigtopic\.load_model"):
        topics_of("model.zarr")
    with pytest.raises(SettingError, match="no topics"):
        topics_of(np.ones(3))
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

"""scikit-learn's contract, with scikit-learn, and settings that are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bigtopic import methods
from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, NotFitted, SettingError, VocabularyMismatch
from bigtopic.estimators.lda import LDA

sklearn = pytest.importorskip("sklearn")


def test_parameters_by_name():
    model = LDA(7, method="vb", max_iter=2)
    params = model.get_params()
    assert params["n_components"] == 7 and params["method"] == "vb" and params["batch_size"] is None
    assert model.set_params(max_iter=5, tol=0.1) is model and model.max_iter == 5
    assert repr(model) == "LDA(n_components=7, method='vb', max_iter=5, tol=0.1)"
    with pytest.raises(SettingError, match=r"no parameter 'topics'.*n_components"):
        model.set_params(topics=3)


def test_a_method_is_shown_by_its_name():
    mine = replace(methods.get("vb"), name="mine")
    assert repr(LDA(7, method=mine)) == "LDA(n_components=7, method=Method('mine', ...))"


def test_clone_is_the_same_and_not_fitted(corpus):
    from sklearn.base import clone

    prior = np.full(4, 0.3)
    model = LDA(4, doc_topic_prior=prior, max_iter=1, options={}, client=False).fit(corpus)
    copy = clone(model)
    assert repr(copy) == repr(model) and not hasattr(copy, "components_")
    np.testing.assert_array_equal(copy.fit(corpus).components_, model.components_)


def test_grid_search_finds_the_better_number_of_topics(synthetic):
    from sklearn.model_selection import GridSearchCV

    estimator = LDA(method="online-cvb0", max_iter=5, batch_size=50, client=False, n_threads=1)
    search = GridSearchCV(estimator, {"n_components": [1, 4]}, cv=2).fit(sparse.csr_matrix(synthetic.counts))
    assert search.best_params_ == {"n_components": 4}
    assert search.best_estimator_.components_.shape == (4, 80)


def test_a_pipeline_from_texts_to_topics():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["cat dog cat pet", "dog pet cat", "rain sun wind", "sun wind rain rain"] * 5
    pipeline = make_pipeline(CountVectorizer(), LDA(2, max_iter=30, client=False, n_threads=1))
    topics = pipeline.fit_transform(texts)
    assert topics.shape == (20, 2)
    leading = topics.argmax(axis=1).reshape(5, 4)
    assert (leading == leading[0]).all() and leading[0, 0] == leading[0, 1] != leading[0, 2] == leading[0, 3]
    assert pipeline[-1].get_feature_names_out().tolist() == ["lda0", "lda1"]


def test_sklearn_knows_whether_it_is_fitted(corpus):
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    model = LDA(2, max_iter=1, client=False)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(corpus))


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.components_,
        lambda model: model.topics(),
        lambda model: model.transform(np.ones((2, 3))),
        lambda model: model.score(np.ones((2, 3))),
        lambda model: model.history_,
        lambda model: model.save("nowhere.zarr"),
        lambda model: model.vocabulary_,
    ],
)
def test_what_needs_a_fit_says_so(ask):
    with pytest.raises(NotFitted, match="call fit first"):
        ask(LDA(2))


def test_an_unfitted_estimator_has_no_fitted_attributes():
    model = LDA(2)
    assert not any(
        hasattr(model, name) for name in ("components_", "n_features_in_", "vocabulary_", "history_")
    )
    assert "LDA" in model._repr_html_()


WRONG = {
    "n_components": [0, -1, 2.0, True, "ten", None],
    "method": ["onlin-vb", "lda"],
    "doc_topic_prior": [0, -0.1, np.nan, np.inf, "symmetric", np.ones(3), [0.1, 0.2, 0.3, -1.0]],
    "topic_word_prior": [0, -1.0, np.nan, "auto", np.ones(79), np.ones((80, 4)), np.full((4, 80), -0.1)],
    "batch_size": [0, -5, 2.5],
    "max_iter": [0, 1.5],
    "max_time": [0, -1, np.nan],
    "tol": [-1, np.nan],
    "learning_decay": [-0.1, 0.0, 1.1, np.nan],
    "learning_offset": [-1, np.inf],
    "max_doc_update_iter": [0, 1.5],
    "mean_change_tol": [-1],
    "options": [{"no_such_option": 1}],
    "total_samples": [0, -3],
    "random_state": ["zero", 1.5],
    "order": ["random"],
    "slice_size": [0],
    "evaluate_every": [5, 0],  # without validation
    "patience": [1],
    "validation": [0.0, 1.5, -1],
    "n_threads": [0, "two"],
    "callbacks": [print, [print, 3], None, "print"],
    "init": ["no such model.zarr", np.ones((3, 80)), 7],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values], ids=repr
)
def test_wrong_settings_are_named(corpus, name, value):
    """The message names the argument; nothing has been learnt."""
    from bigtopic.errors import BigtopicError

    model = LDA(**{"n_components": 4, "client": False, name: value})
    with pytest.raises(BigtopicError) as caught:
        model.fit(corpus)
    assert name in str(caught.value) or name in ("init", "validation", "options")
    assert not hasattr(model, "components_")


def test_an_unknown_method_or_option_names_the_known_ones(corpus):
    with pytest.raises(SettingError, match="online-vb"):
        LDA(2, method="online").fit(corpus)
    with pytest.raises(SettingError, match="max_doc_update_iter"):
        LDA(2, options={"iterations": 3}, client=False).fit(corpus)


def test_a_step_size_is_refused_where_there_is_none(corpus):
    with pytest.raises(SettingError, match="no step size"):
        LDA(2, method="vb", learning_decay=0.7, client=False).fit(corpus)


def test_settings_reach_the_method(corpus):
    model = LDA(
        2, method="online-vb", learning_decay=0.6, learning_offset=64.0, max_doc_update_iter=7, client=False
    )
    inner = model.fit(corpus)._model
    scheme = inner.method.schemes["topic_words"]
    assert (scheme.learning_decay, scheme.learning_offset) == (0.6, 64.0)
    assert inner.options["max_doc_update_iter"] == 7


@pytest.mark.parametrize(
    "documents",
    [
        np.zeros((3, 4)),
        np.zeros((0, 4)),
        sparse.csr_matrix((3, 4)),
        [],
        ["", "   "],
        Corpus([], Vocabulary(["a"])),
    ],
    ids=["zeros", "no rows", "sparse zeros", "no texts", "empty texts", "empty corpus"],
)
def test_nothing_to_learn_from(documents):
    with pytest.raises(InputError):
        LDA(2, client=False).fit(documents)


@pytest.mark.parametrize("documents", [5, None])
def test_what_is_no_corpus(documents):
    with pytest.raises(SettingError, match="documents"):
        LDA(2, client=False).fit(documents)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_wrong_counts_name_the_row(value):
    counts = np.ones((4, 3))
    counts[2, 1] = value
    with pytest.raises(InputError, match="row 2"):
        LDA(2, client=False).fit(counts)


def test_a_matrix_of_another_width_is_refused(corpus):
    model = LDA(2, max_iter=1, client=False).fit(np.ones((5, 7)))
    with pytest.raises(VocabularyMismatch, match=r"9 features.*7"):
        model.transform(np.ones((2, 9)))
    with pytest.raises(VocabularyMismatch):
        from_matrix(np.ones((5, 7)), list("abcde"))


def test_random_state_decides(corpus):
    def topics(**settings):
        return LDA(3, max_iter=1, client=False, **settings).fit(corpus).components_

    np.testing.assert_array_equal(topics(), topics(random_state=0))
    assert (topics(random_state=1) != topics(random_state=2)).any()
    drawn = LDA(3, max_iter=1, random_state=None, client=False).fit(corpus)
    np.testing.assert_array_equal(drawn.components_, topics(random_state=drawn.random_state_))


def test_numbers_of_numpy_are_numbers(corpus):
    model = LDA(
        np.int64(3), max_iter=np.int32(1), tol=np.float32(0.0), random_state=np.int64(4), client=False
    )
    same = LDA(3, max_iter=1, tol=0.0, random_state=4, client=False)
    np.testing.assert_array_equal(model.fit(corpus).components_, same.fit(corpus).components_)

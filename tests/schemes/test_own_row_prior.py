"""The prior that an array's rows make likeliest: against dense formulas, and where it is known."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

import bigtopic as bt
from bigtopic import methods
from bigtopic.errors import SettingError
from bigtopic.schemes.dirichlet import dirichlet_mle, newton_step
from bigtopic.schemes.own_prior import OwnPrior, OwnRowPrior
from bigtopic.state.contract.declarations import check_method

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import signed
from reference.dense_array import N_COMPONENTS, info, random_array, random_stats

QUIET = {"client": False, "n_threads": 1, "progress": False}


def mean_logs(weights) -> np.ndarray:
    return (psi(weights) - psi(weights.sum(axis=1, keepdims=True))).mean(axis=0)


@pytest.mark.parametrize("shape", ["symmetric", "asymmetric"])
def test_a_step_from_all_rows_where_the_minibatch_is_the_corpus(shape):
    array, prior = random_array(), np.full(N_COMPONENTS, 0.05)
    logs = mean_logs(array.gather(None)[:, :N_COMPONENTS])
    OwnRowPrior(shape=shape, begin=0).step(array, random_stats(), info(n_docs=1000))
    one = newton_step(prior[:1], logs.mean(keepdims=True), repeats=N_COMPONENTS)
    expected = newton_step(prior, logs) if shape == "asymmetric" else np.repeat(one, N_COMPONENTS)
    np.testing.assert_allclose(array.prior[0], expected, rtol=1e-10)


def test_a_minibatch_moves_it_by_its_step_size_and_reads_as_many_rows():
    array = random_array()
    scheme = OwnRowPrior(learning_decay=0.7, learning_offset=3.0, begin=0)
    scheme.step(array, random_stats(), info(step=4, n_docs=10))
    ids = np.random.default_rng([0, 4]).integers(30, size=4)
    logs = mean_logs(random_array().gather(ids)[:, :N_COMPONENTS]).mean(keepdims=True)
    moved = newton_step(np.array([0.05]), logs, repeats=N_COMPONENTS)
    np.testing.assert_allclose(array.prior[0], np.full(5, 0.05 + 7.0**-0.7 * (moved[0] - 0.05)), rtol=1e-10)
    assert array.touched == set(ids.tolist())


def test_the_prior_of_authors_is_found():
    """At the end, it is the likeliest one for the authors' topics, and near the truth."""
    truth = signed.drawn(1500, 100, 80, 4, length=100, most=1, seed=4)
    corpus = signed.corpus_of(truth.docs)
    settings = {"learn_author_topic_prior": "symmetric", "max_iter": 150, "tol": 0.0, **QUIET}
    model = bt.AuthorTopicModel(4, method="author-vb", **settings).fit(corpus)
    authors, _ = signed.weights(model._model)
    likeliest = dirichlet_mle(mean_logs(authors), shape="symmetric")
    np.testing.assert_allclose(model.author_topic_prior_, likeliest, rtol=1e-2)
    assert 0.1 < model.author_topic_prior_[0] < 0.35  # drawn with 0.2; it began at 0.25


@pytest.mark.parametrize("method", ["author-vb", "online-author-vb"])
def test_learned_priors_are_saved_and_used(method, tmp_path):
    truth = signed.drawn(300, 60, 20, 3, seed=1)
    corpus = signed.corpus_of(truth.docs)
    learn = {"learn_author_topic_prior": "asymmetric", "learn_topic_word_prior": "symmetric"}
    model = bt.AuthorTopicModel(3, method=method, max_iter=10, **learn, **QUIET).fit(corpus)
    prior = model.author_topic_prior_
    assert len(set(prior)) == 3 and model.topic_word_prior_ != pytest.approx(1 / 3)
    np.testing.assert_array_equal(model._model.params["author_topics"].prior[0], prior)
    empty = bt.from_matrix(np.zeros((1, 60)), model.vocabulary_[:])
    np.testing.assert_allclose(model.transform(empty)[0], prior / prior.sum(), rtol=1e-5)
    model.save(tmp_path / "model.zarr")
    np.testing.assert_array_equal(bt.load_model(tmp_path / "model.zarr").author_topic_prior_, prior)


@pytest.mark.parametrize(("array", "scheme"), [("author_topics", OwnPrior()), ("topic_words", OwnRowPrior())])
def test_priors_of_rows_and_of_columns_are_not_mixed_up(array, scheme):
    method = replace(methods.get("author-vb"), prior_schemes={array: scheme})
    with pytest.raises(SettingError, match=rf"prior_schemes\['{array}'\].*cannot be learned.*choose one of"):
        check_method(method)

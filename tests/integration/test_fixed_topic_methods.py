"""Methods of the kernels that hold the topics fixed, with the papers' settings: what every method promises, and a case
of each that another way of computing knows."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.inference.infer import infer
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.plan.slices import Plan
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.interpolate_normalised import InterpolateNormalised
from bigtopic.schemes.replace import Replace
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance import test_methods as promises
from conformance import test_precision as precision

TOPIC_WORDS = "topic_words"
UNIFORM = {TOPIC_WORDS: ("uniform", None)}
SAMPLES = {"burn_in": 25, "samples": 25}

METHODS = [
    Method(
        "online-fw",
        "frank_wolfe",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        init=UNIFORM,
        options={"statistic": "phi"},
    ),
    Method(
        "ml-fw",
        "frank_wolfe",
        {TOPIC_WORDS: InterpolateNormalised(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        priors={"topic_word_prior": 0.0},
        init=UNIFORM,
        options={"statistic": "theta"},
    ),
    Method(
        "streaming-fw",
        "frank_wolfe",
        {TOPIC_WORDS: Add()},
        batch_size=5000,
        init=UNIFORM,
        options={"statistic": "phi"},
    ),
    Method(
        "online-cgs",
        "gibbs_expected_log",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        init={TOPIC_WORDS: ("gamma", None)},
        options=SAMPLES,
    ),
    Method(
        "ml-cgs",
        "gibbs",
        {TOPIC_WORDS: InterpolateNormalised(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        priors={"topic_word_prior": 0.0},
        init=UNIFORM,
        options={"statistic": "theta", **SAMPLES},
    ),
    Method(
        "g-oem",
        "gibbs",
        {TOPIC_WORDS: Interpolate(learning_decay=0.5, learning_offset=1.0)},
        batch_size=100,
        priors={"doc_topic_prior": lambda n_components: 2 / n_components, "topic_word_prior": 0.0},
        init=UNIFORM,
        options={"start": "words", "statistic": "conditionals", "burn_in": 15, "samples": 5},
    ),
    Method(
        "plsa",
        "map_em",
        {TOPIC_WORDS: Replace()},
        batch_size=None,
        max_iter=100,
        tol=1e-4,
        priors={"doc_topic_prior": 1.0, "topic_word_prior": 0.0},
        init=UNIFORM,
    ),
]
SAMPLERS = {"gibbs", "gibbs_expected_log"}


@pytest.fixture(params=METHODS, ids=lambda method: method.name)
def method(request) -> Method:
    return request.param


@pytest.mark.parametrize(
    "promise",
    [
        promises.test_topics_are_finite_positive_distributions,
        promises.test_it_learns,
        promises.test_the_seed_decides,
        promises.test_slices_change_rounding_only,
        promises.test_one_topic_has_a_closed_form,
        promises.test_named_topics_may_be_permuted,
        promises.test_a_tiny_corpus_is_no_special_case,
    ],
    ids=lambda promise: promise.__name__,
)
def test_promises_of_methods(promise, method, corpus):
    if promise is promises.test_named_topics_may_be_permuted and method.kernel in SAMPLERS:
        pytest.skip("draws are keyed by token and taken in the order of the topics' numbers")
    known = {"method": method, "corpus": corpus}
    promise(**{name: known[name] for name in promise.__code__.co_varnames[: promise.__code__.co_argcount]})


@pytest.mark.parametrize("slice_size", [11, 70])
def test_threads_change_no_bit(method, corpus, slice_size):
    models = []
    for n_threads in (1, 3):
        model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=1)
        train(model, corpus, Limits(2), n_threads=n_threads, batch_size=70, slice_size=slice_size)
        models.append(model.topic_words)
    assert models[0].raw.tobytes() == models[1].raw.tobytes()
    assert models[0].sums.tobytes() == models[1].sums.tobytes()


def test_single_precision_costs_little(method, corpus):
    train_docs, test_docs = corpus.split(test_size=0.25, random_state=0)
    settings = {"max_iter": 3, "client": False, "n_threads": 1, "random_state": 0}
    single = LDA(4, method=method, **settings).fit(train_docs)
    double = LDA(4, method=precision.in_double(method), **settings).fit(train_docs)
    assert abs(single.score(test_docs) - double.score(test_docs)) < precision.NATS


def test_transform_is_the_same_for_any_slices(method, corpus):
    model = LDA(4, method=method, max_iter=1, client=False, random_state=0).fit(corpus)
    whole = model.transform(corpus)
    np.testing.assert_array_equal(whole[:7], model.transform(corpus[:7]))
    np.testing.assert_allclose(whole.sum(axis=1), 1, rtol=1e-5)


def test_plsa_takes_steps_of_em(corpus):
    """With one step for the documents, an update is a step of PLSA's EM for the topics, the documents' own taken
    first."""
    plsa = replace(METHODS[-1], options={"max_doc_update_iter": 1})
    model = new_model(plsa, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=3)
    weights = model.topic_words.gather(None)[:, :4].astype(float)
    topics = weights / weights.sum(axis=0)
    counts = corpus.to_scipy(order="stored").toarray().astype(float)
    train(model, corpus, Limits(1), n_threads=1)
    theta = (counts / (topics @ np.full(4, 1 / 4))) @ topics / 4
    theta /= theta.sum(axis=1, keepdims=True)
    expected = topics * ((counts / (theta @ topics.T)).T @ theta)
    np.testing.assert_allclose(model.topic_words.gather(None)[:, :4], expected, rtol=1e-4, atol=1e-4)


def test_plsa_refuses_a_prior_without_a_maximum(corpus):
    with pytest.raises(SettingError, match=r"doc_topic_prior=0\.5.*at least 1"):
        LDA(4, method=METHODS[-1], doc_topic_prior=0.5, client=False).fit(corpus)


def test_plsa_never_goes_down(corpus):
    """With the documents' topics at their maximum for the topics' words, passes climb the likelihood of the corpus."""
    options = {"max_doc_update_iter": 500, "mean_change_tol": 0.0}
    model = new_model(replace(METHODS[-1], options=options), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    counts = corpus.to_scipy(order="stored").toarray().astype(float)
    seen, likelihoods = counts > 0, []
    for _ in range(8):
        train(model, corpus, Limits(1), n_threads=1)
        weights = model.topic_words.gather(None)[:, :4].astype(float)
        found = np.concatenate([part.doc_topics for part in infer(model, corpus, n_threads=1)])
        words = found.astype(float) @ (weights / weights.sum(axis=0)).T
        likelihoods.append(counts[seen] @ np.log(words[seen]) / counts.sum())
    assert min(np.diff(likelihoods)) > -1e-6 and likelihoods[-1] > likelihoods[0] + 0.01


def test_g_oem_interpolates_means_of_documents(corpus):
    """Interpolating (documents of the corpus / of the minibatch) S without a prior is that many times interpolating
    S / (documents of the minibatch), and so the same topics."""
    method = next(m for m in METHODS if m.name == "g-oem")
    begun, model = (
        new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=3) for _ in range(2)
    )
    train(model, corpus, Limits(1), n_threads=1, batch_size=70)
    tokens = np.asarray(corpus.to_scipy(order="stored").sum(axis=1)).ravel()
    mean = begun.topic_words.gather(None)[:, :4].sum() / corpus.n_docs
    plan = Plan([part.n_docs for part in corpus.parts], corpus.nnz / corpus.n_docs, 70, None, seed=3)
    for step, rnd in enumerate(plan.rounds(0), start=1):
        rows = np.concatenate([np.arange(ref.start, ref.stop) for ref in rnd.slices])
        rate = (1 + step) ** -0.5
        mean = (1 - rate) * mean + rate * tokens[rows].mean()
    total = model.topic_words.gather(None)[:, :4].sum(dtype=float)
    assert step > 3 and total == pytest.approx(corpus.n_docs * mean, rel=1e-5)


def test_samplers_refuse_fractions(corpus):
    counts = corpus.to_scipy() * 0.5
    for method in METHODS:
        if method.kernel in SAMPLERS:
            with pytest.raises(SettingError, match=r"whole counts"):
                LDA(2, method=method, client=False).fit(counts)

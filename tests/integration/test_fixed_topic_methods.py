"""Methods of the kernels that hold the topics fixed: a case of each that another way of computing knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bigtopic.errors import InputError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.inference.infer import infer
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method, get
from bigtopic.plan.slices import Plan
from bigtopic.state.new_model import new_model

pytestmark = pytest.mark.battery
NAMES = ("online-fw", "ml-fw", "streaming-fw", "online-cgs", "ml-cgs", "g-oem", "plsa")
SAMPLERS = ("online-cgs", "ml-cgs", "g-oem")
PLSA = get("plsa")


@pytest.fixture(params=NAMES)
def method(request) -> Method:
    return get(request.param)


@pytest.mark.parametrize("slice_size", [11, 70])
@pytest.mark.parametrize("name", [*NAMES, "sgs", "streaming-ilr", "cdf"])
def test_threads_change_no_bit(name, corpus, slice_size):
    method, models = get(name), []
    for n_threads in (1, 3):
        model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=1)
        train(model, corpus, Limits(2), n_threads=n_threads, batch_size=70, slice_size=slice_size)
        models.append(model.topic_words)
    assert models[0].raw.tobytes() == models[1].raw.tobytes()
    assert models[0].sums.tobytes() == models[1].sums.tobytes()


def test_transform_is_the_same_for_any_slices(method, corpus):
    model = LDA(4, method=method, max_iter=1, client=False, random_state=0).fit(corpus)
    whole = model.transform(corpus)
    np.testing.assert_array_equal(whole[:7], model.transform(corpus[:7]))
    np.testing.assert_allclose(whole.sum(axis=1), 1, rtol=1e-5)


def test_plsa_takes_steps_of_em(corpus):
    """With one step for the documents, an update is a step of PLSA's EM for the topics, the documents' own taken
    first."""
    plsa = replace(PLSA, options={"max_doc_update_iter": 1})
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
        LDA(4, method=PLSA, doc_topic_prior=0.5, client=False).fit(corpus)


def test_plsa_never_goes_down(corpus):
    """With the documents' topics at their maximum for the topics' words, passes climb the likelihood of the corpus."""
    options = {"max_doc_update_iter": 500, "mean_change_tol": 0.0}
    model = new_model(replace(PLSA, options=options), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
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
    begun, model = (
        new_model(get("g-oem"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=3) for _ in range(2)
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


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_refuse_fractions(name, corpus):
    with pytest.raises(InputError, match=r"document \d+ has a count of \d.5, .*whole tokens"):
        LDA(2, method=name, client=False).fit(corpus.to_scipy() * 0.5)

"""Online EM with local Gibbs sampling, boosted, and Langevin dynamics, with the papers' settings."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.inference.infer import infer
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import get
from bigtopic.methods.settings import learning, with_settings
from bigtopic.schemes.langevin import Langevin, LazyLangevin
from bigtopic.state.model_store import load, save
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance import test_methods as promises
from reference import case

pytestmark = pytest.mark.battery
TOPIC_WORDS = "topic_words"
BOOSTED, LDS = get("g-oem++"), get("lds")
LAZY = replace(LDS, name="lds-lazy", schemes={TOPIC_WORDS: LazyLangevin(**vars(LDS.schemes[TOPIC_WORDS]))})
METHODS = [BOOSTED, LDS, LAZY]
PLAIN = replace(BOOSTED, kernel="gibbs", inner=1, options={**BOOSTED.options, "statistic": "conditionals"})


@pytest.fixture(params=METHODS, ids=lambda method: method.name)
def method(request):
    return request.param


def learnt(method, corpus, n_passes, n_components=4, seed=0, **sizes):
    model = new_model(method, n_components, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=seed)
    train(model, corpus, Limits(n_passes), **{"n_threads": 1, "batch_size": 50, **sizes})
    return model


@pytest.mark.parametrize(
    "promise",
    [
        promises.test_topics_are_finite_positive_distributions,
        promises.test_it_learns,
        promises.test_the_seed_decides,
        promises.test_slices_change_rounding_only,
        promises.test_a_tiny_corpus_is_no_special_case,
    ],
    ids=lambda promise: promise.__name__,
)
def test_lazy_samples_keep_the_promises_of_methods(promise, corpus):
    """But for one topic, whose closed form has no companion array."""
    known = {"method": LAZY, "corpus": corpus}
    promise(**{name: known[name] for name in promise.__code__.co_varnames[: promise.__code__.co_argcount]})


@pytest.mark.parametrize("slice_size", [11, 50])
def test_threads_change_no_bit(method, corpus, slice_size):
    models = [learnt(method, corpus, 2, n_threads=n, slice_size=slice_size) for n in (1, 3)]
    for name, array in models[0].params.arrays.items():
        other = models[1].params[name]
        assert array.raw.tobytes() == other.raw.tobytes() and array.sums.tobytes() == other.sums.tobytes()
        assert array.prior.tobytes() == other.prior.tobytes()


def test_executors_change_no_bit(method, corpus):
    """Rounds as graphs, whose params travel; a companion array has a prior that changes at every update."""
    plain = learnt(method, corpus, 2)
    graphs = learnt(method, corpus, 2, executor=lambda run: GraphExecutor(run, scheduler="sync"))
    assert all(
        graphs.params[name].raw.tobytes() == array.raw.tobytes()
        for name, array in plain.params.arrays.items()
    )


@pytest.mark.distributed
def test_workers_change_no_bit(method, corpus, three_workers):
    settings = {"method": method, "max_iter": 2, "batch_size": 50, "random_state": 0}
    here, there = (LDA(4, **settings, client=client).fit(corpus) for client in (False, three_workers))
    np.testing.assert_array_equal(here.components_, there.components_)


def test_a_saved_model_continues_with_the_same_bits(method, corpus, tmp_path):
    whole, half = (new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens) for _ in range(2))
    for model, limit in ((whole, 2), (half, 1)):
        train(model, corpus, Limits(limit), n_threads=1, batch_size=50)
    if method is LAZY:  # the last update of a run is another one
        whole = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
        for _ in range(2):
            train(whole, corpus, Limits(1), n_threads=1, batch_size=50)
    save(half, tmp_path / "model.zarr")
    again, _ = load(tmp_path / "model.zarr", method)
    train(again, corpus, Limits(1), n_threads=1, batch_size=50)
    for name, array in whole.params.arrays.items():
        np.testing.assert_array_equal(again.params[name].gather(None), array.gather(None))


@pytest.mark.parametrize("offset", [0.0, 1.0, 20.0])
def test_a_round_is_that_of_the_equations(corpus, offset):
    """Sweeps that each see the topics refreshed by the means, per document, of the sweeps kept so far."""
    some = corpus[:24]
    options = {"start": "words", "burn_in": 2, "samples": 2}
    method, _ = with_settings(replace(BOOSTED, inner=5, options=options), {"learning_offset": offset})
    model = new_model(method, 3, some.vocabulary, n_tokens=some.n_tokens)
    model.topic_words.raw[:, :3] = np.random.default_rng(0).random((len(some.vocabulary), 3))
    model.topic_words.fold()
    old = model.topic_words.gather(None)[:, :3].astype(float) / some.n_docs
    documents = []
    for part in some.parts:
        block = part.read(0, part.n_docs)
        for d in range(block.n_docs):
            own = slice(block.indptr[d], block.indptr[d + 1])
            documents.append((block.words[own], block.counts[own], int(block.rows[d])))
    train(model, some, Limits(1), n_threads=1, batch_size=None)
    boosted = case.reference("gibbs_boosted")["boosted"]
    expected = boosted(documents, old, np.full(3, 2 / 3), (1 + offset) ** -0.5, 5, 2, seed=1)
    np.testing.assert_allclose(
        model.topic_words.gather(None)[:, :3] / some.n_docs, expected, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("learns", [False, True], ids=["alpha", "learned-alpha"])
@pytest.mark.parametrize("eta", [0.0, 0.5])
@pytest.mark.parametrize("offset", [0.0, 1.0, 30.0])
def test_with_one_kept_sweep_boosting_is_the_plain_method(corpus, offset, eta, learns):
    """Burn-in leaves topics and alpha as they are, whatever the step (rho is 1 at first where the offset is 0)."""
    models = []
    for method in (BOOSTED, PLAIN):
        once = replace(method, options={**method.options, "burn_in": 19, "samples": 1})
        once, _ = with_settings(once, {"learning_offset": offset})
        if learns:
            once = learning(once, doc_topic_prior="asymmetric")
            once, _ = with_settings(once, {"doc_topic_prior.begin": 0.0})
        models.append(begun(replace(once, priors={**once.priors, "topic_word_prior": eta}), corpus))
        train(models[-1], corpus, Limits(1), n_threads=1, batch_size=50)
    for name, array in models[0].params.arrays.items():
        values, expected = array.gather(None), models[1].params[name].gather(None)
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def begun(method, corpus):
    """A model of topics that differ, so that there is a start to forget."""
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    model.topic_words.raw[:, :4] = np.random.default_rng(0).gamma(0.5, size=(len(corpus.vocabulary), 4))
    model.topic_words.fold()
    return model


def test_boosting_refreshes_the_topics_within_a_round(corpus):
    several, fixed = (learnt(m, corpus, 1).topic_words.gather(None) for m in (BOOSTED, PLAIN))
    assert np.abs(several - fixed).max() > 0.01 * fixed.max()


def test_a_round_of_burn_in_alone_is_refused(corpus):
    with pytest.raises(SettingError, match=r"all of its 20 inner iterations are burn-in.*shorter"):
        LDA(4, method="g-oem++", options={"burn_in": 20}).fit(corpus)


def test_the_schedule_of_samples_is_that_of_the_user():
    (scheme,) = with_settings(LDS, {"learning_decay": 0.8, "learning_offset": 3.0})[0].schemes.values()
    assert scheme == Langevin(learning_decay=0.8, learning_offset=3.0)


@pytest.mark.parametrize("sampler", [LDS, LAZY], ids=lambda method: method.name)
def test_predictions_averaged_over_samples_are_better(sampler, corpus):
    """Mean of p(word | document) over samples of the topics, against the best of the samples."""
    model = new_model(sampler, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    counts = corpus.to_scipy(order="stored").toarray()
    train(model, corpus, Limits(10), n_threads=1, batch_size=50)
    scores, mean = [], 0.0
    for _ in range(8):
        train(model, corpus, Limits(1), n_threads=1, batch_size=50)
        weights = model.topic_words.gather(None)[:, :4]
        theta = np.concatenate([part.doc_topics for part in infer(model, corpus, n_threads=1)])
        words = np.maximum(theta.astype(float) @ (weights / weights.sum(axis=0)).T, 1e-12)
        scores.append((counts * np.log(words)).sum() / counts.sum())
        mean = mean + words / 8
    assert (counts * np.log(mean)).sum() / counts.sum() > max(scores)

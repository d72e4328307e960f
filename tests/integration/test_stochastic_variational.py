"""Stochastic variational methods: identities between them."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets.synthetic import KnownLDA
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import log_predictive
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.rounds import iteration_of
from bigtopic.learning.run import Settings
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method, get
from bigtopic.methods.method import UntilRest
from bigtopic.methods.settings import learning
from bigtopic.plan.cursor import Cursor
from bigtopic.schemes.interpolate import Interpolate, InterpolateRaw
from bigtopic.state.new_model import new_model

pytestmark = pytest.mark.battery


sys.path.insert(0, str(Path(__file__).parents[1]))

TOPIC_WORDS = "topic_words"
NAMES = ("scvb0", "svb", "v-oem", "v-oem++", "splda")
METHODS = SCVB0, SVB, V_OEM, BOOSTED, SPLDA = [get(name) for name in NAMES]


@pytest.fixture(params=METHODS, ids=lambda method: method.name)
def method(request) -> Method:
    return request.param


def learn(method, corpus, n_passes=1, n_components=4, seed=3, **settings):
    model = new_model(method, n_components, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=seed)
    train(model, corpus, Limits(n_passes), **{"n_threads": 1, **settings})
    return model


def statistics(model):
    """Without the prior, (n_words, n_components)."""
    array = model.topic_words
    return array.gather(None)[:, : array.n_components].astype(float) - array.prior


@pytest.mark.parametrize(
    "executor",
    [None, lambda run: GraphExecutor(run, scheduler="sync")],
    ids=["three threads", "graph"],
)
def test_executors_change_no_bit(executor, method, corpus):
    sizes = {"batch_size": 70, "slice_size": 20, "n_passes": 2}
    one = learn(method, corpus, **sizes).topic_words
    other = learn(method, corpus, executor=executor, n_threads=3, **sizes).topic_words
    assert other.raw.tobytes() == one.raw.tobytes() and other.sums.tobytes() == one.sums.tobytes()


def test_held_out_words_are_as_likely_as_by_online_vb(method, corpus):
    """Better than their frequencies, and not far from stochastic variational inference with the same passes."""
    held_in, held_out = corpus.split(100, random_state=1)
    settings = {"max_iter": 8, "batch_size": 40, "client": False, "random_state": 0}
    # in updates, which are of 40 documents here and otherwise of one
    offset = {"learning_offset": 100 / 40} if method is SPLDA else {}
    own, known = (
        log_predictive(LDA(4, method=m, **settings, **more).fit(held_in), held_out)
        for m, more in ((method, offset), (get("online-vb"), {}))
    )
    assert own.value > own.unigram
    assert own.value - own.unigram > 0.8 * (known.value - known.unigram)


# ---------------------------------------------------------------- streaming variational Bayes


def test_svb_of_one_minibatch_is_batch_vb(corpus):
    """The same passes, as inner iterations of the only round: five updates from the prior and the same start."""
    vb = replace(get("vb"), priors=SVB.priors, options=SVB.options)
    iterations = replace(SVB, kernel="vb", inner=5, inference=None)
    batch, streaming = learn(vb, corpus, n_passes=5), learn(iterations, corpus)
    np.testing.assert_allclose(statistics(streaming), statistics(batch), rtol=1e-4, atol=1e-4)


def test_svb_that_goes_on_ends_where_batch_vb_does(corpus):
    """Documents that go on from their own gamma come to the same rest as those that begin anew."""
    close = {"mean_change_tol": 1e-6, "max_doc_update_iter": 1000}
    vb = replace(get("vb"), priors=SVB.priors, options=close)
    batch = learn(vb, corpus, n_passes=300)
    streaming = learn(replace(SVB, inner=UntilRest(300, 0.0), options=close), corpus)
    np.testing.assert_allclose(statistics(streaming), statistics(batch), rtol=1e-2, atol=1e-2)


def test_svb_counts_every_token_once(corpus):
    """Total mass: the prior, and the tokens seen; not what the first minibatch started from."""
    model = learn(SVB, corpus, n_passes=2, batch_size=70)
    assert model.topic_words.totals().sum() == pytest.approx(2 * corpus.n_tokens, rel=1e-6)


# ---------------------------------------------------------------- SCVB0


def test_scvb0_keeps_the_tokens_of_the_corpus(corpus):
    model = learn(SCVB0, corpus, n_passes=3, batch_size=70)
    assert model.topic_words.totals().sum() == pytest.approx(corpus.n_tokens, rel=1e-6)


def test_scvb0_with_full_steps_is_em_with_priors_larger_by_one(corpus):
    """The whole corpus per update and steps of 1: synchronous CVB0 without leaving out a token's own share, which is EM
    for the most probable parameters of alpha + 1 and eta + 1 (Asuncion et al. 2009). An update is a step of that EM
    with the documents at their maximum, as nearly as more passes over a document bring it there."""
    priors = {"doc_topic_prior": 0.4, "topic_word_prior": 0.2}
    scheme = Interpolate(learning_decay=None, scale="tokens")
    full = replace(SCVB0, schemes={TOPIC_WORDS: scheme}, batch_size=None, priors=priors)
    weights = statistics(new_model(full, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=3)) + 0.2
    topics, counts = weights / weights.sum(axis=0), corpus.to_scipy(order="stored").toarray().astype(float)
    tokens = np.repeat(counts.sum(axis=1, keepdims=True) / 4, 4, axis=1)
    for _ in range(3000):
        theta = tokens + 0.4
        ratios = counts / (theta @ topics.T)
        tokens = theta * (ratios @ topics)
    expected, distances = topics * (ratios.T @ theta), []
    for burn_in in (30, 300, 3000):
        options = {"burn_in": burn_in, "doc_learning_decay": 0.6}
        model = learn(replace(full, options=options), corpus)
        distances.append(np.abs(statistics(model) - expected).sum())
    assert distances[0] > 3 * distances[1] > 9 * distances[2]  # ten times the passes: steps of a quarter


# ---------------------------------------------------------------- online expectation-maximisation


def test_boosted_inner_iterations_refresh_topics_from_means_of_documents(corpus):
    """V-OEM++ in dense NumPy: each iteration under the old statistics moved by the mean of those of the last one."""
    n_inner, n_components = 4, 3
    method = replace(BOOSTED, inner=n_inner, batch_size=100)
    model = new_model(method, n_components, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=3)
    array, rng = model.topic_words, np.random.default_rng(0)
    array.raw[:, :n_components] = rng.gamma(1.0, size=(len(corpus.vocabulary), n_components))
    array.fold()
    before = statistics(model)
    train(model, corpus, Limits(1), n_threads=1, batch_size=corpus.n_docs)
    rate, prior = 2**-0.5, method.prior("doc_topic_prior", n_components)
    start = first_gamma(model, corpus, n_components, prior)
    counts = corpus.to_scipy(order="stored").toarray().astype(float)
    gamma, moved = start, before
    for _ in range(n_inner):
        topics = moved / moved.sum(axis=0)
        weights = np.exp(psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))
        ratios = counts / (weights @ topics.T)
        found = topics * (ratios.T @ weights)
        gamma = prior + weights * (ratios @ topics)
        moved = (1 - rate) * before + rate * found / corpus.n_docs
    np.testing.assert_allclose(statistics(model), moved, rtol=1e-4, atol=1e-5)


def first_gamma(model, corpus, n_components, prior):
    """The start of every document, by the reference: one draw for all tokens of a word."""
    from reference import case

    seed = iteration_of(Cursor(), 1, Settings(model.method.schemes, model.seed, 1, 1)).seed
    draw, gammas = case.reference("v_oem")["start"], []
    for block in corpus.blocks():
        for d in range(block.n_docs):
            own = slice(block.indptr[d], block.indptr[d + 1])
            of_word = np.repeat(np.arange(own.stop - own.start), block.counts[own].astype(int))
            shares = draw(len(of_word), of_word, n_components, seed, int(block.rows[d]))
            gammas.append(prior + shares.sum(axis=0))
    return np.array(gammas)


def test_statistics_of_v_oem_are_means_of_documents(corpus):
    """However large the minibatch: the mean length of a document, interpolated."""
    lengths = np.asarray(corpus.to_scipy(order="stored").sum(axis=1)).ravel()
    for method in (V_OEM, BOOSTED):
        model = learn(replace(method, schemes={TOPIC_WORDS: InterpolateRaw(None)}), corpus, batch_size=300)
        assert model.topic_words.totals().sum() == pytest.approx(lengths.mean(), rel=1e-5)


def test_boosting_uses_topics_that_follow(corpus):
    """The inner iterations of a round do not repeat iterations under the same topics."""
    plain, boosted = (statistics(learn(method, corpus, batch_size=100)) for method in (V_OEM, BOOSTED))
    assert not np.allclose(plain, boosted, rtol=1e-2)


# ---------------------------------------------------------------- single-pass LDA


@pytest.mark.parametrize("learns", [False, True], ids=["alpha", "learned-alpha"])
@pytest.mark.parametrize("scheme", [SPLDA.schemes[TOPIC_WORDS], Interpolate(0.5, 1.0)], ids=["ours", "paper"])
def test_a_pass_of_splda_is_that_of_the_equations(scheme, learns, corpus):
    """Document after document, with the same random numbers."""
    from reference import case

    few, n_components = corpus[:40], 3
    method = replace(SPLDA, schemes={TOPIC_WORDS: scheme})
    method = learning(method, "asymmetric" if learns else None)
    model = new_model(method, n_components, few.vocabulary, n_tokens=few.n_tokens, seed=3)
    start = statistics(model)
    priors = [method.prior(name, n_components) for name in ("doc_topic_prior", "topic_word_prior")]
    train(model, few, Limits(1), n_threads=1, batch_size=1, order="stored")

    block = few.read(order="stored")
    owns = [slice(*ends) for ends in pairwise(block.indptr)]
    seed = iteration_of(Cursor(), 1, Settings(method.schemes, model.seed, 1, 1)).seed

    def draw(d, n):
        """One draw for all tokens of a word."""
        return case.reference("v_oem")["start"](n, np.arange(n), n_components, seed, int(block.rows[d]))

    documents = [(block.words[own], block.counts[own].astype(float)) for own in owns]
    rates = [scheme.schedule()(t, None) for t in range(1, len(documents) + 1)]
    alpha, eta = np.full(n_components, priors[0]), priors[1]
    found = case.reference("splda")["learn"](documents, start, alpha, eta, rates, method.inner, draw, learns)
    np.testing.assert_allclose(statistics(model), found[0], rtol=1e-3, atol=1e-4 * found[0].max())
    np.testing.assert_allclose(
        model.params["doc_topic_prior"].first_row()[:n_components], found[1], rtol=1e-4
    )


@pytest.mark.slow
def test_one_pass_of_splda_beats_the_frequencies_of_words():
    """By more than 0.1 nats a token. The equations with the paper's steps do not: topics are of the last documents."""
    from reference import case

    made = KnownLDA(1000, 10, 60.0, topic_word_prior=0.1, zipf_exponent=0.5).documents(600)
    held_in, held_out = from_matrix(made.counts).split(150, random_state=1)
    model = LDA(20, method="splda", random_state=0, client=False, n_threads=1).fit(held_in)
    ours = log_predictive(model, held_out)
    assert ours.value > ours.unigram + 0.1

    block, rng = held_in.read(order="stored"), np.random.default_rng(0)
    documents = [(block.words[a:b], block.counts[a:b].astype(float)) for a, b in pairwise(block.indptr)]
    rates = (1.0 + np.arange(1, len(documents) + 1)) ** -0.5
    found, _ = case.reference("splda")["learn"](
        documents,
        rng.gamma(100, 0.01, (1000, 20)),
        np.full(20, 2 / 20),
        1 / 20,
        rates,
        20,
        lambda d, n: rng.dirichlet(np.ones(20), n),
    )
    told = {"train": held_in, "vocabulary": held_in.vocabulary, "doc_topic_prior": 2 / 20}
    papers = log_predictive(((found + 1 / 20) / (found + 1 / 20).sum(axis=0)).T, held_out, **told)
    assert papers.value < papers.unigram

"""`AuthorTopicModel`: what it learns, from batches and minibatches, and what it says of authors and documents."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic import methods
from bigtopic.datasets import KnownAuthors
from bigtopic.errors import InputError, SettingError
from bigtopic.schemes.interpolate import Interpolate, InterpolateRows
from bigtopic.state.bound import global_part

sys.path.insert(0, str(Path(__file__).parents[2]))

from reference import case, signed

K = 5
QUIET = {"client": False, "n_threads": 1, "progress": False}


@pytest.fixture(scope="module")
def known_authors():
    """4000 documents of 50 tokens by three of 1000 authors each, others, and two perplexities of the others."""
    drawn = KnownAuthors(500, 1000, 20, authors_per_doc=3, mean_length=50)
    corpus, held_out = drawn.corpus(4000), drawn.corpus(2000, 4000)
    seen, counts = (np.asarray(part.to_scipy().sum(axis=0)).ravel() for part in (corpus, held_out))
    logs = np.log((seen + 1.0) / (seen + 1.0).sum())
    return corpus, held_out, np.exp(-(counts @ logs) / counts.sum()), drawn.perplexity(2000, 4000)


METHODS = (
    "online-author-cvb0",
    "author-vb",
    "online-author-vb",
    "online-author-vb-local",
    "author-mean-field",
)


@pytest.fixture(scope="module", params=METHODS)
def fitted(request, corpus):
    """The likeliest of four."""
    return likeliest(K, corpus, method=request.param)


def likeliest(n_components, corpus, n_starts=4, **settings):
    models = [
        bt.AuthorTopicModel(n_components, random_state=seed, **settings, **QUIET).fit(corpus)
        for seed in range(n_starts)
    ]
    return min(models, key=lambda model: model.author_perplexity(corpus))


def apart(model, truth):
    """Total variation distance of each author's topics from the true ones."""
    found = model.array("author_topics").values[:, signed.matched(model, truth)]
    return np.abs(found - truth.author_topics).sum(axis=1) / 2


@pytest.mark.costly(2)
def test_authors_and_their_topics_are_found(fitted, truth):
    """Also of authors of few documents; the last ten have 10 to 30 of them."""
    found = apart(fitted, truth)
    assert found.mean() < 0.12 and found[-10:].mean() < 0.15


@pytest.mark.costly
@pytest.mark.parametrize("method", ["author-cgs", "author-cvb0", "author-cvb"])
def test_methods_that_remember_documents_find_authors(method):
    """Gibbs sampling finds them from 16 to 18 of 40 starts: hence ten."""
    truth = signed.drawn(300, 60, 8, 3, length=40, most=2, seed=2)
    settings = {"method": method, "max_iter": 40, "batch_size": 300, "slice_size": 300}
    found = likeliest(3, signed.corpus_of(truth.docs), n_starts=10, **settings)
    assert apart(found, truth).mean() < 0.12


def test_batch_learning_is_the_reference_pass_by_pass(corpus, truth):
    """Three passes of coordinate ascent, over slices of some documents, from the same start."""
    brute_force = case.reference("author_vb")
    settings = {"method": "author-vb", "tol": 0.0, "slice_size": 130, "author_topic_prior": 0.3, **QUIET}
    start = bt.AuthorTopicModel(K, topic_word_prior=0.2, max_iter=1, **settings)._new_model(corpus, 0)
    authors, words = signed.weights(start)
    for _ in range(3):
        words, authors = brute_force["batch_step"](signed.listed(truth.docs), words, authors, 0.2, 0.3)
    model = bt.AuthorTopicModel(K, topic_word_prior=0.2, max_iter=3, **settings).fit(corpus)
    found_authors, found_words = signed.weights(model._model)
    np.testing.assert_allclose(found_authors, authors, rtol=2e-4)
    np.testing.assert_allclose(found_words, words, rtol=2e-4)
    bound = brute_force["bound"](signed.listed(truth.docs), words, authors, 0.2, 0.3)
    again = bt.AuthorTopicModel(K, topic_word_prior=0.2, max_iter=4, **settings | {"tol": 1e-9}).fit(corpus)
    np.testing.assert_allclose(again.history_[3]["bound"] * corpus.n_tokens, bound, rtol=1e-6)


def test_the_bound_of_batch_learning_never_falls(corpus):
    model = bt.AuthorTopicModel(K, method="author-vb", max_iter=60, tol=1e-12, **QUIET).fit(corpus)
    bounds = np.array([row["bound"] for row in model.history_])
    assert len(bounds) == 60 and np.diff(bounds).min() > -1e-7 and bounds[-1] > bounds[0] + 0.1


def test_batch_learning_does_not_stop_before_topics_differ():
    """At first the bound rests: from this start, a pass adds less than 0.01 % to it after the third."""
    truth = signed.drawn(1500, 400, 60, 8, seed=1)
    corpus = signed.corpus_of(truth.docs)
    model = bt.AuthorTopicModel(8, method="author-vb", random_state=2, **QUIET).fit(corpus)
    assert model.author_perplexity(corpus) < 115  # 168 after three passes


def test_authors_of_few_tokens_are_told_apart(known_authors):
    """The default closes half of the gap between words alone and the truth, in nats; the authors have 200 tokens each.

    Variational Bayes closes a third of it in as many passes.
    """
    corpus, held_out, unigram, truth = known_authors
    model = bt.AuthorTopicModel(20, max_iter=20, **QUIET).fit(corpus)
    assert np.log(unigram / model.author_perplexity(held_out)) > np.log(unigram / truth) / 2


def test_documents_that_move_their_authors_need_fewer_passes(corpus):
    def bound(method, seed):
        settings = {"method": method, "max_iter": 3, "random_state": seed, **QUIET}
        model = bt.AuthorTopicModel(K, **settings).fit(corpus)
        return (model.document_bounds(corpus).sum() + global_part(model._model.params)) / corpus.n_tokens

    gains = [bound("online-author-vb-local", seed) - bound("online-author-vb", seed) for seed in range(3)]
    assert min(gains) > 0


def test_every_token_is_counted_once_on_both_axes(corpus, truth):
    model = bt.AuthorTopicModel(K, method="author-vb", author_topic_prior=0.1, max_iter=5, **QUIET).fit(
        corpus
    )
    authors, words = signed.weights(model._model)
    n_tokens = truth.docs.counts.sum()
    np.testing.assert_allclose(authors.sum() - 30 * K * 0.1, n_tokens, rtol=1e-5)
    np.testing.assert_allclose(words.sum() - 150, n_tokens, rtol=1e-5)


def test_gibbs_sampling_counts_every_token_once_in_all_passes(corpus, truth):
    settings = {"method": "author-cgs", "max_iter": 5, "batch_size": 450, "slice_size": 150}
    model = bt.AuthorTopicModel(K, **settings, **QUIET).fit(corpus)
    for name, axis in (("author_topics", "authors"), ("topic_words", "words")):
        counts = model._model.params[name].raw
        assert (counts == np.round(counts)).all() and counts.min() >= 0, axis
        assert counts.sum() == truth.docs.counts.sum()


@pytest.mark.parametrize(("most", "tolerance"), [(1, 0.0), (4, 0.0), (50, 1e-3)], ids=str)
@pytest.mark.parametrize("steps", [{}, {"learning_decay": 0.7, "learning_offset": 3.0}], ids=str)
def test_the_algorithm_of_the_thesis_document_by_document(most, tolerance, steps):
    """Of its M steps, the last is the update's own."""
    docs = signed.documents([8, 12, 15, 7, 22, 9], 30, 7, seed=3)
    corpus = signed.corpus_of(docs)
    settings = {"method": "mortensen:algorithm-2", "order": "stored", "max_iter": 2, **steps, **QUIET}
    settings |= {"topic_word_prior": 0.2, "author_topic_prior": 0.3}
    settings |= {"max_doc_update_iter": most, "mean_change_tol": tolerance}
    start = bt.AuthorTopicModel(3, **settings)._new_model(corpus, 0)
    authors, words = signed.weights(start)
    n_docs_of = np.bincount(docs.authors, minlength=7)
    given = steps.get("learning_decay", 0.5), steps.get("learning_offset", 1.0), most + 1, tolerance, 2
    learn = case.reference("author_algorithm_2")["learn"]
    words, authors = learn(signed.listed(docs), words, authors, (0.2, 0.3), n_docs_of, *given)
    model = bt.AuthorTopicModel(3, **settings).fit(corpus)
    for one, other in zip(signed.weights(model._model), (authors, words), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4)


def test_a_minibatch_of_all_documents_with_full_steps_is_batch_learning(corpus):
    online = methods.get("online-author-vb")
    steps = {"learning_decay": None, "learning_scale": 1.0}
    rows = InterpolateRows(documents="author_documents", **steps)
    schemes = {**online.schemes, "topic_words": Interpolate(**steps), "author_topics": rows}
    whole = replace(online, name="whole", schemes=schemes, batch_size=None)
    one, other = (
        bt.AuthorTopicModel(K, method=method, max_iter=3, tol=0.0, slice_size=100, **QUIET).fit(corpus)
        for method in (whole, "author-vb")
    )
    for name in ("author_topics", "topic_words"):
        np.testing.assert_allclose(one.array(name).values, other.array(name).values, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("method", ["author-vb", "online-author-cvb0", "online-author-vb"])
def test_threads_change_no_bit(corpus, method):
    settings = {"method": method, "max_iter": 2, "slice_size": 100, "client": False, "progress": False}
    one, three = (bt.AuthorTopicModel(K, n_threads=n, **settings).fit(corpus) for n in (1, 3))
    for name in ("author_topics", "topic_words"):
        np.testing.assert_array_equal(one.array(name).values, three.array(name).values)


@pytest.mark.costly(2)
@pytest.mark.parametrize(
    "method",
    ["online-author-cvb0", "author-cgs", "author-vb", "online-author-vb", "author-cvb0", "author-cvb"],
)
def test_a_run_that_is_cut_and_resumed_has_the_same_bits(corpus, method, tmp_path):
    def stop(event):
        if event.kind == "round" and event.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    settings = {"method": method, "max_iter": 4, "batch_size": None if method == "author-vb" else 450}
    settings |= {"slice_size": 225, "tol": 0.0, **QUIET}
    whole = bt.AuthorTopicModel(K, **settings).fit(corpus)
    saved = bt.Checkpoint(tmp_path / "run", seconds=0)
    cut = bt.AuthorTopicModel(K, callbacks=[stop], **settings).fit(corpus, checkpoint=saved)
    assert cut.n_batch_iter_ == 3 < whole.n_batch_iter_
    resumed = bt.AuthorTopicModel(K, **settings).fit(corpus, checkpoint=saved, resume=True)
    for name in ("author_topics", "topic_words"):
        np.testing.assert_array_equal(resumed.array(name).values, whole.array(name).values)


@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.parametrize("method", ["author-vb", "online-author-vb"])
def test_workers_change_no_bit(corpus, method, one_worker, three_workers):
    settings = {"method": method, "max_iter": 2, "slice_size": 100, "progress": False}
    models = [
        bt.AuthorTopicModel(K, client=client, **settings).fit(corpus)
        for client in (False, one_worker, three_workers)
    ]
    for (one, other), name in (
        (pair, name) for pair in pairwise(models) for name in ("author_topics", "topic_words")
    ):
        np.testing.assert_array_equal(one.array(name).values, other.array(name).values)


def test_documents_without_authors_are_refused(truth):
    with pytest.raises(
        InputError, match=r"arrays of authors, but the documents have none; ingest them with authors="
    ):
        bt.AuthorTopicModel(2, **QUIET).fit(np.ones((3, 4)))
    indptr = truth.docs.author_indptr.copy()
    indptr[4:] -= indptr[4] - indptr[3]
    docs = replace(truth.docs, author_indptr=indptr, authors=truth.docs.authors[: indptr[-1]])
    model = bt.AuthorTopicModel(2, batch_size=1, order="stored", **QUIET)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(InputError, match="row 3 of the source has no author"):
            learn(signed.corpus_of(docs))
    assert not hasattr(model, "components_")  # nothing was learned from the three documents before it


def test_priors_have_their_names(corpus):
    with pytest.raises(SettingError, match=r"author_topic_prior=-1"):
        bt.AuthorTopicModel(2, author_topic_prior=-1, **QUIET).fit(corpus)
    with pytest.raises(SettingError, match=r"has no parameter 'doc_topic_prior'"):
        bt.AuthorTopicModel(2).set_params(doc_topic_prior=0.1)
    model = bt.AuthorTopicModel(2, author_topic_prior=[0.2, 0.7], max_iter=1, **QUIET).fit(corpus)
    np.testing.assert_allclose(model.author_topic_prior_, [0.2, 0.7])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"method": "xyz"},
            r"choose one of: author-cgs, author-cvb, author-cvb0, [^;]*sequential-author-vb; or a paper's name: [mr]",
        ),
        (
            {"method": "author-cgs", "learn_topic_word_prior": "symmetric"},
            r"one of the methods author-vb, .*-mean-field, or .* kernels author_mean_field, author_vb",
        ),
    ],
)
def test_errors_name_methods_with_authors(settings, message, corpus):
    with pytest.raises(SettingError, match=message):
        bt.AuthorTopicModel(K, **settings, **QUIET).fit(corpus)


def test_methods_without_authors_are_refused(corpus):
    with pytest.raises(
        SettingError, match="'lda' counts topic, but AuthorTopicModel fits models with topics of authors"
    ):
        bt.AuthorTopicModel(K, method="vb", **QUIET).fit(corpus)

"""New documents and new authors for an author-topic model that has been fitted."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic import kernels
from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, ModelError, SettingError
from bigtopic.kernels.variational import vb

sys.path.insert(0, str(Path(__file__).parents[2]))

from reference import case, signed

K = 5
QUIET = {"client": False, "n_threads": 1, "progress": False}


def test_a_new_author_is_all_of_their_documents_in_one(fitted, truth):
    """gamma at rest is that of `vb` for one document with all the words."""
    own = np.flatnonzero(np.bincount(truth.docs.words, minlength=150))
    rng = np.random.default_rng(3)
    counts = rng.multinomial(60, truth.topic_words @ truth.author_topics[7], size=5)
    matrix = bt.from_matrix(counts, fitted.vocabulary_[:], shuffle=False)
    corpus = matrix.with_authors({"zoe": [str(row) for row in range(5)]})
    topics, names = fitted.transform_authors(corpus, tol=1e-6, max_iter=500)
    bag = case.documents([len(own)], 150)
    bag = replace(bag, words=own.astype(np.int32), counts=counts.sum(axis=0)[own].astype(np.float32))
    authors, words = signed.weights(fitted._model)
    told = case.hyper(
        vb.KERNEL, fitted.author_topic_prior_, K, max_doc_update_iter=5000, mean_change_tol=1e-9
    )
    gammas, _ = vb.posterior(bag, signed.view(kernels.load("author_vb"), words, authors), told)
    np.testing.assert_array_equal(names, ["zoe"])
    np.testing.assert_allclose(topics[0], gammas[0] / gammas[0].sum(), atol=2e-4)


def test_new_authors_beside_known_ones(fitted, truth):
    """What the model knows stays, and a new author gets the words that the known one would not have written."""
    before = fitted.array("author_topics").values.copy()
    topics = truth.topic_words @ truth.author_topics.T
    far = int(np.argmax(np.abs(truth.author_topics - truth.author_topics[0]).sum(axis=1)))
    counts = np.random.default_rng(3).multinomial(80, (topics[:, 0] + topics[:, far]) / 2, size=40)
    everything = [str(row) for row in range(40)]
    corpus = bt.from_matrix(counts, fitted.vocabulary_[:]).with_authors(
        dict.fromkeys(["a0", "zoe"], everything)
    )
    found, names = fitted.transform_authors(corpus)
    assert names.tolist() == ["a0", "zoe"]
    np.testing.assert_array_equal(found[0], fitted.author_topics("a0"))
    like = np.abs(truth.author_topics[[0, far]] - found[1, signed.matched(fitted, truth)]).sum(axis=1)
    assert like[1] < 0.5 * like[0]
    np.testing.assert_array_equal(fitted.array("author_topics").values, before)


@pytest.mark.costly
@pytest.mark.parametrize("method", ["author-vb", "online-author-vb"])
def test_update_learns_new_documents_and_authors(truth, method):
    docs = truth.docs
    whole = signed.corpus_of(docs)
    first = whole.run(0, 700, order="stored")
    known = sorted(set(docs.authors[: docs.author_indptr[700]].tolist()))
    model = bt.AuthorTopicModel(K, method=method, random_state=2, **QUIET).fit(only(first, known))
    step, frequencies = model.n_batch_iter_, np.bincount(docs.authors)
    perplexity = model.author_perplexity(first)
    model.update(whole, max_iter=5)
    assert model.n_batch_iter_ > step and model.n_docs_seen_ == 900
    counted = dict(zip(model.authors_[:], model.authors_.document_frequency, strict=True))
    assert counted == {f"a{i}": n for i, n in enumerate(frequencies) if n}
    assert model.author_perplexity(first) < 1.05 * perplexity
    with pytest.raises(InputError, match="no documents from row 900 on"):
        model.update(whole)


def test_only_new_documents_leave_the_authors_of_others_as_they_were(truth):
    whole = signed.corpus_of(truth.docs)
    model = bt.AuthorTopicModel(K, max_iter=5, **QUIET).fit(whole.run(0, 890, order="stored"))
    before, others = dict(zip(model.authors_[:], author_weights(model), strict=True)), 0
    model.update(whole, only_new=True, max_iter=2)
    new = {f"a{i}" for i in truth.docs.authors[truth.docs.author_indptr[890] :]}
    for name, weights in zip(model.authors_[:], author_weights(model), strict=True):
        assert np.array_equal(weights, before.get(name)) == (name not in new)
        others += name not in new
    assert 5 < others < 30


@pytest.mark.parametrize(
    "method", ["author-vb", "author-mean-field", "author-cgs", "author-cvb0", "author-cvb"]
)
def test_only_new_documents_are_not_enough_for_methods_that_need_all(corpus, method):
    """They would replace what is known of all others, or count the new ones once more in the next update."""
    options = {"most_authors": 30} if "cvb" in method else None
    first = corpus.run(0, 890, order="stored")
    model = bt.AuthorTopicModel(K, method=method, options=options, max_iter=1, **QUIET).fit(first)
    before = author_weights(model)
    with pytest.raises(SettingError, match=f"only_new=True: method '{method}'.*online-author-cvb0"):
        model.update(corpus, only_new=True)
    np.testing.assert_array_equal(author_weights(model), before)
    assert model.n_docs_seen_ == 890


@pytest.mark.parametrize("method", ["author-cvb0", "author-cvb"])
def test_documents_of_too_many_authors_are_refused_before_any_is_learned(corpus, truth, method):
    most = int(np.diff(truth.docs.author_indptr).max())
    settings = {"method": method, "options": {"most_authors": most}, "batch_size": 50, "max_iter": 1, **QUIET}
    model = bt.AuthorTopicModel(K, **settings).fit(corpus)
    before = author_weights(model)
    crowd = bt.from_matrix(corpus[:200].to_scipy(), corpus.vocabulary)
    names = {str(row): [f"a{i}" for i in range(1 + most * (row == 150))] for row in range(200)}
    with pytest.raises(InputError, match=rf"row 150 of the source has {most + 1} authors"):
        model.partial_fit(crowd.with_authors(names))
    np.testing.assert_array_equal(author_weights(model), before)
    assert model.n_docs_seen_ == 900


def test_a_model_of_a_split_is_told_where_new_documents_begin(truth):
    """Else documents that were held out would count as new ones."""
    whole = signed.corpus_of(truth.docs)
    train = whole.run(0, 890, order="stored").split(test_size=100, random_state=0)[0]
    model = bt.AuthorTopicModel(K, max_iter=1, **QUIET).fit(train)
    before = author_weights(model)
    with pytest.raises(
        InputError, match=r"other documents than the ones before row 790.*first_new=, the source row"
    ):
        model.update(whole, max_iter=1)
    np.testing.assert_array_equal(author_weights(model), before)
    model.update(whole, first_new=890, max_iter=1)
    assert model.n_docs_seen_ == 900


def test_another_corpus_is_refused(truth, corpus):
    model = bt.AuthorTopicModel(K, max_iter=1, **QUIET).fit(corpus.run(0, 800, order="stored"))
    other = bt.from_matrix(corpus.to_scipy("stored"), corpus.vocabulary, shuffle=False)
    other = other.with_authors({str(row): ["zoe"] for row in range(900)})
    for first_new in (None, 700):
        with pytest.raises(
            InputError, match=r"0 of them are by 'a0', and it has seen \d+; give the corpus of fit"
        ):
            model.update(other, first_new=first_new)
    assert model.n_docs_seen_ == 800


@pytest.mark.parametrize("method", ["author-cgs", "author-cvb0"])
def test_documents_are_never_counted_twice(truth, method):
    """Of those that are not recognised: cut from a part, or learned before the last documents."""
    settings = {"method": method, "options": {"most_authors": 30} if "cvb" in method else None, **QUIET}
    one, many = (signed.corpus_of(truth.docs, n_parts=n) for n in (1, 9))
    cut = bt.AuthorTopicModel(K, max_iter=1, **settings).fit(one.run(0, 500, order="stored"))
    later = bt.AuthorTopicModel(K, max_iter=1, **settings).fit(many.run(0, 500, order="stored"))
    later.partial_fit(many.run(500, 900, order="stored"))
    for model, told in ((cut, {}), (later, {"first_new": 500})):
        before = author_weights(model)
        with pytest.raises(
            ModelError, match="does not belong to the earlier documents of this corpus, which it would count"
        ):
            model.update(one if model is cut else many, max_iter=1, **told)
        np.testing.assert_array_equal(author_weights(model), before)
    whole = bt.AuthorTopicModel(K, max_iter=1, **settings).fit(many.run(0, 500, order="stored"))
    whole.update(many, max_iter=1)
    authors = author_weights(whole)[:, :K] - whole.author_topic_prior_
    np.testing.assert_allclose(authors.sum(), truth.docs.counts.sum(), rtol=1e-6)


@pytest.mark.parametrize("passes", [0, -1, 1.5])
def test_a_number_of_passes_that_is_none_is_refused(fitted, corpus, passes):
    for learn in (fitted.transform_authors, fitted.update):
        with pytest.raises(SettingError, match=rf"max_iter={passes}: must be a whole number"):
            learn(corpus, max_iter=passes)


def test_new_authors_need_documents_and_documents_need_authors(fitted, corpus):
    with pytest.raises(InputError, match="nothing to learn from"):
        fitted.transform_authors(corpus[:0])
    counts = bt.from_matrix(corpus[:2].to_scipy(), fitted.vocabulary_[:])
    with pytest.raises(InputError, match="the document in row 1 of the source has no author"):
        fitted.transform_authors(counts.with_authors({"0": ["a0"]}))


def test_the_first_unsigned_document_is_the_first_of_the_source(corpus):
    """However the documents are stored."""
    counts = bt.from_matrix(corpus[:40].to_scipy(), shuffle=True)
    assert next(row for row in counts.rows(order="stored").tolist() if row) != 1
    with pytest.raises(InputError, match="the document in row 1 of the source has no author"):
        bt.AuthorTopicModel(K, **QUIET).fit(counts.with_authors({"0": ["a0"]}))


def test_a_corpus_of_nothing_but_new_documents_is_for_partial_fit(fitted, corpus):
    with pytest.raises(InputError, match=r"all documents are from row 0 on.*partial_fit learns from new"):
        fitted.update(corpus, first_new=0)


def author_weights(model):
    return model._model.params["author_topics"].gather(None).copy()


def only(corpus, authors):
    """A corpus whose list of authors are these alone."""
    block = corpus.read(order="stored")
    ids = np.searchsorted(authors, block.authors).astype(np.int32)
    names = Vocabulary([f"a{i}" for i in authors])
    return replace(corpus, parts=[MemoryPart("only", replace(block, authors=ids))], author_vocabulary=names)

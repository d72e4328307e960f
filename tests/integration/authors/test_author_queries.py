"""What an author-topic model says of authors and documents."""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bigtopic as bt
from bigtopic.errors import InputError, SettingError
from bigtopic.state.params import Params

sys.path.insert(0, str(Path(__file__).parents[2]))

from reference import case, signed

pytestmark = pytest.mark.battery
K = 5
QUIET = {"client": False, "n_threads": 1, "progress": False}


def test_an_author_by_name(fitted):
    one, several = fitted.author_topics("a3"), fitted.author_topics(["a4", "a3"])
    assert one.shape == (K,) and several.shape == (2, K)
    np.testing.assert_array_equal(several[1], one)
    np.testing.assert_array_equal(fitted.array("author_topics").values[3], one)
    np.testing.assert_allclose(several.sum(axis=1), 1, rtol=1e-5)


def test_an_unknown_author_suggests_the_nearest_names(fitted):
    for ask in (fitted.author_topics, fitted.similar_authors):
        with pytest.raises(SettingError, match=r"knows no author 'A 17'; did you mean 'a17'"):
            ask("A 17")
    with pytest.raises(SettingError, match=r"knows no author 'xyz'$"):
        fitted.author_topics(["a1", "xyz"])


@pytest.mark.parametrize("measure", ["hellinger", "jensen-shannon", "cosine"])
def test_similar_authors_are_those_of_similar_topics(fitted, measure):
    from scipy.spatial.distance import cosine, jensenshannon

    theta = fitted.array("author_topics").values.astype(float)
    apart = {
        "hellinger": lambda p, q: np.sqrt(max(0.0, 1 - np.sqrt(p * q).sum())),
        "jensen-shannon": lambda p, q: jensenshannon(p, q, base=2),
        "cosine": cosine,
    }[measure]
    expected = np.array([1 - apart(row / row.sum(), theta[2] / theta[2].sum()) for row in theta])
    order = [i for i in np.argsort(-expected, kind="stable") if i != 2][:4]
    found = fitted.similar_authors("a2", 4, measure=measure)
    assert [name for name, _ in found] == [f"a{i}" for i in order]
    np.testing.assert_allclose([value for _, value in found], expected[order], atol=1e-6)


def test_authors_of_few_documents_may_be_left_out(fitted, truth):
    documents = np.bincount(truth.docs.authors)
    least = int(np.median(documents))
    found = fitted.similar_authors("a0", 30, min_documents=least)
    assert {name for name, _ in found} == {f"a{i}" for i in np.flatnonzero(documents >= least)} - {"a0"}
    with pytest.raises(SettingError, match="measure='euclid'"):
        fitted.similar_authors("a0", measure="euclid")


def test_the_author_of_a_document_is_the_likeliest(fitted, truth):
    """Most documents by one author are likeliest under that one, of 30; all are listed in the caller's order."""
    topics = truth.topic_words @ truth.author_topics.T
    rng = np.random.default_rng(7)
    authors = rng.integers(30, size=200)
    counts = np.stack([rng.multinomial(200, topics[:, a]) for a in authors])
    held_out = bt.from_matrix(counts, fitted.vocabulary_[:])
    found = fitted.predict_authors(held_out, 3)
    first = [ranks[0][0] == f"a{a}" for ranks, a in zip(found, authors, strict=True)]
    assert np.mean(first) > 0.6 and len(found[0]) == 3
    theta = fitted.array("author_topics").values.astype(float)
    logs = counts @ np.log(fitted.get_topics().T.astype(float) @ theta.T) / 200
    np.testing.assert_allclose([ranks[0][1] for ranks in found], logs.max(axis=1), rtol=1e-5)


def test_a_threshold_leaves_unlikely_authors_out(fitted, corpus):
    some = corpus[:5]
    ranks = fitted.predict_authors(some, 30)
    threshold = ranks[2][4][1]
    kept = fitted.predict_authors(some, 30, threshold=threshold)
    assert kept == [[pair for pair in own if pair[1] >= threshold] for own in ranks]
    assert fitted.predict_authors(np.zeros((1, 150))) == [[]]


def test_likelihoods_and_perplexity_are_their_equations(fitted, truth, corpus):
    theta, topics = fitted.array("author_topics").values.astype(float), fitted.get_topics().T.astype(float)
    expected = [
        counts @ np.log(topics[words] @ theta[own].mean(axis=0))
        for words, counts, own in signed.listed(truth.docs)
    ]
    np.testing.assert_allclose(fitted.log_likelihood(corpus), expected, rtol=1e-5)
    perplexity = np.exp(-np.sum(expected) / truth.docs.counts.sum())
    np.testing.assert_allclose(fitted.author_perplexity(corpus), perplexity, rtol=1e-5)
    assert perplexity < 0.6 * 150


def test_bounds_of_documents_sum_to_that_of_the_corpus(fitted, truth, corpus):
    brute_force = case.reference("author_vb")
    authors, words = signed.weights(fitted._model)
    logs = brute_force["expected_logs"](words, 0), brute_force["expected_logs"](authors, 1)
    expected = [brute_force["document_part"](*one, *logs) for one in signed.listed(truth.docs)]
    np.testing.assert_allclose(fitted.document_bounds(corpus), expected, rtol=1e-4)


def test_every_answer_is_of_the_averaged_topics(corpus):
    averaged = bt.AuthorTopicModel(K, method="online-author-vb", average=True, max_iter=4, **QUIET).fit(
        corpus
    )
    of_means = copy.deepcopy(averaged)
    of_means._model.params = Params(averaged._model.estimates())
    for ask in (averaged.log_likelihood, averaged.document_bounds, averaged.predict_authors):
        np.testing.assert_array_equal(ask(corpus[:20]), getattr(of_means, ask.__name__)(corpus[:20]))
    signed_anew = bt.from_matrix(corpus[:20].to_scipy(), averaged.vocabulary_[:]).with_authors(
        {str(row): ["a0", "zoe"] for row in range(20)}
    )
    found = averaged.transform_authors(signed_anew).values
    np.testing.assert_array_equal(found, of_means.transform_authors(signed_anew).values)
    np.testing.assert_allclose(found[0], averaged.author_topics("a0"), rtol=1e-6)


def test_the_authors_are_read_once_for_all_documents(fitted, corpus, monkeypatch):
    """Where the method averages, reading them is work over all of them."""
    read = []
    array = type(fitted)._author_array
    monkeypatch.setattr(type(fitted), "_author_array", lambda self: read.append(1) or array(self))
    assert len(fitted.authors_like(corpus[:5])) == 5
    assert len(read) == 1


@pytest.mark.parametrize("n_top", [0, -1, 1.5])
def test_a_number_of_authors_that_is_none_is_refused(fitted, corpus, n_top):
    for ask in (
        lambda: fitted.similar_authors("a0", n_top),
        lambda: fitted.authors_like(corpus[:1], n_top),
        lambda: fitted.predict_authors(corpus[:1], n_top),
    ):
        with pytest.raises(SettingError, match=rf"n_top={n_top}: must be a whole number"):
            ask()


@pytest.mark.parametrize(
    "names",
    [
        lambda: (name for name in ["a1", "xyz"]),
        lambda: {"xyz"},
        lambda: {"xyz": 1},
        lambda: pd.Series(["a1", "xyz"], index=[5, 6]),
        lambda: np.array(["a1", "xyz"]),
    ],
)
def test_unknown_names_in_any_collection(fitted, names):
    with pytest.raises(SettingError, match=r"knows no author .*xyz"):
        fitted.author_topics(names())


@pytest.mark.parametrize("name", [["a1"], [["a1"]], b"a1", 3, None, {"a1": 1}, np.array([["a1"], ["a2"]])])
def test_an_author_is_named_by_text(fitted, name):
    with pytest.raises(SettingError, match=r"knows no author .*; give the name as text"):
        fitted.similar_authors(name)
    with pytest.raises(SettingError, match=r"knows no author .*; give the name as text"):
        fitted.author_topics([name])


def test_names_in_any_collection(fitted):
    expected = fitted.author_topics(["a1", "a2"])
    for names in (iter(["a1", "a2"]), {"a1": 0, "a2": 0}, pd.Series(["a1", "a2"], index=[5, 6])):
        np.testing.assert_array_equal(fitted.author_topics(names), expected)
    assert fitted.author_topics([]).shape == (0, K)


def test_a_long_name_is_cut(fitted):
    for name in ("x" * 100_000, ["x" * 100_000]):
        with pytest.raises(SettingError) as caught:
            fitted.similar_authors(name)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("least", ["5", None, float("nan"), 2.5, -1, True])
def test_a_number_of_documents_that_is_none_is_refused(fitted, corpus, least):
    for ask in (
        lambda: fitted.similar_authors("a0", min_documents=least),
        lambda: fitted.authors_like(corpus[:0], min_documents=least),
        lambda: fitted.predict_authors(corpus[:0], min_documents=least),
        lambda: fitted.authors_frame(least),
    ):
        with pytest.raises(SettingError, match=rf"^min_documents={least!r}: must be a whole number"):
            ask()


@pytest.mark.parametrize("threshold", ["-5", float("nan"), [-5], True])
def test_a_threshold_that_is_no_number_is_refused(fitted, corpus, threshold):
    with pytest.raises(SettingError, match=r"^threshold=.*: must be a number of nats per token"):
        fitted.predict_authors(corpus[:1], threshold=threshold)


@pytest.mark.parametrize("measure", ["euclid", ["cosine"], None])
def test_a_measure_that_is_none_is_refused(fitted, corpus, measure):
    for ask in (
        lambda: fitted.similar_authors("a0", measure=measure),
        lambda: fitted.authors_like(corpus[:1], measure=measure),
    ):
        with pytest.raises(SettingError, match=r"^measure=.*: choose one of hellinger"):
            ask()


def test_no_documents(fitted, corpus):
    nothing = corpus[:0]
    assert fitted.log_likelihood(nothing).shape == fitted.document_bounds(nothing).shape == (0,)
    assert fitted.predict_authors(nothing) == fitted.authors_like(nothing) == []
    with pytest.raises(InputError, match="no words that the model knows"):
        fitted.author_perplexity(nothing)


def test_a_document_whose_authors_are_unknown_is_named(fitted, truth):
    docs = replace(truth.docs, authors=truth.docs.authors + 100, n_authors=200)
    with pytest.raises(InputError, match="knows no author of the document in row 0"):
        fitted.log_likelihood(signed.corpus_of(docs))


def test_a_document_without_words_needs_no_author(fitted, truth, corpus):
    """As in `fit`; neither does one whose words the model does not know."""
    words, indptr = truth.docs.words.copy(), truth.docs.author_indptr.copy()
    first, last = truth.docs.indptr[2:4]
    words[first:last] += truth.docs.n_words
    n_authors = np.diff(indptr)
    authors = np.delete(truth.docs.authors, np.arange(indptr[2], indptr[3]))
    n_authors[2] = 0
    docs = replace(
        truth.docs,
        words=words,
        n_words=2 * truth.docs.n_words,
        author_indptr=np.concatenate([[0], np.cumsum(n_authors)]),
        authors=authors,
    )
    for ask in (fitted.log_likelihood, fitted.document_bounds):
        found = ask(signed.corpus_of(docs))
        assert found[2] == 0
        np.testing.assert_allclose(np.delete(found, 2), np.delete(ask(corpus), 2))
    logs = fitted.log_likelihood(signed.corpus_of(docs)).sum()
    n_tokens = truth.docs.counts.sum() - truth.docs.counts[first:last].sum()
    np.testing.assert_allclose(fitted.author_perplexity(signed.corpus_of(docs)), np.exp(-logs / n_tokens))


def test_documents_have_the_topics_of_their_authors_or_of_a_new_one(fitted, corpus, truth):
    known, new = fitted.transform(corpus), fitted.transform(corpus.to_scipy())
    own = np.array([truth.docs.authors[a] for a in truth.docs.author_indptr[:-1]])
    alone = np.diff(truth.docs.author_indptr) == 1
    theta = fitted.array("author_topics").values[own]
    assert np.abs(known - theta)[alone].sum(axis=1).mean() < np.abs(new - theta)[alone].sum(axis=1).mean()
    like = fitted.authors_like(corpus[:20], 1)
    assert len(like) == 20 and all(0 < value <= 1 for ((_, value),) in like)


def test_a_table_of_authors(fitted, truth):
    frame = fitted.authors_frame()
    documents = np.bincount(truth.docs.authors)
    assert list(frame.columns) == [
        "author",
        "documents",
        "tokens",
        "x",
        "y",
        *(f"topic_{k}" for k in range(K)),
    ]
    assert frame.documents.is_monotonic_decreasing and len(frame) == 30
    one = frame[frame.author == "a3"].iloc[0]
    assert one.documents == documents[3]
    np.testing.assert_array_equal(
        one[[f"topic_{k}" for k in range(K)]].astype(np.float32), fitted.author_topics("a3")
    )
    roots = np.sqrt(frame[[f"topic_{k}" for k in range(K)]].to_numpy(float))
    values = np.linalg.svd(roots - roots.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(np.sqrt((frame[["x", "y"]] ** 2).sum()), values[:2], rtol=1e-6)

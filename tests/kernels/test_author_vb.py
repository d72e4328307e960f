"""Blocking VB of authors and topics: against phi made explicit, its bound, and what it is identical to."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.errors import InputError
from bigtopic.kernels.variational import vb
from bigtopic.types import View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

KERNEL = kernels.load("author_vb")
N_WORDS, N_AUTHORS, K = 30, 7, 4
WORD_PRIOR, AUTHOR_PRIOR = 0.2, np.array([0.3, 0.05, 1.2, 0.6])


@pytest.fixture
def docs():
    return signed.documents([8, 0, 15, 1, 22, 9], N_WORDS, N_AUTHORS, seed=3)


@pytest.fixture
def weights():
    rng = np.random.default_rng(5)
    return WORD_PRIOR + rng.gamma(0.5, 4, (N_WORDS, K)), AUTHOR_PRIOR + rng.gamma(0.5, 4, (N_AUTHORS, K))


@pytest.fixture
def brute_force():
    return case.reference("author_vb")


def counts_of(docs):
    """Tokens of words, and of the documents of authors if each has one."""
    return np.bincount(docs.words, docs.counts, docs.n_words)


def test_statistics_and_bound_are_those_of_explicit_responsibilities(docs, weights, brute_force):
    result = signed.run(KERNEL, docs, *weights, bound=True)
    logs = brute_force["expected_logs"](weights[0], 0), brute_force["expected_logs"](weights[1], 1)
    by_word, by_author = brute_force["infer"](signed.listed(docs), *logs)
    np.testing.assert_allclose(result.stats["topic_words"][:, :K], by_word, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.stats["author_topics"][:, :K], by_author, rtol=1e-10, atol=1e-13)
    parts = [brute_force["document_part"](*one, *logs) for one in signed.listed(docs)]
    np.testing.assert_allclose(result.info["bound"], sum(parts), rtol=1e-11)


def test_both_arrays_count_every_token(docs, weights):
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-6)):
        stats = signed.run(KERNEL, docs, *weights, dtype=dtype).stats
        np.testing.assert_allclose(stats["topic_words"].sum(axis=1), counts_of(docs), rtol=tolerance)
        np.testing.assert_allclose(stats["author_topics"].sum(), docs.counts.sum(), rtol=tolerance)
        assert not any(stats[name][:, K:].any() for name in ("topic_words", "author_topics"))


def test_documents_of_authors_are_counted(docs, weights):
    found = signed.run(KERNEL, docs, *weights).stats["author_documents"]
    assert found.shape == (N_AUTHORS, 1)
    np.testing.assert_array_equal(found[:, 0], np.bincount(docs.authors, minlength=N_AUTHORS))


def test_a_pass_never_lowers_the_bound(docs, brute_force):
    rng = np.random.default_rng(0)
    words, authors = rng.gamma(100, 0.01, (N_WORDS, K)), rng.gamma(100, 0.01, (N_AUTHORS, K))
    bounds = []
    for _ in range(200):
        result = signed.run(KERNEL, docs, words, authors, bound=True)
        priors = (
            brute_force["dirichlet_part"](words, WORD_PRIOR, 0),
            brute_force["dirichlet_part"](authors, AUTHOR_PRIOR, 1),
        )
        bounds.append(result.info["bound"] + sum(priors))
        words = WORD_PRIOR + result.stats["topic_words"][:, :K]
        authors = AUTHOR_PRIOR + result.stats["author_topics"][:, :K]
    whole = brute_force["bound"](signed.listed(docs), words, authors, WORD_PRIOR, AUTHOR_PRIOR)
    assert min(np.diff([*bounds, whole])) > -1e-9 and bounds[-1] > bounds[0] + 1


def test_one_slice_or_four(docs, weights):
    whole = signed.run(KERNEL, docs, *weights, bound=True)
    by_word, by_author, bound = np.zeros((N_WORDS, 16)), np.zeros((N_AUTHORS, 16)), 0.0
    for start, stop in ((0, 2), (2, 3), (3, 5), (5, 6)):
        part, words, authors = signed.localised(docs, start, stop)
        view = signed.view(KERNEL, *weights)
        arrays = {
            name: rows[words if name.startswith("topic") else authors] for name, rows in view.arrays.items()
        }
        result = KERNEL.run(part, View(arrays, view.totals), signed.hyper(KERNEL, K, bound=True), 0, None)
        by_word[words] += result.stats["topic_words"]
        by_author[authors] += result.stats["author_topics"]
        bound += result.info["bound"]
    np.testing.assert_allclose(by_word, whole.stats["topic_words"], rtol=1e-12)
    np.testing.assert_allclose(by_author, whole.stats["author_topics"], rtol=1e-12)
    np.testing.assert_allclose(bound, whole.info["bound"], rtol=1e-12)


def test_documents_with_authors_of_their_own_are_those_of_lda(docs, weights):
    """An iteration of `vb` for each document, and its statistics after it: gamma is that of the only author here."""
    n = docs.n_docs
    private = replace(docs, author_indptr=np.arange(n + 1), authors=np.arange(n, dtype=np.int32), n_authors=n)
    words, gammas = weights[0], np.ones((n, K))
    told = case.hyper(vb.KERNEL, AUTHOR_PRIOR, K, max_doc_update_iter=1)
    for _ in range(3):
        found = signed.run(KERNEL, private, words, gammas).stats["author_topics"]
        of_lda, result = vb.posterior(docs, signed.view(KERNEL, words, gammas), told, start=gammas)
        gammas = AUTHOR_PRIOR + found[:, :K]
        np.testing.assert_allclose(gammas, of_lda, rtol=1e-10)
        by_word = signed.run(KERNEL, private, words, gammas).stats["topic_words"]
        np.testing.assert_allclose(by_word, result.stats["topic_words"], rtol=1e-10, atol=1e-14)
        words = WORD_PRIOR + by_word[:, :K]


def test_what_all_authors_of_a_document_share_does_not_matter(docs, weights):
    """Factors of rows, and with them the smallest and largest numbers of a type."""
    plain = signed.run(KERNEL, docs, *weights, bound=True)
    view = signed.view(KERNEL, *weights)
    arrays = {**view.arrays, "author_topics:shift": view.arrays["author_topics:shift"] - 900.0}
    moved = KERNEL.run(docs, View(arrays, {}), signed.hyper(KERNEL, K, bound=True), 0, None)
    np.testing.assert_allclose(moved.stats["topic_words"], plain.stats["topic_words"], rtol=1e-10)
    np.testing.assert_allclose(
        moved.info["bound"], plain.info["bound"] - 900.0 * float(docs.counts.sum()), rtol=1e-12
    )


@pytest.mark.parametrize("prior", [1e-3, 0.01])
def test_single_precision_survives_small_priors(docs, prior):
    """exp(psi(0.001)) is 0 in float32, and so are products with it: no token may be lost by that."""
    rng = np.random.default_rng(2)
    words = prior + rng.poisson(0.3, (N_WORDS, K))
    authors = prior + 20.0 * np.eye(K)[rng.integers(K, size=N_AUTHORS)]
    authors[0] = prior
    stats = signed.run(KERNEL, docs, words, authors, dtype=np.float32).stats
    np.testing.assert_allclose(stats["topic_words"].sum(axis=1), counts_of(docs), rtol=1e-5)
    np.testing.assert_allclose(stats["author_topics"].sum(), docs.counts.sum(), rtol=1e-5)


def test_the_order_of_authors_does_not_matter(docs, weights):
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(docs.author_indptr, docs.author_indptr[1:], strict=False)]
    )
    turned = replace(docs, authors=docs.authors[order])
    one, other = (signed.run(KERNEL, each, *weights).stats for each in (docs, turned))
    for name in ("topic_words", "author_topics"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-12)


def test_a_document_without_an_author_is_named(docs, weights):
    indptr = docs.author_indptr.copy()
    indptr[3:] -= indptr[3] - indptr[2]
    with pytest.raises(InputError, match="row 2 of the source has no author"):
        signed.run(KERNEL, replace(docs, author_indptr=indptr, authors=docs.authors[: indptr[-1]]), *weights)
    with pytest.raises(InputError, match="row 0 of the source has no author"):
        signed.run(KERNEL, replace(docs, author_indptr=None, authors=None), *weights)


def test_no_documents(weights):
    none = signed.documents([], N_WORDS, N_AUTHORS)
    result = signed.run(KERNEL, none, *weights, bound=True)
    assert result.info["bound"] == 0 and not result.stats["author_topics"].any()

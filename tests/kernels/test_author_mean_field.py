"""Mean-field VB of authors and topics: against mu and phi made explicit, and against the blocked form."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

KERNEL, BLOCKED = kernels.load("author_mean_field"), kernels.load("author_vb")
N_WORDS, N_AUTHORS, K = 30, 7, 4
PRIORS = 0.2, np.array([0.3, 0.05, 1.2, 0.6])
LENGTHS = [8, 0, 15, 1, 22, 9]
ARRAYS = ("topic_words", "author_topics")


@pytest.fixture
def docs():
    return signed.documents(LENGTHS, N_WORDS, N_AUTHORS, seed=3)


@pytest.fixture
def weights():
    rng = np.random.default_rng(5)
    return PRIORS[0] + rng.gamma(0.5, 4, (N_WORDS, K)), PRIORS[1] + rng.gamma(0.5, 4, (N_AUTHORS, K))


@pytest.mark.parametrize(("max_iter", "tolerance"), [(50, 1e-3), (3, 0.0), (200, 1e-10)])
def test_statistics_and_bound_are_those_of_the_reference(docs, weights, max_iter, tolerance):
    result = signed.run(
        KERNEL, docs, *weights, bound=True, max_doc_update_iter=max_iter, mean_change_tol=tolerance
    )
    logs_of = case.reference("author_vb")["expected_logs"]
    logs = logs_of(weights[0], 0), logs_of(weights[1], 1)
    infer = case.reference("author_mean_field")["infer"]
    *found, bound = infer(signed.listed(docs), *logs, max_iter, tolerance)
    for name, expected in zip(ARRAYS, found, strict=True):
        np.testing.assert_allclose(result.stats[name][:, :K], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.info["bound"], bound, rtol=1e-10)


def test_both_arrays_count_every_token(docs, weights):
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-6)):
        stats = signed.run(KERNEL, docs, *weights, dtype=dtype).stats
        expected = np.bincount(docs.words, docs.counts, docs.n_words)
        np.testing.assert_allclose(stats["topic_words"].sum(axis=1), expected, rtol=tolerance)
        np.testing.assert_allclose(stats["author_topics"].sum(), docs.counts.sum(), rtol=tolerance)


def test_documents_by_one_author_are_those_of_the_blocked_form(weights):
    docs = signed.documents(LENGTHS, N_WORDS, N_AUTHORS, most=1, seed=3)
    one, other = (signed.run(kernel, docs, *weights, bound=True) for kernel in (KERNEL, BLOCKED))
    for name in ARRAYS:
        np.testing.assert_allclose(one.stats[name], other.stats[name], rtol=1e-10)
    np.testing.assert_allclose(one.info["bound"], other.info["bound"], rtol=1e-12)


def learned(kernel, docs, arrays, n_passes):
    """Both arrays after some passes, and the bound at their beginning."""
    part, bound = case.reference("author_vb")["dirichlet_part"], -np.inf
    for _ in range(n_passes):
        result = signed.run(kernel, docs, *arrays, bound=True)
        bound = result.info["bound"] + sum(part(*each) for each in zip(arrays, PRIORS, (0, 1), strict=True))
        arrays = [
            prior + result.stats[name][:, :K].astype(float)
            for name, prior in zip(ARRAYS, PRIORS, strict=True)
        ]
    return arrays, bound


@pytest.mark.parametrize("seed", range(10))
def test_the_blocked_form_that_begins_where_this_ends_has_no_lower_bound(seed):
    docs = signed.documents(LENGTHS * 2, N_WORDS, N_AUTHORS, seed=seed)
    rng = np.random.default_rng(seed)
    start = rng.gamma(100, 0.01, (N_WORDS, K)), rng.gamma(100, 0.01, (N_AUTHORS, K))
    apart, _ = learned(KERNEL, docs, start, 100)
    _, of_apart = learned(KERNEL, docs, apart, 1)
    _, at_once = learned(BLOCKED, docs, apart, 1)
    _, after = learned(BLOCKED, docs, apart, 50)
    assert of_apart <= at_once + 1e-9 and at_once <= after + 1e-9


def test_documents_of_authors_are_counted_and_order_does_not_matter(docs, weights):
    order = np.concatenate(
        [np.arange(*ends)[::-1] for ends in zip(docs.author_indptr, docs.author_indptr[1:], strict=False)]
    )
    one, other = (
        signed.run(KERNEL, each, *weights).stats
        for each in (docs, replace(docs, authors=docs.authors[order]))
    )
    np.testing.assert_array_equal(
        one["author_documents"][:, 0], np.bincount(docs.authors, minlength=N_AUTHORS)
    )
    for name in ARRAYS:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-10)

"""CVB0 of few candidates against its reference, and what the draws promise."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare

from bigtopic import kernels
from bigtopic.errors import SettingError
from bigtopic.state.sparse.array import SparseArray
from bigtopic.state.views import take_view
from bigtopic.types import AxisStats, Docs, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case
from reference.sparse_cvb0 import candidates, infer

KERNEL = kernels.load("sparse_cvb0")
N_WORDS, N_COMPONENTS = 60, 70  # topics in five vectors, of which the last is not whole
LENGTHS = [9, 0, 1, 17, 4, 25, 40]
FEW = {"candidates": 6, "explored": 2, "max_doc_update_iter": 4}


@pytest.fixture
def docs():
    return case.documents(LENGTHS, N_WORDS, seed=1, first_row=100)


@pytest.fixture
def topic_words():
    return case.topics(N_WORDS, N_COMPONENTS, seed=2, concentration=0.05)


def own(docs, d):
    part = slice(docs.indptr[d], docs.indptr[d + 1])
    return docs.words[part], docs.counts[part].astype(float)


@pytest.mark.parametrize("options", [FEW, {**FEW, "candidates": 1}, {**FEW, "candidates": 17, "explored": 0}])
def test_few_candidates_against_the_reference(docs, topic_words, options):
    alpha = np.random.default_rng(3).uniform(0.01, 0.5, N_COMPONENTS)
    result = case.infer(KERNEL, docs, topic_words, alpha, seed=11, **options)
    expected = np.zeros((N_WORDS, N_COMPONENTS))
    for d in range(docs.n_docs):
        words, counts = own(docs, d)
        stats, theta = infer(words, counts, topic_words, alpha, options, 11, int(docs.rows[d]))
        expected[words] += stats
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-8, atol=1e-12)
        assert (theta - alpha / (alpha.sum() + counts.sum()) > 1e-9).sum() <= options["candidates"]
    np.testing.assert_allclose(result.stats["topic_words"][:, :N_COMPONENTS], expected, rtol=1e-8, atol=1e-12)


def test_all_candidates_are_cvb0(docs, topic_words):
    plain = case.infer(kernels.load("cvb0"), docs, topic_words, 0.1)
    every = case.infer(KERNEL, docs, topic_words / topic_words.sum(axis=0), 0.1, candidates=18)
    scaled = case.infer(kernels.load("cvb0"), docs, topic_words / topic_words.sum(axis=0), 0.1)
    np.testing.assert_allclose(every.doc_topics, scaled.doc_topics, rtol=1e-9)
    np.testing.assert_allclose(every.stats["topic_words"], scaled.stats["topic_words"], rtol=1e-9, atol=1e-13)
    assert plain.stats["topic_words"].sum() == pytest.approx(every.stats["topic_words"].sum())


def test_topics_are_drawn_in_proportion_to_their_weights(topic_words):
    """One word, one draw, one candidate: over many source rows, how often each topic was drawn."""
    n = 20_000
    docs = Docs(np.arange(n + 1), np.full(n, 5, np.int32), np.ones(n, np.float32), np.arange(n), N_WORDS)
    result = case.infer(KERNEL, docs, topic_words, 0.1, candidates=1, explored=0)
    found = result.stats["topic_words"][5, :N_COMPONENTS]
    share = topic_words[5] / topic_words[5].sum()
    deviation = (found - n * share) / np.sqrt(n * share * (1 - share) + 1e-12)
    assert np.abs(deviation[n * share > 5]).max() < 4.5


def test_rarer_words_win_ties(docs, topic_words):
    words, counts = own(docs, 6)
    chosen = candidates(
        words, np.ones_like(counts), np.eye(N_WORDS, N_COMPONENTS), {**FEW, "explored": 0}, 1, 1
    )
    np.testing.assert_array_equal(np.sort(chosen), np.sort(words[-6:]))


class Listed(NamedTuple):
    """Topics as lists, as the dense view of the same weights, and as the reference takes them."""

    lists: View
    dense: View
    listed: np.ndarray
    rest: np.ndarray


@pytest.fixture(scope="module")
def listed() -> Listed:
    """Of 60 words, the first has no list, the second has all topics, and others have a tenth of them."""
    rng = np.random.default_rng(4)
    known = rng.random((N_WORDS, N_COMPONENTS)) < 0.1
    known[0], known[1] = False, True
    values = case.padded(rng.gamma(0.5, 20.0, known.shape) * known, np.float32)
    array = SparseArray.zeros(N_WORDS, N_COMPONENTS, axis="word", prior=0.02)
    array.add(AxisStats(None, csr_array(values)))
    ids = {"word": np.arange(N_WORDS, dtype=np.int32)}
    lists, dense = (take_view({"topic_words": array}, {"topic_words": form}, ids) for form in FORMS)
    of_lists = lists.arrays["topic_words"]
    rest = of_lists.offset[:N_COMPONENTS].astype(float)
    return Listed(lists, dense, case.dense_lists(of_lists)[:, :N_COMPONENTS] - rest, rest)


FORMS = ("sparse_mean", "mean")


def run(docs, view, prior=0.1, kernel=KERNEL, statistics=("topic_words",), total_tokens=0.0, **options):
    hyper = case.hyper(kernel, prior, N_COMPONENTS, docs.n_words, **options)
    return kernel.run(docs, view, hyper._replace(statistics=statistics, total_tokens=total_tokens), 11, None)


def table(result):
    """Statistics (n_words, n_components), after a check of their form."""
    stats = result.stats["topic_words"]
    assert isinstance(stats, csr_array) and stats.dtype == np.float32
    assert stats.shape[1] == 80 and (stats.indices < N_COMPONENTS).all() and (stats.data > 0).all()
    for start, stop in pairwise(stats.indptr):
        assert (np.diff(stats.indices[start:stop]) > 0).all()
    return stats.toarray()[:, :N_COMPONENTS]


def times(docs, factor):
    return replace(docs, counts=docs.counts * np.float32(factor))


ALL_KEPT = {**FEW, "kept": 1000, "draws": 1}
ONE, MANY = {**ALL_KEPT, "candidates": 1}, {**ALL_KEPT, "candidates": 17, "explored": 0}
SOME_KEPT = [{**ALL_KEPT, "kept": 2}, {**ALL_KEPT, "kept": 1}, {**MANY, "kept": 5}, {**MANY, "kept": 16}]
MANY_DRAWS = [{**ALL_KEPT, "draws": 2}, {**MANY, "kept": 5, "draws": 8}]
FEW_SWEEPS = [{**MANY, "kept": 5, "max_doc_update_iter": n} for n in (1, 2, 3)]


@pytest.mark.parametrize("factor", [1.0, 1.3, 1e20])
@pytest.mark.parametrize("options", [ALL_KEPT, ONE, MANY, *SOME_KEPT, *FEW_SWEEPS, *MANY_DRAWS])
def test_lists_against_the_reference(options, factor, docs, listed):
    alpha = np.random.default_rng(3).uniform(0.01, 0.5, N_COMPONENTS)
    docs = times(docs, factor)
    result = run(docs, listed.lists, alpha, **options)
    expected = np.zeros((N_WORDS, N_COMPONENTS))
    for d in range(docs.n_docs):
        words, counts = own(docs, d)
        stats, theta = infer(words, counts, listed.listed, alpha, options, 11, int(docs.rows[d]), listed.rest)
        expected[words] += stats
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(table(result), expected, rtol=1e-4, atol=3e-6 * factor)
    np.testing.assert_allclose(table(result).sum(dtype=float), docs.counts.sum(dtype=float), rtol=1e-6)
    assert {0, 1} <= set(docs.words) and result.info["dropped_tokens"] == 0


def test_sweeps_over_those_that_remain_have_a_tolerance_of_their_own(docs, listed):
    """Any change is below this one, so all and the best are swept twice."""
    tolerant = run(docs, listed.lists, **{**MANY, "kept": 5, "max_doc_update_iter": 9}, mean_change_tol=1e9)
    four = run(docs, listed.lists, **{**MANY, "kept": 5, "max_doc_update_iter": 4})
    np.testing.assert_allclose(tolerant.doc_topics, four.doc_topics, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(table(tolerant), table(four), rtol=1e-4, atol=1e-6)
    assert tolerant.info == four.info


@pytest.mark.parametrize("candidates", [70, 1000])
@pytest.mark.parametrize(("factor", "tolerance"), [(1.0, 0.0), (1.0, 0.02), (0.3, 0.0), (1e-9, 0.0)])
def test_lists_with_all_topics_as_candidates_are_cvb0(candidates, factor, tolerance, docs, listed):
    docs = times(docs, factor)
    plain = run(docs, listed.dense, kernel=kernels.load("cvb0"), mean_change_tol=tolerance)
    every = run(docs, listed.lists, candidates=candidates, kept=candidates, mean_change_tol=tolerance)
    np.testing.assert_allclose(every.doc_topics, plain.doc_topics, atol=1e-6)
    tokens = plain.stats["topic_words"][:, :N_COMPONENTS]
    np.testing.assert_allclose(table(every), tokens, atol=2e-6 * factor)
    np.testing.assert_allclose(table(every).sum(axis=1), tokens.sum(axis=1), rtol=2e-6)
    assert every.info == plain.info and plain.info["dropped_tokens"] == 0


@pytest.mark.costly(3)
@pytest.mark.parametrize("word", [0, 1, 2], ids=["no list", "all topics", "some topics"])
def test_lists_draw_topics_in_proportion_to_their_weights(word, listed):
    """One word, one draw, one candidate: over many source rows, how often each topic was drawn."""
    n = 50_000
    docs = Docs(np.arange(n + 1), np.full(n, word, np.int32), np.ones(n, np.float32), np.arange(n), N_WORDS)
    found = table(run(docs, listed.lists, candidates=1, draws=1, explored=0))[word]
    weights = listed.listed[word] + listed.rest
    places = np.argsort(weights)
    expected, drawn = (n * weights / weights.sum())[places], np.rint(found)[places]
    starts = np.unique([0, *range(np.searchsorted(expected, 5), N_COMPONENTS)])  # rare topics as one
    assert drawn.sum() == n and len(starts) > 60
    assert chisquare(np.add.reduceat(drawn, starts), np.add.reduceat(expected, starts)).pvalue > 1e-3


@pytest.mark.parametrize(("per_topic", "draws"), [(0, 8), (1, 1), (999, 1), (1500, 3), (4000, 8), (1e9, 8)])
def test_the_more_tokens_a_topic_has_the_more_topics_a_token_draws(per_topic, draws, docs, listed):
    fit = run(docs, listed.lists, total_tokens=per_topic * N_COMPONENTS)
    given = run(docs, listed.lists, draws=draws)
    np.testing.assert_array_equal(table(fit), table(given))
    others = (run(docs, listed.lists, draws=n) for n in {1, 3, 8} - {draws})
    assert all((table(fit) != table(other)).any() for other in others)


@pytest.mark.parametrize(("name", "most"), [("draws", "64"), ("explored", "10,000")])
def test_draws_that_would_take_hours_are_refused(name, most, docs, listed):
    with pytest.raises(
        SettingError, match=f"{name}=1000000000: must be a whole number .* and at most {most}"
    ):
        run(docs, listed.lists, **{name: 10**9})


def test_topics_of_documents_need_no_statistics(docs, listed):
    alone = run(docs, listed.lists, statistics=(), **FEW)
    np.testing.assert_array_equal(alone.doc_topics, run(docs, listed.lists, **FEW).doc_topics)
    assert not alone.stats


def test_documents_can_be_cut_and_their_words_numbered_anew(docs, listed):
    whole = run(docs, listed.lists, **FEW)
    for start, stop in ((0, 3), (3, 7)):
        part, ids = case.localised(docs, start, stop)
        lists = listed.lists.arrays["topic_words"]
        own_lists = lists._replace(starts=lists.starts[ids], stops=lists.stops[ids])
        result = run(part, View({"topic_words": own_lists}, {}), **FEW)
        np.testing.assert_array_equal(result.doc_topics, whole.doc_topics[start:stop])
        assert result.stats["topic_words"].shape == (len(ids), 80)


@pytest.mark.parametrize("explored", [0, 2])
def test_documents_without_words_have_the_topics_of_the_prior(explored, listed):
    alpha = np.random.default_rng(3).uniform(0.01, 0.5, N_COMPONENTS)
    for lengths in ([], [0], [0, 0, 0]):
        docs = case.documents(lengths, N_WORDS)
        result = run(docs, listed.lists, alpha, **{**FEW, "explored": explored})
        assert table(result).shape == (N_WORDS, N_COMPONENTS) and result.stats["topic_words"].nnz == 0
        np.testing.assert_allclose(
            result.doc_topics, np.tile(alpha / alpha.sum(), (len(lengths), 1)), rtol=1e-6
        )


@pytest.mark.parametrize("form", ["lists", "dense"])
def test_a_count_beyond_whole_numbers_draws_topics(form, listed):
    docs = Docs(
        np.array([0, 1]), np.array([2], np.int32), np.array([1e25], np.float32), np.arange(1), N_WORDS
    )
    result = run(docs, getattr(listed, form), candidates=1, explored=0)
    assert result.stats["topic_words"].sum() == np.float32(1e25) and result.info["dropped_tokens"] == 0

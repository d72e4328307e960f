"""What every kernel promises, asked of every kernel in the folder."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.errors import SettingError
from bigtopic.state.contract.kernels import statistics_dtype
from bigtopic.types import Docs, Kernel, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from known import known
from reference import case

pytestmark = pytest.mark.battery(2)
N_WORDS, N_COMPONENTS = 40, 5
LENGTHS = [9, 0, 1, 17, 4, 25, 3, 12, 0, 6]
ALPHA = np.array([0.1, 0.5, 1.3, 0.02, 0.7])


@pytest.fixture(params=case.of_lda(kernels.names()))
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return kernels.load(request.param)


@pytest.fixture
def docs() -> Docs:
    return case.documents(LENGTHS, N_WORDS, seed=1, first_row=100)


@pytest.fixture
def topic_words() -> np.ndarray:
    return case.topics(N_WORDS, N_COMPONENTS, seed=2)


@pytest.fixture
def alpha(kernel: Kernel) -> np.ndarray:
    return case.accepted(kernel, ALPHA)


def word_counts(docs: Docs) -> np.ndarray:
    return np.bincount(docs.words, docs.counts, docs.n_words)


def word_statistics(kernel: Kernel) -> list[str]:
    """Statistics that count the tokens of words; variances do not."""
    return [n for n, axis in kernel.statistics.items() if axis == "word" and not n.endswith("_variances")]


def declared_dtype(kernel: Kernel) -> np.dtype:
    return statistics_dtype(kernel, kernel.options)


def test_declaration(kernel):
    name = next(name for name in kernels.names() if kernels.load(name) is kernel)
    assert kernel.name == name
    assert set(kernel.views.values()) <= {"mean", "expected_log", "counts", "stored"}
    assert set(kernel.statistics.values()) <= {"word", "author", "none"}
    assert kernel.state in ("none", "round", "run")
    assert bool(kernel.remembers) == (kernel.state != "none")
    assert {spec.rows for spec in kernel.remembers.values()} <= {"entry", "token", "document"}
    assert kernel.paper


WHOLE_NUMBERS = {
    "max_doc_update_iter": 1,
    "n_iter": 1,
    "burn_in": 0,
    "samples": 1,
    "replicas": 1,
    "sweeps": 1,
    "max_sweeps": 0,
    "patience": 1,
    "candidates": 1,
    "explored": 0,
}


def test_whole_numbers_are_listed(kernel):
    numbers = {name for name, value in kernel.options.items() if type(value) is int}
    assert numbers <= set(WHOLE_NUMBERS) or kernel.name not in known("kernel")


@pytest.mark.parametrize("value", [None, 2.5, np.nan, True, "3"], ids=repr)
def test_what_is_no_whole_number_or_too_small_is_refused(kernel, docs, topic_words, alpha, value):
    for option in WHOLE_NUMBERS.keys() & kernel.options:
        least = WHOLE_NUMBERS[option]
        given = least - 1 if value is None else value
        message = f"{option}={given!r}: must be a whole number of at least {least}"
        with pytest.raises(SettingError, match=message):
            case.infer(kernel, docs, topic_words, alpha, **{option: given})


def test_whole_numbers_of_numpy_are_accepted(kernel, docs, topic_words, alpha):
    own = {name: np.int32(value) for name, value in kernel.options.items() if name in WHOLE_NUMBERS}
    plain, same = (case.infer(kernel, docs, topic_words, alpha, **options) for options in ({}, own))
    np.testing.assert_array_equal(same.doc_topics, plain.doc_topics)


def test_unknown_kernel_names_the_known_ones():
    with pytest.raises(SettingError, match="cvb0"):
        kernels.load("nonsense")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_dtypes_and_simplex(kernel, docs, topic_words, alpha, dtype):
    result = case.infer(kernel, docs, topic_words, alpha, dtype=dtype)
    assert set(result.stats) == set(kernel.statistics)
    for name in word_statistics(kernel):
        values = result.stats[name]
        assert values.shape == (N_WORDS, 16) and values.dtype in (dtype, declared_dtype(kernel))
        assert np.isfinite(values).all() and (values >= 0).all()
        assert not values[:, N_COMPONENTS:].any()
    assert result.doc_topics.shape == (docs.n_docs, N_COMPONENTS)
    assert (result.doc_topics >= 0).all()
    np.testing.assert_allclose(result.doc_topics.sum(axis=1), 1.0, atol=1e-5)
    assert (result.state is None) == (kernel.state == "none")
    assert all(isinstance(value, float) for value in result.info.values())


def test_statistics_have_the_declared_dtype(kernel, docs, topic_words, alpha):
    declared = declared_dtype(kernel)
    result = case.infer(kernel, docs, topic_words, alpha, dtype=np.result_type(declared, np.float32))
    assert {result.stats[name].dtype for name in kernel.statistics} == {declared}


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-5), (np.float64, 1e-12)])
def test_every_token_is_counted_once(kernel, docs, topic_words, alpha, dtype, tolerance):
    result = case.infer(kernel, docs, topic_words, alpha, dtype=dtype)
    for name in word_statistics(kernel):
        np.testing.assert_allclose(result.stats[name].sum(axis=1), word_counts(docs), rtol=tolerance)


def test_inputs_are_only_read(kernel, docs, topic_words, alpha):
    inputs = case.view(kernel, topic_words)
    told = case.hyper(kernel, alpha, N_COMPONENTS)
    arrays = [docs.indptr, docs.words, docs.counts, docs.rows, told.doc_topic_prior, *inputs.arrays.values()]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    kernel.run(docs, inputs, told, 3, None)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


def test_same_seed_same_bits(kernel, docs, topic_words, alpha):
    first, second = (case.infer(kernel, docs, topic_words, alpha, dtype=np.float32) for _ in range(2))
    np.testing.assert_array_equal(first.doc_topics, second.doc_topics)
    for name in kernel.statistics:
        np.testing.assert_array_equal(first.stats[name], second.stats[name])


def test_layout_and_dtype_of_inputs_do_not_matter(kernel, docs, topic_words, alpha):
    plain = case.infer(kernel, docs, topic_words, alpha)
    inputs = case.view(kernel, topic_words)
    odd = View({name: np.asfortranarray(array) for name, array in inputs.arrays.items()}, inputs.totals)
    wide = replace(docs, words=docs.words.astype(np.int64), counts=docs.counts.astype(np.float64))
    result = kernel.run(wide, odd, case.hyper(kernel, alpha, N_COMPONENTS), 7, None)
    np.testing.assert_array_equal(result.doc_topics, plain.doc_topics)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_one_slice_or_seven(kernel, docs, topic_words, alpha, dtype, tolerance):
    if kernel.interacts:
        pytest.skip("documents of a slice influence each other by design")
    whole = case.infer(kernel, docs, topic_words, alpha, dtype=dtype)
    sums = {name: np.zeros((N_WORDS, 16)) for name in word_statistics(kernel)}
    doc_topics = []
    bounds = [0, 1, 2, 4, 5, 6, 9, 10]
    for start, stop in pairwise(bounds):
        part, ids = case.localised(docs, start, stop)
        result = case.infer(kernel, part, topic_words[ids], alpha, dtype=dtype)
        doc_topics.append(result.doc_topics)
        for name, total in sums.items():
            total[ids] += result.stats[name]
    np.testing.assert_array_equal(np.concatenate(doc_topics), whole.doc_topics)
    for name, total in sums.items():
        np.testing.assert_allclose(total, whole.stats[name], rtol=tolerance, atol=tolerance)


def test_randomness_follows_the_source_row(kernel, docs, topic_words, alpha):
    if kernel.interacts:
        pytest.skip("documents of a slice influence each other by design")
    whole = case.infer(kernel, docs, topic_words, alpha)
    alone = Docs(np.array([0, 17]), *(a[docs.indptr[3] : docs.indptr[4]] for a in (docs.words, docs.counts)),
                 docs.rows[3:4], N_WORDS)  # fmt: skip
    np.testing.assert_array_equal(
        case.infer(kernel, alone, topic_words, alpha).doc_topics[0], whole.doc_topics[3]
    )


def test_empty_documents_have_the_prior_mean(kernel, docs, topic_words, alpha):
    result = case.infer(kernel, docs, topic_words, alpha)
    for d in (1, 8):
        np.testing.assert_allclose(result.doc_topics[d], alpha / alpha.sum(), rtol=1e-12)
    none = case.infer(kernel, case.documents([0, 0], N_WORDS), topic_words, alpha)
    assert not any(values.any() for values in none.stats.values())


def test_no_documents(kernel, topic_words, alpha):
    result = case.infer(kernel, case.documents([], N_WORDS), topic_words, alpha)
    assert result.doc_topics.shape == (0, N_COMPONENTS)
    assert not any(values.any() for values in result.stats.values())


def test_one_topic_takes_everything(kernel, docs):
    result = case.infer(kernel, docs, case.topics(N_WORDS, 1), case.accepted(kernel, 0.4))
    np.testing.assert_allclose(result.doc_topics, 1.0, rtol=1e-12)
    for name in word_statistics(kernel):
        np.testing.assert_allclose(result.stats[name][:, 0], word_counts(docs), rtol=1e-12)


def test_permuting_topics_permutes_the_answer(kernel, docs, topic_words, alpha):
    first = case.infer(kernel, docs, topic_words, alpha)
    if not np.array_equal(first.doc_topics, case.infer(kernel, docs, topic_words, alpha, seed=8).doc_topics):
        pytest.skip("random by topic: see the kernel's own tests")
    order = np.array([3, 1, 4, 0, 2])
    second = case.infer(kernel, docs, topic_words[:, order], alpha[order])
    np.testing.assert_allclose(second.doc_topics, first.doc_topics[:, order], rtol=1e-10)
    for name in word_statistics(kernel):
        np.testing.assert_allclose(second.stats[name][:, :5], first.stats[name][:, order], rtol=1e-9)


def test_authors_are_ignored_unless_read(kernel, docs, topic_words, alpha):
    if "author" in kernel.statistics.values():
        pytest.skip("reads authors")
    signed = replace(
        docs,
        author_indptr=np.arange(docs.n_docs + 1),
        authors=np.zeros(docs.n_docs, np.int32),
        n_authors=1,
    )
    first, second = (case.infer(kernel, d, topic_words, alpha) for d in (docs, signed))
    np.testing.assert_array_equal(first.doc_topics, second.doc_topics)


def test_a_word_no_topic_knows_does_no_harm(kernel, docs, topic_words, alpha):
    unknown = topic_words.copy()
    unknown[docs.words[0]] = 0
    for dtype in (np.float32, np.float64):
        result = case.infer(kernel, docs, unknown, alpha, dtype=dtype)
        assert np.isfinite(result.doc_topics).all()
        known = np.arange(N_WORDS) != docs.words[0]
        for name in word_statistics(kernel):
            assert np.isfinite(result.stats[name]).all()
            np.testing.assert_allclose(
                result.stats[name].sum(axis=1)[known], word_counts(docs)[known], rtol=1e-5
            )


def test_float32_costs_less_than_a_thousandth_nat_per_token():
    docs = case.documents([30, 80, 150] * 10, 400, seed=5)
    topic_words = case.topics(400, 50, concentration=0.05)
    for name in case.of_lda(kernels.names()):
        kernel, scores = kernels.load(name), []
        for dtype in (np.float32, np.float64):
            prior = case.accepted(kernel, 0.02)
            doc_topics = case.infer(kernel, docs, topic_words, prior, dtype=dtype).doc_topics
            of_token = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
            probabilities = (doc_topics[of_token] * topic_words[docs.words]).sum(axis=1)
            scores.append(docs.counts @ np.log(probabilities) / docs.counts.sum())
        assert abs(scores[0] - scores[1]) < 1e-3, name


@pytest.mark.battery
@pytest.mark.parametrize("prior", [0.05, 1.0, 2.5, ALPHA], ids=["0.05", "1", "2.5", "vector"])
def test_against_the_reference(kernel, docs, topic_words, prior):
    alpha = case.accepted(kernel, np.broadcast_to(np.asarray(prior, float), N_COMPONENTS))
    result = case.infer(kernel, docs, topic_words, alpha, seed=11)
    expected = np.zeros((N_WORDS, N_COMPONENTS))
    if kernel.name not in known("kernel") and not case.reference(kernel.name):
        pytest.skip(f"is new: it needs tests/reference/{kernel.name}.py")
    brute_force = case.reference(kernel.name)["infer"]
    (name,) = word_statistics(kernel)
    if kernel.interacts:  # of the slice as a whole
        stats, theta, *_ = brute_force(docs, topic_words, topic_words.sum(axis=0), alpha, kernel.options, 11)
        np.testing.assert_allclose(result.doc_topics, theta, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(result.stats[name][:, :N_COMPONENTS], stats, rtol=1e-8, atol=1e-12)
        return
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        stats, theta = brute_force(
            docs.words[own],
            docs.counts[own].astype(float),
            topic_words,
            alpha,
            kernel.options,
            11,
            int(docs.rows[d]),
        )
        expected[docs.words[own]] += stats
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(result.stats[name][:, :N_COMPONENTS], expected, rtol=1e-8, atol=1e-12)

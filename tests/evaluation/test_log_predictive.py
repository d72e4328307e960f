"""Document completion against brute force, exact cases, and everything that must not matter."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.datasets import lda_corpus
from bigtopic.errors import InputError, SettingError, VocabularyMismatch
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import log_predictive, topics_of
from bigtopic.evaluation.measures.log_predictive import Completion

TRUTH = lda_corpus(300, 80, 4, mean_length=30, topic_word_prior=0.2, random_state=5)
CORPUS = from_matrix(TRUTH.counts)


def completion(split="token", ratio=0.5, repeats=1, seed=0):
    known = topics_of(TRUTH.components), None, 80, np.zeros(80, bool), np.zeros(80)
    return Completion(*known, split, ratio, repeats, seed)


def observed_by_row(corpus, **settings):
    """{source row: (words, counts, observed counts)}"""
    from bigtopic.plan.slices import make_docs

    docs, axes = make_docs(corpus.read(order="stored"), corpus.n_words)
    observed = completion(**settings)._observed(docs, 0)
    return {
        int(row): (axes["word"][docs.words[a:b]], docs.counts[a:b], observed[a:b])
        for row, a, b in zip(docs.rows, docs.indptr, docs.indptr[1:], strict=False)
    }


def fold_in(counts, topic_words, alpha):
    """theta by the equations: gamma_k = alpha_k + e_k sum_v c_v / Z_v W_vk, 50 times from 1."""
    gamma = np.ones(topic_words.shape[1])
    for _ in range(50):
        e = np.exp(digamma(gamma) - digamma(gamma.sum()))
        gamma = alpha + e * ((counts / (topic_words @ e)) @ topic_words)
    return gamma / gamma.sum()


@pytest.mark.parametrize("split", ["token", "type"])
def test_equals_the_equations(split):
    total = n_tokens = 0.0
    per_document = []
    for words, counts, observed in observed_by_row(CORPUS, split=split).values():
        held_out = counts - observed
        if observed.sum() == 0 or held_out.sum() == 0:
            continue
        topic_words = TRUTH.components.T[words]
        topic_words = np.maximum(topic_words, 1e-10)
        theta = fold_in(observed, topic_words, 0.25)
        own = held_out @ np.log(topic_words @ theta)
        total, n_tokens = total + own, n_tokens + held_out.sum()
        per_document.append(own / held_out.sum())
    result = log_predictive(TRUTH.components, CORPUS, split=split)
    assert result.n_tokens == n_tokens
    assert result.n_docs == len(per_document)
    assert result.value == pytest.approx(total / n_tokens, abs=2e-4)  # kernels work in float32
    assert result.per_document == pytest.approx(np.mean(per_document), abs=2e-4)


def test_true_topics_beat_the_unigram_and_wrong_ones_do_not():
    right = log_predictive(TRUTH.components, CORPUS, train=CORPUS)
    wrong = log_predictive(TRUTH.components[:, ::-1], CORPUS, train=CORPUS)
    assert right.value > right.unigram + 5 * right.standard_error
    assert wrong.value < wrong.unigram
    difference, _ = right.minus(wrong)
    assert difference == pytest.approx(right.value - wrong.value)


def test_the_error_of_a_difference_is_paired():
    """Documents that are hard for the true topics are hard for blurred ones too."""
    right = log_predictive(TRUTH.components, CORPUS)
    blurred = log_predictive(0.8 * TRUTH.components + 0.2 / TRUTH.components.shape[1], CORPUS)
    difference, error = right.minus(blurred)
    assert difference > 5 * error > 0
    assert error < 0.5 * np.hypot(right.standard_error, blurred.standard_error)


def test_the_split_is_of_the_right_size_and_every_document_keeps_both_sides():
    for _, counts, observed in observed_by_row(CORPUS, ratio=0.3).values():
        n_tokens = counts.sum()
        if n_tokens >= 2:
            assert observed.sum() == min(max(np.floor(0.3 * n_tokens + 0.5), 1), n_tokens - 1)
        assert (observed <= counts).all()
    for words, counts, observed in observed_by_row(CORPUS, split="type").values():
        assert set(observed / counts) <= {0.0, 1.0}
        if len(words) >= 2:
            assert (observed > 0).sum() == np.floor(0.5 * len(words) + 0.5)


def test_every_token_is_observed_equally_often():
    documents = from_matrix(np.tile([4, 1, 0, 5], (4000, 1)))
    share = np.mean([observed for _, _, observed in observed_by_row(documents).values()], axis=0)
    # Five of ten tokens: the share of each word is hypergeometric
    error = np.sqrt([4 * 0.5 * 0.5 * 6 / 9, 0.25, 5 * 0.5 * 0.5 * 5 / 9]) / np.sqrt(4000)
    assert np.abs((share - [2, 0.5, 2.5]) / error).max() < 4


def test_chunks_threads_and_storage_order_do_not_matter(monkeypatch):
    expected = log_predictive(TRUTH.components, CORPUS, n_threads=1)
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 300)
    monkeypatch.setattr("bigtopic.evaluation.measures.log_predictive._SLICE_ENTRIES", 90)
    again = log_predictive(TRUTH.components, CORPUS, n_threads=2)
    np.testing.assert_allclose(again.log_likelihood, expected.log_likelihood, rtol=1e-12)
    np.testing.assert_array_equal(again.tokens, expected.tokens)
    reordered = log_predictive(TRUTH.components, from_matrix(TRUTH.counts, shuffle=False))
    assert reordered.value == pytest.approx(expected.value, rel=1e-12)
    assert (np.diff(reordered.rows) > 0).all()


def test_seeds_differ_and_repeats_pool():
    first, second = (log_predictive(TRUTH.components, CORPUS, random_state=seed) for seed in (0, 1))
    assert first.value != second.value
    pooled = log_predictive(TRUTH.components, CORPUS, repeats=4)
    assert pooled.n_tokens == 4 * first.n_tokens
    assert pooled.standard_error < first.standard_error


def test_the_standard_error_is_that_of_other_documents():
    values, errors = [], []
    for seed in range(30):
        # Same topics (seed of the drawing), other documents: rows of one large corpus
        part = CORPUS.select(rows=np.arange(seed * 10, seed * 10 + 10))
        result = log_predictive(TRUTH.components, part)
        values.append(result.value)
        errors.append(result.standard_error)
    ratio = np.std(values, ddof=1) / np.sqrt(np.mean(np.square(errors)))
    assert (
        0.6 < ratio < 1.6
    )  # chi with 29 degrees of freedom: beyond this in 1 of 1000, and bias of small samples


def test_words_are_matched_by_name_and_the_unknown_are_reported():
    words = [f"w{i}" for i in range(80)]
    named = from_matrix(TRUTH.counts, words)
    order = np.random.default_rng(0).permutation(80)
    shuffled = log_predictive(TRUTH.components[:, order], named, vocabulary=[words[i] for i in order])
    assert shuffled.value == pytest.approx(log_predictive(TRUTH.components, CORPUS).value, abs=1e-5)
    known = np.argsort(-np.asarray(TRUTH.counts.sum(axis=0)))[:60]
    some = log_predictive(TRUTH.components[:, known], named, vocabulary=[words[i] for i in known])
    kept = TRUTH.counts.sum(axis=0)[known].sum() / TRUTH.counts.sum()
    assert some.unknown_share == pytest.approx(1 - kept)
    with pytest.raises(VocabularyMismatch, match="the model does not know 100%"):
        log_predictive(TRUTH.components, named, vocabulary=[f"other{i}" for i in range(80)])


def test_the_unigram_learns_from_the_documents_asked_for():
    train, test = CORPUS.split(100, random_state=1)
    one_word = from_matrix(np.eye(80)[[3, 3]] * 1000)
    assert log_predictive(TRUTH.components, test, train=one_word).unigram < -7
    assert log_predictive(TRUTH.components, test, train=train).unigram > -5


def test_the_unigram_has_not_seen_the_held_out_documents():
    """Training documents have the first half of the words, the others the second."""
    counts = np.kron(np.eye(2), np.full((20, 40), 3))
    whole = from_matrix(counts, [f"w{i}" for i in range(80)])
    train, test = whole.select(rows=np.arange(20)), whole.select(rows=np.arange(20, 40))
    expected = log_predictive(np.ones((1, 80)), test, train=train).unigram
    assert expected < -8 < -np.log(80) < log_predictive(np.ones((1, 80)), test, train=whole).unigram + 1e-3
    model = LDA(2, method="online-cvb0", max_iter=1, client=False).fit(train)
    assert log_predictive(model, test).unigram == expected
    assert log_predictive(model.components_, test, vocabulary=train).unigram == expected
    # Where nobody says what a model learnt from, there is no baseline.
    assert log_predictive(model.components_, test).unigram is None
    assert log_predictive(topics_of(model.components_, vocabulary=train), test).unigram is None


@pytest.mark.parametrize("setting", [{"split": "half"}, {"ratio": 0}, {"ratio": 1.0}, {"repeats": 0}])
def test_settings_outside_what_is_allowed_are_named(setting):
    with pytest.raises(SettingError, match=next(iter(setting))):
        log_predictive(TRUTH.components, CORPUS, **setting)


def test_documents_that_cannot_be_divided_are_left_out_or_refused():
    result = log_predictive(np.ones((2, 3)), from_matrix([[1, 0, 0], [0, 0, 0], [1, 1, 1]]))
    assert (result.n_docs, result.rows.tolist()) == (1, [2])
    with pytest.raises(InputError, match="no document"):
        log_predictive(np.ones((2, 3)), from_matrix([[1, 0, 0], [0, 1, 0]]))
    with pytest.raises(InputError, match="split='type'"):
        log_predictive(np.ones((2, 3)), from_matrix([[0.5, 2, 1]]))
    assert log_predictive(np.ones((2, 3)), from_matrix([[0.5, 2, 1]]), split="type").n_docs == 1


def test_authors_do_not_matter():
    (part,) = CORPUS.parts
    n_docs, n_authors = part.block.n_docs, 1_000_000
    block = replace(
        part.block,
        author_indptr=np.arange(n_docs + 1),
        authors=np.arange(n_docs, dtype=np.int32) * (n_authors // n_docs),
    )
    authored = replace(CORPUS, parts=[MemoryPart("all", block)], author_vocabulary=Vocabulary(size=n_authors))
    expected, result = log_predictive(TRUTH.components, CORPUS), log_predictive(TRUTH.components, authored)
    np.testing.assert_array_equal(result.log_likelihood, expected.log_likelihood)

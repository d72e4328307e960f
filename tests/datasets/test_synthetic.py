"""Synthetic corpora: reproducible, faithful to the truth they name, and the same however they are drawn."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import dask
import numpy as np
import pytest
from scipy import stats
from scipy.sparse import vstack

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.order import document_keys
from bigtopic.datasets import KnownLDA, lda_corpus, synthetic, write_bag_of_words
from bigtopic.errors import SettingError
from bigtopic.evaluation import log_predictive
from bigtopic.ingestion.ingest import ingest
from bigtopic.kernels.support import random as _random

ZIPF = KnownLDA(2000, 20, mean_length=60, length_spread=0.6, doc_topic_prior=0.05, topic_word_prior=0.02,
                zipf_exponent=1.0, random_state=3)  # fmt: skip


def within(values: np.ndarray, expected: float, n_errors: float = 5.0) -> bool:
    """Whether the mean is what is expected, within that many of its standard errors."""
    return abs(values.mean() - expected) < n_errors * values.std(ddof=1) / np.sqrt(len(values))


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another():
    first, again, other = (lda_corpus(50, 40, 3, random_state=seed) for seed in (1, 1, 2))
    assert (first.counts != again.counts).nnz == 0
    np.testing.assert_array_equal(first.doc_topics, again.doc_topics)
    assert (first.counts != other.counts).nnz > 0


def test_truth_is_normalised_and_shapes_agree():
    corpus = lda_corpus(30, 40, 3)
    assert corpus.counts.shape == (30, 40) and corpus.counts.dtype == np.float32
    assert corpus.components.shape == (3, 40) and corpus.doc_topics.shape == (30, 3)
    np.testing.assert_allclose(corpus.components.sum(axis=1), 1.0)
    np.testing.assert_allclose(corpus.doc_topics.sum(axis=1), 1.0)


def test_entries_are_distinct_words_in_order_and_their_counts_are_the_tokens():
    counts = lda_corpus(400, 30, 2, mean_length=400).counts  # longer than the largest gap of the sort
    assert counts.has_canonical_format and counts.data.min() >= 1
    assert within(counts.sum(axis=1), 400)


@pytest.mark.parametrize("prior", [0.05, 2.0])
def test_word_frequencies_match_the_mixture_within_their_standard_error(prior):
    corpus = lda_corpus(
        20_000, 12, 3, mean_length=20, doc_topic_prior=prior, topic_word_prior=1.0, random_state=3
    )
    # Given theta and the length, a document's counts are multinomial with mean length * theta . topics
    lengths = corpus.counts.sum(axis=1)
    expected = (lengths[:, None] * corpus.doc_topics).T @ corpus.counts.toarray()
    words = corpus.doc_topics @ corpus.components
    mean = (lengths[:, None] * corpus.doc_topics).T @ (lengths[:, None] * words)
    variance = (lengths[:, None] * corpus.doc_topics).T ** 2 @ (lengths[:, None] * words * (1 - words))
    assert np.abs((expected - mean) / np.sqrt(variance)).max() < 5


@pytest.mark.parametrize("prior", [0.03, 1.5])
def test_document_topics_are_dirichlet(prior):
    theta = lda_corpus(20_000, 5, 4, mean_length=10, doc_topic_prior=prior).doc_topics
    marginal = stats.beta(prior, 3 * prior)
    assert all(within(column, 0.25) for column in theta.T)
    assert within((theta**2).sum(axis=1), (prior + 1) / (4 * prior + 1))
    assert stats.kstest(theta[:, 0], marginal.cdf).pvalue > 1e-4


@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_lengths_have_the_mean_and_spread_asked_for(spread):
    lengths = lda_corpus(20_000, 5, 2, mean_length=60, length_spread=spread).counts.sum(axis=1)
    empty = stats.nbinom(spread**-2, 1 / (1 + 60 * spread**2)).pmf(0) if spread else 0.0
    assert lengths.min() >= 1
    assert within(lengths, 60 / (1 - empty))
    assert within(lengths**2, (60**2 + 60 + (60 * spread) ** 2) / (1 - empty))


def test_alias_tables_hold_the_topics():
    tables = synthetic._tables(ZIPF).words
    kept = tables[..., 0] / 2.0**32
    for k, topic in enumerate(ZIPF.components_):
        share = kept[k] + np.bincount(tables[k, :, 1], 1 - kept[k], minlength=ZIPF.n_words)
        np.testing.assert_allclose(share / ZIPF.n_words, topic, atol=ZIPF.n_words * 2.0**-32)


def test_random_numbers_are_those_of_the_kernels():
    key = document_keys(7, np.array([6]))  # its rows begin at 0, those of the kernels at 1
    assert key[0] == _random.key(7, 5)
    for draw in (0, 1, 1000):
        assert synthetic.keyed_uniform(key, np.array([draw], np.uint64))[0] == _random.uniform(key[0], draw)


def test_a_document_does_not_depend_on_those_drawn_with_it():
    whole = ZIPF.documents(300)
    pieces = [ZIPF.documents(n, first) for first, n in ((0, 1), (1, 120), (121, 179))]
    assert (vstack([piece.counts for piece in pieces]) != whole.counts).nnz == 0
    np.testing.assert_array_equal(np.concatenate([piece.doc_topics for piece in pieces]), whole.doc_topics)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_and_threads_change_nothing(monkeypatch, n_threads):
    monkeypatch.setattr(synthetic, "_CHUNK_TOKENS", 2500)
    array = ZIPF.dask_array(500, first=30)
    assert array.shape == (500, 2000) and array.numblocks[0] > 10
    with ThreadPoolExecutor(n_threads) as pool:
        blocks = dask.compute(*array.to_delayed().ravel(), scheduler="threads", pool=pool)
    assert (vstack(blocks) != ZIPF.documents(500, first=30).counts).nnz == 0


def test_blocks_become_a_corpus(monkeypatch, tmp_path):
    monkeypatch.setattr(synthetic, "_CHUNK_TOKENS", 2500)
    corpus = ingest(ZIPF.dask_array(500), tmp_path / "drawn.zarr", n_threads=2, client=False)
    in_memory = from_matrix(ZIPF.documents(500).counts)
    np.testing.assert_array_equal(corpus.vocabulary.frequency, in_memory.vocabulary.frequency)
    assert (corpus.to_scipy() != in_memory.to_scipy()).nnz == 0


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.3])
def test_word_frequencies_follow_zipf_with_a_flat_head(exponent):
    model = replace(ZIPF, n_components=50, topic_word_prior=0.5, zipf_exponent=exponent)
    frequency = model.components_.mean(axis=0)
    fit = stats.linregress(np.log(np.arange(model.n_words) + 11), np.log(frequency))
    assert abs(fit.slope + exponent) < 4 * fit.stderr < 0.05


def test_the_truth_is_far_above_the_unigram():
    train = from_matrix(ZIPF.documents(5000).counts)
    result = log_predictive(
        ZIPF, from_matrix(ZIPF.documents(500, first=5000).counts), train=train, client=False
    )
    assert result.value > result.unigram + 0.8


def test_the_file_holds_the_same_documents(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "_CHUNK_TOKENS", 20_000)
    model = KnownLDA(30, 4, mean_length=15, doc_topic_prior=0.3, topic_word_prior=0.1, random_state=4)
    counts = model.documents(5000).counts
    n_written = write_bag_of_words(tmp_path / "docword.txt", model, 5000)
    lines = (tmp_path / "docword.txt").read_text().splitlines()
    assert [int(line) for line in lines[:3]] == [5000, 30, counts.nnz]
    assert n_written == counts.nnz
    document, word, count = np.array([line.split() for line in lines[3:]], dtype=np.int64).T
    triples = counts.tocoo()
    np.testing.assert_array_equal(document - 1, triples.coords[0])
    np.testing.assert_array_equal(word - 1, triples.coords[1])
    np.testing.assert_array_equal(count, triples.data)


def test_very_sparse_topics_are_still_topics():
    components = KnownLDA(3, 2, topic_word_prior=1e-4).components_
    np.testing.assert_allclose(components.sum(axis=1), 1.0)


@pytest.mark.parametrize("setting", ["n_words", "n_components", "mean_length", "doc_topic_prior"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_settings_that_are_not_positive_are_refused_by_name(setting, value):
    with pytest.raises(
        SettingError, match=f"{setting}={value}: must be (greater than 0|a whole number, 1 or more)"
    ):
        KnownLDA(**{"n_words": 5, "n_components": 2, setting: value})


def test_other_settings_are_checked():
    with pytest.raises(SettingError, match=r"zipf_exponent=-1\.0: must be 0 or more"):
        KnownLDA(5, 2, zipf_exponent=-1.0)
    with pytest.raises(SettingError, match="random_state"):
        KnownLDA(5, 2, random_state=0.5)
    with pytest.raises(SettingError, match=r"^n_components=2\.5: must be a whole number, 1 or more"):
        KnownLDA(5, 2.5)
    with pytest.raises(SettingError, match=r"^doc_topic_prior: must be one number, found \[0\.1, 0\.2\]"):
        KnownLDA(5, 2, doc_topic_prior=[0.1, 0.2])
    for n_docs in (0, 2.5):
        with pytest.raises(SettingError, match=f"^n_docs={n_docs}: must be a whole number, 1 or more"):
            lda_corpus(n_docs, 5, 2)
    with pytest.raises(SettingError, match="first"):
        KnownLDA(5, 2).dask_array(5, first=-1)

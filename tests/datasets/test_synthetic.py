"""Synthetic corpora: reproducible, faithful to the topics they name, and the same on disk as in memory."""

import numpy as np
import pytest

from bigtopic.datasets import lda_corpus, write_bag_of_words
from bigtopic.errors import SettingError


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another():
    first, again, other = (lda_corpus(50, 40, 3, seed=seed) for seed in (1, 1, 2))
    assert (first.counts != again.counts).nnz == 0
    assert (first.counts != other.counts).nnz > 0


def test_truth_is_normalised_and_shapes_agree():
    corpus = lda_corpus(30, 40, 3)
    assert corpus.counts.shape == (30, 40)
    np.testing.assert_allclose(corpus.components.sum(axis=1), 1.0)
    np.testing.assert_allclose(corpus.doc_topics.sum(axis=1), 1.0)


def test_word_frequencies_match_the_mixture_within_their_standard_error():
    corpus = lda_corpus(20_000, 12, 2, mean_length=20, topic_word_prior=1.0, seed=3)
    # Given the mixtures, a word's count is Poisson with this mean: mean_length * sum_d theta_d . topics
    expected = 20 * corpus.doc_topics.sum(axis=0) @ corpus.components
    observed = corpus.counts.sum(axis=0)
    assert np.abs((observed - expected) / np.sqrt(expected)).max() < 5


def test_the_file_holds_the_same_documents(tmp_path):
    settings = {"mean_length": 15, "doc_topic_prior": 0.3, "topic_word_prior": 0.1, "seed": 4}
    corpus = lda_corpus(5000, 30, 4, **settings)  # more than one chunk
    n_written = write_bag_of_words(tmp_path / "docword.txt", 5000, 30, 4, **settings)
    lines = (tmp_path / "docword.txt").read_text().splitlines()
    assert [int(line) for line in lines[:3]] == [5000, 30, corpus.counts.nnz]
    assert n_written == corpus.counts.nnz
    document, word, count = np.array([line.split() for line in lines[3:]], dtype=np.int64).T
    triples = corpus.counts.tocoo()
    np.testing.assert_array_equal(document - 1, triples.coords[0])
    np.testing.assert_array_equal(word - 1, triples.coords[1])
    np.testing.assert_array_equal(count, triples.data)


@pytest.mark.parametrize("setting", ["n_docs", "n_words", "n_components"])
def test_sizes_that_are_not_positive_are_refused_by_name(setting):
    sizes = {"n_docs": 5, "n_words": 5, "n_components": 2, setting: 0}
    with pytest.raises(SettingError, match=setting):
        lda_corpus(**sizes)

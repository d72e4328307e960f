"""Shares of topics, of authors, and the documents that stand for a topic."""

from dataclasses import replace

import numpy as np
import pytest

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.datasets import lda_corpus
from bigtopic.errors import InputError
from bigtopic.evaluation import prevalence, topics_of

TRUTH = lda_corpus(500, 200, 4, mean_length=150, topic_word_prior=0.05, random_state=7)
CORPUS = from_matrix(TRUTH.counts)


def with_authors(corpus):
    """Document d is by author d % 3, and each sixth one by author 0 as well."""
    (part,) = corpus.parts
    block = part.block
    names = [sorted({int(row) % 3} | ({0} if row % 6 == 1 else set())) for row in block.rows]
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in names])])
    block = replace(block, author_indptr=indptr, authors=np.concatenate(names).astype(np.int32))
    return replace(
        corpus, parts=[MemoryPart("all", block)], author_vocabulary=Vocabulary(["ann", "bo", "cy"])
    )


def test_shares_are_those_the_corpus_was_drawn_with():
    lengths = np.asarray(TRUTH.counts.sum(axis=1))
    expected = lengths @ TRUTH.doc_topics / lengths.sum()
    # A document's tokens are multinomial around its mixture; 75 000 tokens in all
    error = np.sqrt(expected * (1 - expected) / lengths.sum())
    share = prevalence(TRUTH.components, CORPUS).share
    assert share.sum() == pytest.approx(1)
    assert np.abs((share - expected) / error).max() < 5


def test_authors_share_the_tokens_of_their_documents():
    result = prevalence(TRUTH.components, with_authors(CORPUS))
    lengths = np.asarray(TRUTH.counts.sum(axis=1))
    shared = np.arange(500) % 6 == 1
    own = np.bincount(np.arange(500) % 3, weights=np.where(shared, lengths / 2, lengths), minlength=3)
    own[0] += lengths[shared].sum() / 2
    np.testing.assert_allclose(result.author_tokens.sum(axis=1), own, rtol=1e-4)
    np.testing.assert_allclose(result.author_tokens.sum(axis=0) / lengths.sum(), result.share, rtol=1e-4)


def test_blocks_do_not_matter_and_the_top_documents_are_about_the_topic(monkeypatch):
    authored = with_authors(CORPUS)
    expected = prevalence(TRUTH.components, authored, n_documents=4)
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 700)
    again = prevalence(TRUTH.components, authored, n_documents=4)
    np.testing.assert_array_equal(again.author_tokens, expected.author_tokens)
    np.testing.assert_allclose(again.share, expected.share, rtol=1e-12)
    np.testing.assert_array_equal(again.rows, expected.rows)
    assert (np.diff(expected.weights, axis=1) <= 0).all()
    for topic, rows in enumerate(expected.rows):
        assert TRUTH.doc_topics[rows, topic].min() > 0.9


def test_blocks_do_not_show_in_the_tokens_of_authors(monkeypatch):
    expected = prevalence(TRUTH.components, with_authors(CORPUS))
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 700)
    again = prevalence(TRUTH.components, with_authors(CORPUS))
    np.testing.assert_array_equal(again.author_tokens, expected.author_tokens)
    np.testing.assert_allclose(again.share, expected.share, rtol=1e-12)


def test_the_table_has_a_line_for_each_topic_with_its_documents():
    found = prevalence(TRUTH.components, CORPUS, n_documents=2)
    order = np.argsort(-found.share)
    assert list(found.details()) == [f"topic {topic}" for topic in order]
    assert repr(found).startswith("Prevalence(") and "topics in use, with shares of " in repr(found)
    for topic, text in zip(order, found.details().values(), strict=True):
        first, second = found.rows[topic]
        assert text.startswith(f"{found.share[topic]:.1%} of the tokens; documents in rows {first} (")
        assert f", {second} ({found.weights[topic, 1]:.0%})" in text
    without = prevalence(TRUTH.components, CORPUS, n_documents=0).details()
    assert without[f"topic {order[0]}"] == f"{found.share[order[0]]:.1%} of the tokens"


def test_without_authors_there_are_none():
    assert prevalence(TRUTH.components, CORPUS).author_tokens is None


def test_blocks_do_not_matter_to_authors_either(monkeypatch):
    signed = with_authors(CORPUS)
    expected = prevalence(TRUTH.components, signed).author_tokens
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 700)
    np.testing.assert_allclose(prevalence(TRUTH.components, signed).author_tokens, expected, rtol=1e-12)


def test_documents_without_known_words_have_no_topics():
    counts = np.array([[0, 0, 3], [4, 0, 0], [0, 0, 0], [0, 5, 0]])  # the model does not know the third word
    names = ["a", "b", "c"]
    source = topics_of(np.array([[9.0, 1], [1, 9], [1, 1]]), ["a", "b"], doc_topic_prior=[1, 1, 100])
    found = prevalence(source, from_matrix(counts, names), n_documents=3)
    assert [sorted(rows) for rows in found.rows.tolist()] == [[1, 3]] * 3
    with pytest.raises(InputError, match="corpus: the model knows no word of these documents"):
        prevalence(source, from_matrix(counts[[0, 2]], names))

"""Frequencies of exactly the documents of a view, whoever counts them."""

from __future__ import annotations

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.ingestion.ingest import ingest
from bigtopic.plan import counting


@pytest.mark.parametrize("where", ["memory", "store", "filtered"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_equals_recounting(corpus, tmp_path, monkeypatch, where, n_threads):
    monkeypatch.setattr(counting, "_ENTRIES", 50)
    if where == "store":
        corpus = ingest(corpus.to_scipy(), tmp_path / "corpus.zarr", progress=False)
    if where == "filtered":
        corpus = corpus.filter_vocabulary(min_df=150)
    view, _ = corpus.split(0.4, random_state=2)
    found, expected = counting.counted_vocabulary(view, None, n_threads), view.recounted().vocabulary
    assert found == expected and 0 < found.frequency.sum() < corpus.n_tokens
    np.testing.assert_array_equal(found.frequency, expected.frequency)
    np.testing.assert_array_equal(found.document_frequency, expected.document_frequency)


def test_weights_are_added_in_one_order(synthetic, monkeypatch):
    monkeypatch.setattr(counting, "_ENTRIES", 50)
    view = from_matrix(synthetic.counts * np.pi / 7)[20:250]
    one, three = (counting.counted_vocabulary(view, None, n).frequency for n in (1, 3))
    assert one.tobytes() == three.tobytes()


def test_workers_count_the_same(corpus, one_worker, monkeypatch):
    monkeypatch.setattr(counting, "_ENTRIES", 50)
    view = corpus[:100]
    found = counting.counted_vocabulary(view, one_worker)
    np.testing.assert_array_equal(found.frequency, view.recounted().vocabulary.frequency)


def test_a_small_corpus_is_counted_here(corpus):
    view = corpus[:100]
    found = counting.counted_vocabulary(view, client=object())
    np.testing.assert_array_equal(found.frequency, view.recounted().vocabulary.frequency)


def test_a_corpus_that_is_counted_is_not_read(corpus, monkeypatch):
    monkeypatch.setattr(counting, "bounded_map", None)
    found = counting.counted_vocabulary(corpus)
    np.testing.assert_array_equal(found.frequency, corpus.vocabulary.frequency)

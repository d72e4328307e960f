"""Models with so many topics that documents visit candidates: the same bits however they are learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.datasets import lda_corpus

# Exchanges of several updates, and several passes
SETTINGS: dict[str, Any] = {
    "n_components": 140,
    "method": "sparse-cvb0",
    "batch_size": 10,
    "max_iter": 3,
    "random_state": 3,
    "progress": False,
}


@pytest.fixture(scope="module")
def corpus():
    return bt.from_matrix(lda_corpus(900, 400, 10, random_state=1).counts)


@pytest.fixture(scope="module")
def topics(corpus):
    return bt.LDA(**SETTINGS, client=False, n_threads=1).fit(corpus).get_topics()


def test_documents_do_not_visit_all_topics(corpus, topics):
    model = bt.LDA(**SETTINGS, client=False, n_threads=1, options={"candidates": 35}).fit(corpus)
    assert np.abs(model.get_topics() - topics).max() > 1e-3


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads(n_threads, corpus, topics):
    model = bt.LDA(**SETTINGS, client=False, n_threads=n_threads).fit(corpus)
    np.testing.assert_array_equal(model.get_topics(), topics)


@pytest.mark.distributed
def test_workers(corpus, topics, three_workers):
    model = bt.LDA(**SETTINGS, client=three_workers).fit(corpus)
    np.testing.assert_array_equal(model.get_topics(), topics)


def test_a_run_that_is_resumed(corpus, topics, tmp_path):
    def stop(event):
        if event.kind == "round" and event.step > 120:
            raise KeyboardInterrupt

    often = bt.Checkpoint(tmp_path / "run", rounds=20)
    with pytest.raises(KeyboardInterrupt):
        bt.LDA(**SETTINGS, client=False, callbacks=[stop]).fit(corpus, checkpoint=often)
    resumed = bt.LDA(**SETTINGS, client=False).fit(corpus, checkpoint=often, resume=True)
    np.testing.assert_array_equal(resumed.get_topics(), topics)


def test_a_stored_model_infers_the_same(corpus, topics, tmp_path):
    model = bt.LDA(**SETTINGS, client=False).fit(corpus)
    model.save(tmp_path / "model.zarr")
    stored = bt.load_model(tmp_path / "model.zarr")
    np.testing.assert_array_equal(stored.get_topics(), topics)
    np.testing.assert_array_equal(stored.transform(corpus[:20]), model.transform(corpus[:20]))

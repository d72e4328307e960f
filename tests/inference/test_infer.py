"""Inference over a corpus: complete, in stored order, the same from threads and workers."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from bigtopic import methods as table
from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.store import Corpus
from bigtopic.inference import infer as module
from bigtopic.inference.infer import infer
from bigtopic.plan import slices
from bigtopic.state.new_model import new_model


@pytest.fixture(scope="module")
def many_parts(corpus) -> Corpus:
    whole = corpus.read(order="stored")
    return Corpus([MemoryPart(str(a), whole[a : a + 17]) for a in range(0, 300, 17)], corpus.vocabulary)


def make(corpus, method="online-ope"):
    return new_model(table.get(method), 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=1)


def joined(pieces):
    return tuple(
        np.concatenate([getattr(p, name) for p in pieces]) for name in ("rows", "doc_topics", "n_tokens")
    )


@pytest.mark.parametrize("method", ["online-ope", "online-cvb0", "vb"])
def test_every_document_in_stored_order(many_parts, corpus, synthetic, method):
    """Also where inference draws: coins are keyed by content."""
    rows, topics, tokens = joined(list(infer(make(corpus, method), many_parts, n_threads=2)))
    np.testing.assert_array_equal(rows, corpus.rows(order="stored"))
    np.testing.assert_array_equal(tokens, np.asarray(synthetic.counts.sum(axis=1)).ravel()[rows])
    for n_threads, documents in ((1, many_parts), (3, corpus)):
        again = joined(list(infer(make(corpus, method), documents, n_threads=n_threads)))
        np.testing.assert_array_equal(again[0], rows)
        np.testing.assert_allclose(again[1], topics, rtol=1e-5, atol=1e-7)


def test_large_corpora_go_several_slices_at_a_time(corpus, monkeypatch):
    """The same topics from groups of slices as from single ones."""
    expected = joined(list(infer(make(corpus), corpus, n_threads=1)))
    monkeypatch.setattr(slices, "SLICE_ENTRIES", 64 * 2)
    monkeypatch.setattr(slices, "READ_BLOCK_SLICES", 2)
    monkeypatch.setattr(module, "READ_BLOCK_SLICES", 2)
    whole = corpus.read(order="stored")
    repeated = Corpus([MemoryPart(str(i), whole) for i in range(20)], corpus.vocabulary)
    pieces = list(infer(make(corpus), repeated, n_threads=2))
    assert len(pieces) >= 8 and max(len(piece.rows) for piece in pieces) > 64  # two slices or more
    found = joined(pieces)
    np.testing.assert_array_equal(found[0], np.tile(expected[0], 20))
    np.testing.assert_allclose(found[1], np.tile(expected[1], (20, 1)), rtol=1e-5, atol=1e-7)


@pytest.mark.distributed
def test_workers_infer_the_same_also_when_one_dies(many_parts, corpus, mortal_workers, monkeypatch):
    monkeypatch.setattr(module, "READ_BLOCK_SLICES", 2)
    here = joined(list(infer(make(corpus), many_parts, n_threads=1)))
    pieces = []
    for number, piece in enumerate(infer(make(corpus), many_parts, client=mortal_workers)):
        pieces.append(piece)
        if number == 1:
            os.kill(next(iter(mortal_workers.run(os.getpid).values())), signal.SIGKILL)
    for found, expected in zip(joined(pieces), here, strict=True):
        np.testing.assert_array_equal(found, expected)

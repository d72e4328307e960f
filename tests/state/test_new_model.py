"""The statistics that a model begins with: drawn in small pieces, the same numbers as if drawn at once."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from bigtopic import methods as table
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.state import new_model as module
from bigtopic.state.lazy_array import FOLD_ROWS
from bigtopic.state.new_model import new_model


def begun(distribution, share, n_words, n_components):
    method = replace(table.get("online-vb"), init={"topic_words": (distribution, share)})
    axis = Vocabulary(None, n_words)
    return new_model(method, n_components, axis, n_tokens=1e6, seed=5).topic_words


def drawn_at_once(distribution, n_words, n_components):
    """A block of rows has one generator."""
    blocks = []
    for block, start in enumerate(range(0, n_words, FOLD_ROWS)):
        generator = np.random.Generator(np.random.Philox(key=[5, block]))
        size = (min(FOLD_ROWS, n_words - start), n_components)
        if distribution == "gamma":
            blocks.append(generator.gamma(100.0, 0.01, size).astype(np.float32))
        else:
            blocks.append(generator.random(size, np.float32) + np.float32(1e-10))
    return np.concatenate(blocks)


@pytest.mark.parametrize("distribution", ["gamma", "uniform"])
@pytest.mark.parametrize("n_bytes", [1, 8 * 7 * 3, 8 * 7 * 1000 + 1, None])
def test_pieces_have_the_bits_of_the_whole(distribution, n_bytes, monkeypatch):
    n_words = 2500 if n_bytes == 1 else FOLD_ROWS + 2500
    if n_bytes is not None:
        monkeypatch.setattr(module, "DRAWN_BYTES", n_bytes)
    array = begun(distribution, None, n_words, 7)
    np.testing.assert_array_equal(array.raw[:, :7], drawn_at_once(distribution, n_words, 7))
    assert not array.raw[:, 7:].any()


@pytest.mark.parametrize(("distribution", "share"), [("gamma", None), ("uniform", 1.0)])
def test_no_more_is_drawn_at_once_than_a_few_megabytes(distribution, share):
    tracemalloc.start()
    try:
        array = begun(distribution, share, 40_000, 112)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - array.nbytes < 3 * module.DRAWN_BYTES < 8 * 40_000 * 112 / 2

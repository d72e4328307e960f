"""The statistics that a model begins with: drawn in small pieces, the same numbers as if drawn at once."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from bigtopic import methods as table
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError
from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.schemes.add import Add
from bigtopic.state import new_model as module
from bigtopic.state.lazy_array import FOLD_ROWS
from bigtopic.state.new_model import new_model
from bigtopic.types import Kernel


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


def test_an_even_start_is_the_same_number_in_every_entry():
    array = begun("even", 0.5, 2500, 7)
    np.testing.assert_array_equal(array.raw[:, :7], array.raw[0, 0])
    assert array.totals().sum() == pytest.approx(0.5 * 1e6, rel=1e-6)


@pytest.mark.parametrize("name", ["g-oem", "g-oem++"])
def test_online_em_begins_with_even_topics(name):
    model = new_model(table.get(name), 7, Vocabulary(None, 2500), n_tokens=1e6, seed=5)
    np.testing.assert_array_equal(model.topic_words.raw[:, :7], model.topic_words.raw[0, 0])
    assert model.topic_words.totals().sum() == pytest.approx(1e6, rel=1e-6)


@pytest.mark.parametrize(("distribution", "share"), [("gamma", None), ("uniform", 1.0)])
def test_no_more_is_drawn_at_once_than_a_few_megabytes(distribution, share):
    tracemalloc.start()
    try:
        array = begun(distribution, share, 40_000, 112)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - array.nbytes < 3 * module.DRAWN_BYTES < 8 * 40_000 * 112 / 2


@pytest.mark.parametrize(("n_rows", "n_columns"), [(4, 4), (3, 8), (8, 3), (1, 5)])
def test_a_diagonal_start_pairs_every_row_with_a_column(n_rows, n_columns, monkeypatch):
    monkeypatch.setattr(module, "DRAWN_BYTES", 1)  # a row at a time
    pairs = begun("diagonal", None, n_rows, n_columns).raw[:, :n_columns]
    on = np.subtract.outer(np.arange(n_rows), np.arange(n_columns)) % min(n_rows, n_columns) == 0
    assert on.any(axis=0).all() and on.any(axis=1).all() and on.sum() == max(n_rows, n_columns)
    assert (pairs[on] > 1).all() and (pairs[~on] > 0).all() and (pairs[~on] < 0.02).all()


def test_topics_that_mix_distributions_over_words_are_mixtures():
    arrays = {
        "topic_words": ArraySpec("word", "part", start=("uniform", None)),
        "parts": ArraySpec("topic", "part", normalised_over=None, start=("uniform", None)),
    }
    model = Model("parts", arrays, components=("topic", "part"), mixing="parts")
    kernel = Kernel("parts", lambda *_: None, dict.fromkeys(arrays, "counts"), {"topic_words": "word"})
    method = Method("parts", kernel, {"topic_words": Add()}, model)
    made = new_model(method, {"topic": 3, "part": 5}, Vocabulary(None, 20), n_tokens=1e6, seed=5)
    source = made.topic_source()
    words, parts = (made.params[name].gather(None)[:, :5].astype(float) for name in arrays)
    expected = words / words.sum(axis=0) @ (parts / parts.sum(axis=1, keepdims=True)).T
    np.testing.assert_allclose(source.gather(None), expected, rtol=1e-5)
    np.testing.assert_allclose(source.gather(np.array([7, 2], np.int32)), expected[[7, 2]], rtol=1e-5)
    np.testing.assert_allclose(source.weights, parts.sum(axis=1))


def test_more_topics_than_any_machine_holds_are_refused_before_there_are_numbers_for_them():
    with pytest.raises(
        SettingError, match=r"but the machine has .* GB; choose fewer topics \(now 1000000000000\)"
    ):
        new_model(table.get("sparse-cvb0"), 10**12, Vocabulary(None, 2500), n_tokens=1e6)

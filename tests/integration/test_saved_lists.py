"""Runs of models with sparse rows that are saved and go on: the bits of a run that stayed in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.datasets import lda_corpus
from bigtopic.errors import ModelError, SettingError
from bigtopic.state import new_model
from bigtopic.state.model_reader import check_parts, parts_of
from bigtopic.storage.json_rules import FieldError

SETTINGS: dict[str, Any] = {
    "n_components": 140,
    "method": "sparse-cvb0",
    "batch_size": 10,
    "max_iter": 2,
    "random_state": 3,
    "progress": False,
    "client": False,
}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(new_model, "SPARSE_FROM", 100)


@pytest.fixture(scope="module")
def corpus():
    return bt.from_matrix(lda_corpus(600, 400, 10, random_state=1).counts)


def bits(model):
    array = model._model.params["topic_words"]
    assert array.is_sparse and array.dropped > 0
    lists = array.raw.lists(np.arange(array.n_rows, dtype=np.int32))
    return [values.tobytes() for values in (*lists, array.scale, array.sums)] + [array.dropped]


@pytest.mark.parametrize(("rounds", "stops"), [(3, (40, 70, 100)), (20, (75,))])
def test_a_run_that_is_resumed(rounds, stops, corpus, tmp_path):
    often, cut = bt.Checkpoint(tmp_path / "run", rounds=rounds), []
    for last in stops:

        def stop(event, last=last):
            if event.kind == "round" and event.step >= last:
                cut.append(event.step)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bt.LDA(**SETTINGS, callbacks=[stop]).fit(corpus, checkpoint=often, resume=True)
    assert len(cut) == len(stops)
    resumed = bt.LDA(**SETTINGS).fit(corpus, checkpoint=often, resume=True)
    assert bits(resumed) == bits(bt.LDA(**SETTINGS).fit(corpus))
    assert bits(bt.load_model(tmp_path / "run")) == bits(resumed)


def test_a_loaded_model_goes_on(corpus, tmp_path):
    """With other documents, some of them of new words, and from the first phase of a longer fit."""
    model = bt.LDA(**SETTINGS).fit(corpus[:300])
    model.save(tmp_path / "m.zarr")
    loaded = bt.load_model(tmp_path / "m.zarr").set_params(client=False, progress=False)
    for some in (corpus[300:400], corpus[400:]):
        assert bits(loaded.partial_fit(some)) == bits(model.partial_fit(some))
    model.save(tmp_path / "m.zarr", overwrite=True)
    assert bits(bt.load_model(tmp_path / "m.zarr")) == bits(loaded)


def test_a_model_that_dropped_everything_is_saved(tmp_path):
    """What is left of sums is the rounding of what was dropped."""
    tiny = bt.from_matrix(lda_corpus(200, 300, 5, random_state=1).counts * 1e-6)
    run = bt.Checkpoint(tmp_path / "run", rounds=1)
    model = bt.LDA(**SETTINGS).fit(tiny, checkpoint=run)
    assert model._model.dropped_share > 0.99
    model.save(tmp_path / "model")
    assert bits(bt.load_model(tmp_path / "model")) == bits(bt.load_model(tmp_path / "run")) == bits(model)


def test_numbers_beyond_single_precision_are_refused_as_of_dense_rows(corpus):
    huge = bt.from_matrix(lda_corpus(200, 300, 5, random_state=1).counts * 1e36)
    for n in (20, 140):
        with pytest.raises(ModelError, match="finite"):
            bt.LDA(**SETTINGS | {"n_components": n}).fit(huge)


def test_another_method_does_not_go_on(corpus):
    model = bt.LDA(**SETTINGS).fit(corpus).set_params(method="cgs")
    with pytest.raises(SettingError, match="learned by 'sparse-cvb0', and goes on with that"):
        model.partial_fit(corpus)


def test_a_damaged_sum_is_refused_however_much_was_dropped(corpus):
    array = bt.LDA(**SETTINGS).fit(corpus)._model.params["topic_words"]
    parts = parts_of(array)
    parts["dropped"] = parts["dropped"] * 0 + parts["sums"].sum()  # half of all
    check_parts("topic_words", parts, array.normalised_over, 140)
    sums = parts["sums"].copy()
    sums[sums.argmin()] += sums.max() / 20
    with pytest.raises(FieldError, match="sums of column"):
        check_parts("topic_words", {**parts, "sums": sums}, array.normalised_over, 140)

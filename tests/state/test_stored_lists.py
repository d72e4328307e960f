"""Models with sparse rows on disk: the lists alone, to the same bits, in little memory."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from reference import case
from scipy.sparse import csr_array

import bigtopic as bt
from bigtopic import methods as table
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import ModelError, ModelVersionError
from bigtopic.state import machine_memory, model_store, new_model
from bigtopic.state.identity import model_identity
from bigtopic.state.sparse.rows import SparseRows
from bigtopic.storage import chunks

N_TOPICS = 20
OPTIONS = {"candidates": 8}
PARTS = {"columns", "dropped", "lengths", "prior", "scale", "sums", "values"}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(new_model, "SPARSE_FROM", N_TOPICS)


def fitted(corpus, **settings):
    usual = {"method": "sparse-cvb0", "batch_size": 20, "max_iter": 2, "random_state": 0, "progress": False}
    model = bt.LDA(N_TOPICS, **usual | settings, options=OPTIONS, client=False, n_threads=1).fit(corpus)
    assert model._model.params["topic_words"].is_sparse
    return model


def begun(n_topics, n_words, method="sparse-cvb0"):
    """A model that has not learned."""
    words, method = Vocabulary(None, n_words), table.get(method)
    options = OPTIONS if "candidates" in method.load_kernel().options else {}
    return new_model.new_model(method, n_topics, words, n_tokens=1.0, options=options)


@pytest.fixture(scope="module")
def stored(corpus, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_model, "SPARSE_FROM", N_TOPICS)
        model = fitted(corpus)
    folder = tmp_path_factory.mktemp("models") / "m.zarr"
    model.save(folder)
    return folder


def described(path):
    return json.loads((path / "zarr.json").read_text())["attributes"]["bigtopic-model"]


def contents(path):
    """Of the arrays."""
    folder = next(path.glob("state-*"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def bits(array):
    lists = array.raw.lists(np.arange(array.n_rows, dtype=np.int32))
    return [values.tobytes() for values in (*lists, array.scale, array.prior, array.sums)] + [array.dropped]


# ---------------------------------------------------------------- what is stored


def test_lists_come_back_whatever_room_they_had(corpus, tmp_path):
    model = fitted(corpus)
    array = model._model.params["topic_words"]
    assert (np.diff(array.raw._starts) < 0).any() and len(array.raw._columns) > array.raw.nnz > 0
    model.save(tmp_path / "m.zarr")
    loaded = bt.load_model(tmp_path / "m.zarr")
    found = loaded._model.params["topic_words"]
    assert found.is_sparse and bits(found) == bits(array)
    assert model_identity(loaded._model) == model_identity(model._model)
    np.testing.assert_array_equal(loaded.transform(corpus), model.transform(corpus))
    loaded.save(tmp_path / "again.zarr")
    assert contents(tmp_path / "again.zarr") == contents(tmp_path / "m.zarr")


@pytest.mark.parametrize("n_rows", [1, 2, 100, 5000, 9000])
def test_lists_are_one_array_in_the_order_of_their_rows(n_rows):
    rng = np.random.default_rng(n_rows)
    dense = rng.poisson(0.2, (n_rows, 16)).astype(np.float32)
    rows = SparseRows.of(dense[:, :8], 16)
    for _ in range(3):  # lists that outgrow their place
        ids = np.flatnonzero(rng.random(n_rows) < 0.5)
        stats = csr_array(rng.poisson(0.3, (len(ids), 16)).astype(np.float32))
        rows.add(ids, stats, np.ones(16, np.float32), np.zeros(16, np.float32))
    expected = rows.lists(np.arange(n_rows, dtype=np.int32))[1:]
    for found, wanted in zip(rows.in_order(), expected, strict=True):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        n = len(wanted)
        for start, stop in [(0, n), (0, 0), (n, n), *np.sort(rng.integers(0, n + 1, (20, 2))).tolist()]:
            np.testing.assert_array_equal(found[start:stop], wanted[start:stop])


def test_a_model_that_has_not_learned_has_lists_without_values(tmp_path):
    model = begun(N_TOPICS, 50)
    model_store.save(model, tmp_path / "m.zarr")
    found = model_store.load(tmp_path / "m.zarr")[0].topic_words
    assert found.is_sparse and found.raw.nnz == 0 and found.n_rows == 50


def test_every_model_that_begins_with_lists_can_be_loaded(tmp_path):
    models = {name: begun(N_TOPICS, 50, name) for name in case.methods_of_lda()}
    sparse = [name for name, model in models.items() if model.topic_words.is_sparse]
    assert {"sparse-cvb0", "auto"} <= set(sparse)
    for name in sparse:
        model_store.save(models[name], tmp_path / name)
        assert model_store.load(tmp_path / name)[0].topic_words.is_sparse


def test_the_format_is_newer_only_where_there_are_lists(stored, corpus, tmp_path, monkeypatch):
    about = described(stored)
    assert about["version"] == 3 and about["arrays"]["topic_words"]["sparse"] is True
    assert "sparse" not in about["arrays"]["doc_topic_prior"]
    parts = next(stored.glob("state-*/topic_words")).iterdir()
    assert {part.name for part in parts if part.is_dir()} == PARTS
    dense = bt.LDA(2, method="sparse-cvb0", max_iter=1, client=False, progress=False).fit(corpus)
    dense.save(tmp_path / "dense.zarr")
    about = described(tmp_path / "dense.zarr")
    assert about["version"] == 2 and about["arrays"]["topic_words"].keys() == {
        "axis",
        "n_components",
        "normalised_over",
    }
    monkeypatch.setattr(model_store, "VERSION", 2)  # of an earlier bigtopic
    bt.load_model(tmp_path / "dense.zarr")
    with pytest.raises(ModelVersionError, match=r"has format version 3, .* reads up to 2; upgrade bigtopic"):
        bt.load_model(stored)


def test_the_reader_of_the_page_reads_lists(stored):
    page = (Path(__file__).parents[2] / "docs" / "format-model.md").read_text()
    code = re.search(r"^```python\n(import json.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict = {}
    exec(code[1], names)
    words, topics = names["read_model"](stored)
    model = bt.load_model(stored)
    assert words == list(model.vocabulary_)
    np.testing.assert_allclose(topics, model.get_topics(), rtol=1e-4, atol=1e-9)


def test_lists_that_could_not_be_loaded_are_not_saved(stored):
    model, before = bt.load_model(stored), contents(stored)
    model._model.params["topic_words"].raw._values[3] = np.nan
    with pytest.raises(
        ModelError, match=r"is not saved, because array topic_words/values holds values from nan"
    ):
        model.save(stored, overwrite=True)
    assert contents(stored) == before


# ---------------------------------------------------------------- memory


@pytest.fixture
def large():
    """A model of 20,000 words with 80 of 1000 topics each, whose lists have grown: 13 MB, or 80 MB if it were dense."""
    model = begun(1000, 20_000)
    array, rng = model.topic_words, np.random.default_rng(0)
    columns = np.sort(rng.integers(0, 1000 - 80, (20_000, 80)), axis=1) + np.arange(80)
    array.raw = SparseRows(
        np.full(20_000, 80), columns.ravel().astype(np.int32), np.ones(1_600_000, np.float32), array.n_columns
    )
    array._sum_rows()
    return model


def peak(act):
    """Bytes that are allocated at most, and what was returned."""
    tracemalloc.start()
    try:
        found = act()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


def test_a_model_is_saved_and_loaded_without_another_copy(large, tmp_path, monkeypatch):
    monkeypatch.setattr(model_store, "CHUNK_BYTES", 1 << 18)
    monkeypatch.setattr(chunks, "_REUSED", -1)  # buffers that are used again are larger
    model_store.save(begun(N_TOPICS, 50), tmp_path / "small.zarr")  # imports and compiles
    model_store.load(tmp_path / "small.zarr")
    size = large.topic_words.nbytes
    saving, _ = peak(lambda: model_store.save(large, tmp_path / "m.zarr"))
    loading, (loaded, _) = peak(lambda: model_store.load(tmp_path / "m.zarr"))
    assert saving < size / 4 and loading < 1.25 * size
    assert bits(loaded.topic_words) == bits(large.topic_words)


def test_to_identify_a_model_takes_little_memory(large):
    model_identity(large)
    taken, _ = peak(lambda: model_identity(large))
    assert taken < large.topic_words.nbytes / 20


def test_lists_are_refused_by_their_size_alone(large, tmp_path, monkeypatch):
    model_store.save(large, tmp_path / "m.zarr")
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 1 << 24)
    model_store.load(tmp_path / "m.zarr")
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 1 << 23)
    with pytest.raises(ModelError, match=r"this model needs about 0.0 GB.*; load it on a machine with more"):
        model_store.load(tmp_path / "m.zarr")

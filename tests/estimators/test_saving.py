"""Models on disk: the same bits back, no trace of a save that failed, clear words when nothing can be loaded."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr
from reference import case

from bigtopic import methods as table
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import BigtopicError, CorpusExists, ModelError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.estimators.support.checkpoints import without_password
from bigtopic.evaluation import log_predictive
from bigtopic.ingestion.ingest import ingest
from bigtopic.state import model_store, new_model
from bigtopic.storage import chunks
from bigtopic.storage.place import Place

METHODS = case.methods_of_lda()


def fitted(corpus, **settings) -> LDA:
    quick = {"method": "online-cvb0", "max_iter": 1, "client": False, "n_threads": 1, "batch_size": 50}
    return LDA(3, **{**quick, **settings}).fit(corpus)


def bits(model: LDA) -> bytes:
    return model.components_.tobytes()


def test_a_model_of_an_earlier_default_goes_on_with_its_method(corpus, tmp_path):
    model = fitted(corpus, method="online-cvb0").set_params(method=None)
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr").set_params(client=False, n_threads=1)
    assert loaded.method == "online-cvb0" and "phase" not in loaded.partial_fit(corpus[:50]).history_[-1]
    assert {row.get("phase") for row in loaded.fit(corpus).history_} == {None}
    fitted(corpus, method=None, options={"sampling.max_iter": 2}).save(tmp_path / "new.zarr")
    assert load_model(tmp_path / "new.zarr").method is None


@pytest.mark.costly(6)
@pytest.mark.parametrize("method", METHODS)
def test_a_loaded_model_is_the_model(corpus, tmp_path, method):
    model = fitted(corpus, method=method)
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert bits(loaded) == bits(model)
    assert loaded.vocabulary_ == model.vocabulary_ and list(loaded.vocabulary_) == list(model.vocabulary_)
    assert loaded.history_ == model.history_
    assert (loaded.n_iter_, loaded.n_batch_iter_, loaded.n_docs_seen_) == (
        model.n_iter_,
        model.n_batch_iter_,
        300,
    )
    assert loaded.random_state_ == model.random_state_
    np.testing.assert_array_equal(loaded.doc_topic_prior_, model.doc_topic_prior_)
    assert loaded.topic_word_prior_ == model.topic_word_prior_
    np.testing.assert_array_equal(loaded.transform(corpus), model.transform(corpus))


def test_a_loaded_model_goes_on_to_the_same_bits(corpus, tmp_path):
    """Statistics are kept with their scale, not multiplied out."""
    settings = {
        "method": "online-vb",
        "learning_decay": 0.6,
        "learning_offset": 9.0,
        "max_doc_update_iter": 11,
    }
    model = fitted(corpus.run(0, 200, order="stored"), **settings)
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert loaded.get_params()["learning_decay"] == 0.6
    assert bits(loaded.partial_fit(corpus.run(200, order="stored"))) == bits(
        model.partial_fit(corpus.run(200, order="stored"))
    )


@pytest.mark.parametrize("prior", [np.linspace(0.1, 1, 80), np.random.default_rng(0).random((3, 80)) + 0.1])
def test_priors_of_every_shape_come_back(corpus, tmp_path, prior):
    model = fitted(corpus, topic_word_prior=prior, doc_topic_prior=[0.1, 0.2, 0.3])
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    np.testing.assert_array_equal(loaded.topic_word_prior_, model.topic_word_prior_)
    assert bits(loaded) == bits(model)


def test_columns_without_names_and_words_of_every_script(corpus, tmp_path):
    unnamed = fitted(from_matrix(corpus.to_scipy()))
    unnamed.save(tmp_path / "unnamed.zarr")
    assert not load_model(tmp_path / "unnamed.zarr").vocabulary_.named
    words = ["naïve", "Ω", "日本", 'a"quote', "line\nbreak", "\N{PILE OF POO}", "", " "]
    named = fitted(from_matrix(np.eye(8), words))
    named.save(tmp_path / "named.zarr")
    assert list(load_model(tmp_path / "named.zarr").vocabulary_) == words


def test_a_loaded_model_knows_the_frequencies_of_what_it_learnt_from(corpus, tmp_path):
    train, test = corpus.split(0.3, random_state=1)
    model = fitted(train)
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    expected = train.recounted().vocabulary
    for found in (model.vocabulary_, loaded.vocabulary_):
        np.testing.assert_array_equal(found.frequency, expected.frequency)
        np.testing.assert_array_equal(found.document_frequency, expected.document_frequency)
    assert log_predictive(loaded, test).unigram == log_predictive(model, test, train=train).unigram


def test_a_model_saved_without_frequencies_is_read(corpus, saved):
    """Version 1 as it was first written."""
    document = json.loads((saved / "zarr.json").read_text())
    del document["attributes"]["bigtopic-model"]["counted"]
    (saved / "zarr.json").write_text(json.dumps(document))
    for name in ("frequency", "document_frequency"):
        shutil.rmtree(next(saved.glob("state-*")) / name)
    loaded = load_model(saved)
    assert loaded.vocabulary_.frequency is None and log_predictive(loaded, corpus).unigram is None
    # Those of some of the documents would be wrong.
    assert loaded.partial_fit(corpus[:50]).vocabulary_.frequency is None
    loaded.save(saved, overwrite=True)
    assert bits(load_model(saved)) == bits(loaded)


def test_a_model_outlives_its_corpus(corpus, tmp_path):
    stored = ingest(corpus.to_scipy(), tmp_path / "corpus.zarr", progress=False)
    train, test = stored.split(0.3, random_state=1)
    models = [fitted(stored), fitted(train)]
    expected = [
        log_predictive(m, test, train=t).unigram for m, t in zip(models, (stored, train), strict=True)
    ]
    held_out = from_matrix(test.to_scipy(), [f"{i}" for i in range(80)])
    pickled = pickle.dumps(models)
    shutil.rmtree(tmp_path / "corpus.zarr")
    for some in (models, pickle.loads(pickled)):
        for model, value in zip(some, expected, strict=True):
            assert model.vocabulary_.frequency is not None and len(model.topics(3)[0]) == 3
            assert log_predictive(model, held_out).unigram == pytest.approx(value, abs=0.1)


def test_numbers_of_numpy_survive(corpus, tmp_path):
    model = LDA(
        np.int64(3),
        max_iter=np.int64(1),
        max_doc_update_iter=np.int64(4),
        client=False,
        learning_decay=np.float64(0.6),
    )
    model.fit(corpus).save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert (loaded.n_components, loaded.max_iter, loaded.max_doc_update_iter) == (3, 1, 4)


def test_a_client_is_not_part_of_a_model(corpus, tmp_path):
    model = fitted(corpus)
    model.client = "tcp://127.0.0.1:1"
    model.save(tmp_path / "m.zarr")
    assert load_model(tmp_path / "m.zarr").client is None


def test_passwords_in_urls_are_not_part_of_a_model(corpus, tmp_path):
    begin, held_out = (f"memory://KEY:SECRET@bucket/{name}.zarr" for name in ("begin", "held-out"))
    fitted(corpus).save(begin)
    ingest(corpus, held_out)
    model = LDA(
        3,
        method="online-cvb0",
        max_iter=1,
        init=begin,
        validation=held_out,
        random_state=0,
        client=False,
        n_threads=1,
    )
    model.fit(corpus, checkpoint=tmp_path / "run.ckpt").save(tmp_path / "m.zarr")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))
    assert b"SECRET" not in written and b"memory://bucket/begin.zarr" in written
    chained = {"url": "zip://c.zarr::s3://KEY:SEC@RET@bucket/a@b.zip"}
    assert without_password(chained) == {"url": "zip://c.zarr::s3://bucket/a@b.zip"}
    assert without_password("zip://c::s3://KEY:SE/CR/ET@bucket/a") == "zip://c::s3://bucket/a"
    for harmless in ("s3://bucket/a@b", "http://host:8080/a@b", "zip://c::s3://bucket/a@b"):
        assert without_password(harmless) == harmless


def test_texts_are_split_by_a_loaded_model_as_before(tmp_path):
    model = LDA(2, client=False).fit(["cat dog pet", "dog cat", "rain sun", "sun rain wind"] * 5)
    model.save(tmp_path / "m.zarr")
    texts = ["Cat!", "rain; wind"]
    np.testing.assert_array_equal(load_model(tmp_path / "m.zarr").transform(texts), model.transform(texts))


def test_nothing_but_zarr_and_json_is_written(corpus, tmp_path):
    fitted(corpus).save(tmp_path / "m.zarr")
    files = [path for path in (tmp_path / "m.zarr").rglob("*") if path.is_file()]
    assert all(path.name == "zarr.json" or "c" in path.relative_to(tmp_path).parts for path in files)
    for path in files:
        assert not path.read_bytes().startswith(b"\x80"), "a pickle"


def test_another_process_loads_it(corpus, tmp_path):
    model = fitted(corpus)
    model.save(tmp_path / "m.zarr")
    script = f"import bigtopic; print(bigtopic.load_model({str(tmp_path / 'm.zarr')!r}).topics(3)[0][0][0])"
    run = [sys.executable, "-c", script]
    root = str(Path(__file__).parents[2])
    output = subprocess.run(run, capture_output=True, text=True, check=True, cwd=root).stdout
    assert output.strip() == model.topics(3)[0][0][0]


def test_a_model_replaces_a_model_and_leaves_nothing_behind(corpus, tmp_path):
    url = tmp_path / "m.zarr"
    fitted(corpus).save(url)
    other = fitted(corpus, random_state=5)
    with pytest.raises(CorpusExists, match="is already a model; choose another path, or pass overwrite=True"):
        other.save(url)
    assert bits(load_model(url)) != bits(other)
    other.save(url, overwrite=True)
    assert bits(load_model(url)) == bits(other)
    assert sorted(path.name[:6] for path in url.iterdir()) == ["state-", "zarr.j"]


def test_what_is_not_a_model_is_not_replaced(corpus, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(CorpusExists, match="not a bigtopic model"):
        fitted(corpus).save(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


# ---------------------------------------------------------------- failures


def test_a_failure_while_saving_leaves_no_trace(corpus, tmp_path, monkeypatch):
    model = fitted(corpus)

    def fail(*args):
        raise RuntimeError("disk full")

    monkeypatch.setattr(model_store, "_describe", fail)
    with pytest.raises(RuntimeError, match="disk full"):
        model.save(tmp_path / "m.zarr")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- what cannot be loaded


@pytest.fixture
def saved(corpus, tmp_path) -> Path:
    fitted(corpus).save(tmp_path / "m.zarr")
    return tmp_path / "m.zarr"


def change(saved: Path, **values) -> None:
    document = json.loads((saved / "zarr.json").read_text())
    document["attributes"]["bigtopic-model"].update(values)
    (saved / "zarr.json").write_text(json.dumps(document))


def test_there_is_no_model(tmp_path, corpus):
    for url in (tmp_path / "nothing.zarr", tmp_path):
        with pytest.raises(ModelError, match="no bigtopic model at"):
            load_model(url)
    (tmp_path / "file").write_text("text")
    with pytest.raises(ModelError, match="no bigtopic model at"):
        load_model(tmp_path / "file")


@pytest.mark.parametrize("root", [None, b"", b'{"attributes": {"big', b"{}"])
def test_a_model_whose_root_is_damaged_or_lost_says_so(saved, root):
    (saved / "zarr.json").unlink() if root is None else (saved / "zarr.json").write_bytes(root)
    with pytest.raises(
        ModelError, match=r"but the arrays of one without its zarr\.json, which is damaged or lost"
    ):
        load_model(saved)


def test_a_newer_format_is_refused(saved):
    change(saved, version=99)
    with pytest.raises(ModelError, match=r"version 99.*upgrade"):
        load_model(saved)


def test_a_model_of_a_newer_kind_is_refused(saved):
    change(saved, extra={"estimator": "QuantumTopics", "params": {}})
    with pytest.raises(ModelError, match="QuantumTopics"):
        load_model(saved)


def test_a_parameter_of_a_newer_version_is_passed_over(saved, corpus):
    """An argument that this version does not have cannot matter to topics that are already learnt."""
    document = json.loads((saved / "zarr.json").read_text())
    extra = document["attributes"]["bigtopic-model"]["extra"]
    change(saved, extra={**extra, "params": {**extra["params"], "colour": "red"}})
    assert load_model(saved).n_components == 3


@pytest.fixture
def saved_lists(corpus, tmp_path, monkeypatch) -> Path:
    """A model with sparse rows."""
    monkeypatch.setattr(new_model, "SPARSE_FROM", 3)
    fitted(corpus, method="sparse-cvb0", options={"candidates": 2}).save(tmp_path / "m.zarr")
    return tmp_path / "m.zarr"


@pytest.mark.parametrize(
    ("model", "array"),
    [
        *(("saved", f"topic_words/{part}") for part in ("raw", "scale")),
        *(("saved", array) for array in ("words", "frequency", "doc_topic_prior/prior")),
        *(("saved_lists", f"topic_words/{part}") for part in ("lengths", "columns", "values", "dropped")),
    ],
)
@pytest.mark.parametrize("damage", ["missing chunk", "flipped byte", "missing array", "truncated chunk"])
def test_a_damaged_model_says_so(request, model, array, damage):
    saved = request.getfixturevalue(model)
    folder = next(saved.glob("state-*")) / array
    chunk = next(path for path in (folder / "c").rglob("*") if path.is_file())
    if damage == "missing chunk":
        chunk.unlink()
    elif damage == "missing array":
        shutil.rmtree(folder)
    elif damage == "truncated chunk":
        chunk.write_bytes(chunk.read_bytes()[:-7])
    else:
        data = bytearray(chunk.read_bytes())
        data[len(data) // 2] ^= 0xFF
        chunk.write_bytes(data)
    with pytest.raises(ModelError, match=r"damaged|missing|fingerprint"):
        load_model(saved)


def test_a_description_with_holes_says_so(saved):
    document = json.loads((saved / "zarr.json").read_text())
    for name in ("state", "arrays", "method", "cursor", "version"):
        broken = json.loads(json.dumps(document))
        del broken["attributes"]["bigtopic-model"][name]
        (saved / "zarr.json").write_text(json.dumps(broken))
        with pytest.raises(ModelError, match="damaged"):
            load_model(saved)


def test_a_method_of_ones_own_must_be_given_again(corpus, tmp_path):
    from dataclasses import replace

    own = replace(table.get("online-vb"), name="my-own")
    fitted(corpus, method=own).save(tmp_path / "m.zarr")
    with pytest.raises(BigtopicError, match="my-own"):
        load_model(tmp_path / "m.zarr")


def test_a_model_of_an_own_method_is_loaded_with_it(tmp_path, corpus):
    own = replace(table.get("online-vb"), name="mine", batch_size=50)
    model = fitted(corpus, method=own)
    model.save(tmp_path / "model.zarr")
    with pytest.raises(ModelError, match=r"'mine'.*method="):
        load_model(tmp_path / "model.zarr")
    with pytest.raises(ModelError, match="not with 'vb'"):
        load_model(tmp_path / "model.zarr", method=table.get("vb"))
    again = load_model(tmp_path / "model.zarr", method=own)
    assert again.method is own
    assert again.components_.tobytes() == model.components_.tobytes()


def test_an_array_is_written_without_a_copy_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(model_store, "CHUNK_BYTES", 1 << 20)
    group = zarr.open_group(tmp_path / "group", mode="w")
    values = np.random.default_rng(0).random((1 << 14, 128))  # 16 MiB, in chunks of one
    model_store._put(group, "first", values[:1])  # imports
    tracemalloc.start()
    try:
        with zarr.config.set({"async.concurrency": 16}):
            model_store._put(group, "values", values)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < values.nbytes / 2
    np.testing.assert_array_equal(group["values"][...], values)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 100, 129, 1000])
def test_what_is_loaded_keeps_no_rows_of_a_chunk_that_the_array_has_not(tmp_path, monkeypatch, n_rows):
    monkeypatch.setattr(model_store, "CHUNK_BYTES", 128 * 64)
    monkeypatch.setattr(chunks, "_REUSED", -1)  # buffers that are used again are larger
    group = zarr.open_group(tmp_path / "group", mode="w")
    values = np.random.default_rng(0).random((n_rows, 8))
    model_store._put(group, "values", values)
    found = chunks.ChunkedArray(Place.of(tmp_path / "group" / "values"), "values")[:]
    np.testing.assert_array_equal(found.reshape(values.shape), values)
    held = found if found.base is None else found.base
    assert held.nbytes <= values.nbytes * 1.1

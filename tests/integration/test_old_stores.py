"""A corpus and a model that the first version wrote: they open unchanged, go on, and are written as is done now."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt

WRITTEN = Path(__file__).with_name("written_by_0.1.0.zip")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with zipfile.ZipFile(WRITTEN) as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.fixture
def expected(folder: Path) -> dict:
    return json.loads((folder / "expected.json").read_text())


def test_the_corpus(folder, expected):
    corpus = bt.open_corpus(folder / "corpus.zarr")
    assert corpus.verify().n_docs == 12 and corpus.n_tokens == expected["tokens"]
    assert sorted(corpus.document_ids()) == sorted(expected["ids"])
    assert corpus.read_column("year").tolist() == list(range(2000, 2012))
    assert sorted(corpus.authors) == ["birds", "both", "cats", "dogs"]
    assert corpus.author_vocabulary.document_frequency is None
    assert len(bt.append(corpus, ["one more cat"], client=False)) == 13


def test_texts_are_split_as_when_the_corpus_was_made(folder):
    corpus = bt.append(folder / "corpus.zarr", ["Zwo\u0308lf x\u0301yz \u00e9te"], client=False)
    assert {*corpus.vocabulary[:]} >= {"zwo", "lf", "yz", "\u00e9te"}
    assert "rules" not in corpus.text_settings
    new = bt.ingest(["Zwo\u0308lf"], folder / "new.zarr", client=False)
    assert new.vocabulary[:] == ["zw\u00f6lf"] and new.text_settings["rules"] == 2
    assert bt.append(new, ["zwo\u0308lf"], client=False).n_words == 1
    model = bt.load_model(folder / "model.zarr").set_params(client=False)
    model.partial_fit(["zwo\u0308lf"])
    assert {"zwo", "lf"} <= {*model.vocabulary_[:]}


def test_the_model(folder, expected):
    model, corpus = bt.load_model(folder / "model.zarr"), bt.open_corpus(folder / "corpus.zarr")
    model.set_params(client=False)
    assert model.vocabulary_[:] == expected["words"]
    np.testing.assert_array_equal(model.doc_topic_prior_, expected["prior"])
    np.testing.assert_allclose(model.components_, expected["components"], rtol=1e-6)
    np.testing.assert_allclose(model.transform(corpus), expected["doc_topics"], rtol=1e-5)
    model.save(folder / "again.zarr")
    again = bt.load_model(folder / "again.zarr").set_params(client=False)
    for one in (model, again):
        one.partial_fit(["the cat and the bird met"])
    np.testing.assert_array_equal(again.components_, model.components_)
    np.testing.assert_array_equal(again.doc_topic_prior_, expected["prior"])


def test_an_old_model_that_is_damaged(folder):
    place = folder / "model.zarr" / "zarr.json"
    document = json.loads(place.read_text())
    document["attributes"]["bigtopic-model"]["arrays"] = {}
    place.write_text(json.dumps(document))
    with pytest.raises(bt.errors.ModelError, match=r"model\.zarr is damaged: .*arrays must be one array"):
        bt.load_model(folder / "model.zarr")

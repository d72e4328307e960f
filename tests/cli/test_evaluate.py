"""A score on the documents that a model learned from is not called held-out."""

import json

import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.estimators.lda import LDA

from .conftest import run

FEW = ("--topics", 2, "--passes", 1, "--batch-size", 20)


@pytest.mark.parametrize(
    "held_out, said",
    [
        ((), "learned from these 200 documents: "),
        (("--held-out", 0.1), "learned from these 200 documents, without the 20 that it held out: "),
        (("--held-out", 5), "learned from these 200 documents, without the 5 that it held out: "),
    ],
)
def test_the_documents_that_a_model_learned_from_are_recognised(held_out, said, corpus, tmp_path):
    run("train", corpus, tmp_path / "m.zarr", *FEW, *held_out)
    found = run("evaluate", tmp_path / "m.zarr", corpus)
    assert f"m.zarr {said}its score is not a held-out one; give" in found.stderr
    assert "  training score  " in found.stdout and "held" not in found.stdout
    found = run("evaluate", tmp_path / "m.zarr", corpus, "--json", "--measure", "log-predictive")
    assert said in found.stderr and list(json.loads(found.stdout)) == ["log-predictive"]
    assert not run("evaluate", tmp_path / "m.zarr", corpus, "--measure", "npmi").stderr


def test_other_documents_have_a_held_out_score(corpus, tmp_path):
    LDA(2, max_iter=1).fit(open_corpus(corpus)[:150]).save(tmp_path / "m.zarr")
    found = run("evaluate", tmp_path / "m.zarr", corpus)
    assert "  held-out score  " in found.stdout and not found.stderr


def test_a_model_without_a_record_is_scored(model, corpus, tmp_path):
    from bigtopic.estimators.persistence import load_model

    bare = load_model(model)
    bare.run_ = None
    bare.save(tmp_path / "m.zarr")
    assert "held-out score" in run("evaluate", tmp_path / "m.zarr", corpus).stdout

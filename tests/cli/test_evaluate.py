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


def test_several_models_are_compared(model, corpus, tmp_path):
    LDA(3, max_iter=1).fit(open_corpus(corpus)[:150]).save(tmp_path / "k3.zarr")
    asked = ("evaluate", model, tmp_path / "k3.zarr", corpus)
    shown = run(*asked)
    heading, first, second, *notes = shown.stdout.splitlines()
    assert heading.split()[:3] == ["model", "training", "score"] and "NPMI" in heading
    assert "topics.zarr" in first and "k3.zarr" in second and "reference" in first + second
    assert "paired" in notes[0] and "learned from these 200 documents" in shown.stderr
    found = json.loads(run(*asked, "--json", "--measure", "log-predictive").stdout)
    scores = found["models"][str(tmp_path / "k3.zarr")]["log-predictive"]
    assert {"value", "standard_error", "difference", "difference_standard_error"} <= scores.keys()
    shown = run("evaluate", model, model, corpus, code=2).output
    assert "is given twice; give each model once, and then the corpus" in shown

"""`bigtopic sweep`: candidates from lists of values, and the chosen model."""

import json

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model

from .conftest import run

FEW = ("--passes", 2, "--batch-size", 20)


def test_the_table_is_printed_and_the_chosen_model_written(corpus, tmp_path):
    asked = ("sweep", corpus, tmp_path / "m.zarr", "--topics", "2,3", "--method", "online-cvb0", *FEW)
    shown = run(*asked, "--plot", tmp_path / "sweep.svg")
    heading, *rows = shown.stdout.splitlines()
    assert heading.split()[:3] == ["n_components", "held-out", "score"]
    assert ["chosen" in row for row in rows[:2]] == [True, False] and "one standard error" in rows[2]
    assert f"  model  {tmp_path / 'm.zarr'}" in rows and f"  plot   {tmp_path / 'sweep.svg'}" in rows
    first, second = shown.stderr.splitlines()
    assert first.startswith("candidate 1 of 2, n_components=2: held-out score -") and " ± " in first
    assert second.startswith("candidate 2 of 2, n_components=3: ")
    same = LDA(2, method="online-cvb0", max_iter=2, batch_size=20, random_state=0).fit(bt.open_corpus(corpus))
    np.testing.assert_array_equal(load_model(tmp_path / "m.zarr").components_, same.components_)
    assert (tmp_path / "sweep.svg").read_text().startswith("<?xml")
    command = json.loads(run("info", tmp_path / "m.zarr", "--json").stdout)["command"]
    assert command.startswith(f"bigtopic train {corpus} MODEL --topics 2 ")


def test_json_has_what_the_library_says(corpus, tmp_path):
    lists = ("--topics", "2,3", "--doc-topic-prior", "0.1, 0.5", "--method", "online-vb", "--folds", 2)
    shown = run("sweep", corpus, *lists, *FEW, "--measure", "npmi", "--measure", "log-predictive", "--json")
    one = LDA(method="online-vb", max_iter=2, batch_size=20, progress=False)
    lists = {"n_components": [2, 3], "doc_topic_prior": [0.1, 0.5]}
    found = bt.sweep(corpus, one, measure=["npmi", "log-predictive"], folds=2, **lists)
    (tmp_path / "run.toml").write_text('topics = [2, 3]\ndoc-topic-prior = "0.1,0.5"\nfolds = 2\n')
    shared = ("--method", "online-vb", *FEW, "--measure", "npmi", "--measure", "log-predictive", "--json")
    assert run("sweep", corpus, "--config", tmp_path / "run.toml", *shared).stdout == shown.stdout
    assert json.loads(shown.stdout) == json.loads(json.dumps(found.to_dict()))
    assert len(found) == 4 == shown.stderr.count("candidate ")


def test_authors_have_the_prior_of_documents(corpus):
    lists = ("--method", "author-vb", "--topics", 2, "--doc-topic-prior", "0.1,0.5", "--passes", 1)
    found = json.loads(run("sweep", corpus, *lists, "--measure", "npmi", "--json").stdout)
    assert [row["author_topic_prior"] for row in found["candidates"]] == [0.1, 0.5]


@pytest.mark.parametrize(
    "typed, said",
    [
        (["--topics", "5"], "there is one candidate: give several values of an option"),
        (["--topics", "5,x"], "Invalid value for '--topics': 'x' is not a valid"),
        (["--topics", "5,"], "'5,': write values with commas between, and no spaces, such as 10,20"),
        (["--topics", "0,2"], "Invalid value for '--topics': 0 is not in the range"),
        (
            ["--topics", "2,3", "--folds", "1"],
            "from 2 to the 200 documents, or leave it out to hold out",
        ),
        (["--topics", "2,3", "--folds", "2", "--test-size", "9"], "--test-size has no effect beside --folds"),
        (["--topics", "2,3", "--test-size", "200"], "200 documents: give a share"),
        (["--topics", "2,3", "--doc-topic-prior", "-1"], "--doc-topic-prior=-1.0: must be positive"),
        (["--topics", "2,3", "--plot", "a.jpg"], "--plot: must end in one of .pdf, .png, .svg"),
        (["--topics", "2,3", "--method", "online-cbv0"], "did you mean 'online-cvb0'"),
        (["--method", "online-vb,author-vb"], "--method author-vb: learns another model than 'online-vb'"),
        (
            ["--topics", "2,3", "--row-topics", "2,3"],
            "--row-topics: method 'auto' learns the model LDA",
        ),
        (["MODEL", "--topics", "2,3"], "pass --overwrite to replace it"),
    ],
)
def test_mistakes_are_named_before_anything_is_learned(typed, said, corpus, model, monkeypatch):
    monkeypatch.setattr(LDA, "fit", lambda *_, **__: pytest.fail("learned"))
    shown = run("sweep", corpus, *(model if word == "MODEL" else word for word in typed), code=2).output
    assert said in " ".join(shown.split()) and "Traceback" not in shown


def test_ctrl_c_ends_it_without_a_model(corpus, tmp_path, monkeypatch):
    learn = LDA.fit

    def interrupted(self, *arguments, **settings):
        if self.n_components == 3:
            raise KeyboardInterrupt
        return learn(self, *arguments, **settings)

    monkeypatch.setattr(LDA, "fit", interrupted)
    shown = run("sweep", corpus, tmp_path / "m.zarr", "--topics", "2,3", *FEW, code=130)
    assert shown.stderr.startswith("candidate 1 of 2") and shown.stderr.endswith("Interrupted\n")
    assert not shown.stdout and not list(tmp_path.iterdir())

"""`bigtopic train --continue-from`: a model goes on with what was appended to its corpus."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

import bigtopic as bt

from .conftest import run


@pytest.fixture
def grown(tmp_path, source):
    """A corpus of 200 documents, a model of it, and 40 documents more."""
    lines = source.read_text().splitlines(keepends=True)
    (tmp_path / "more.jsonl").write_text(
        "".join(line.replace('"id": "d', '"id": "e').replace("violin", "fiddle") for line in lines[:40])
    )
    run("ingest", source, tmp_path / "c.zarr")
    options = ["--topics", 2, "--passes", 2, "--batch-size", 20, "--held-out", 0.1, "--patience", 5]
    run("train", tmp_path / "c.zarr", tmp_path / "m.zarr", "--method", "online-cvb0", *options)
    run("ingest", tmp_path / "more.jsonl", tmp_path / "c.zarr", "--append")
    return tmp_path


def go_on(folder, *options, code=0, corpus="c.zarr", into="n.zarr"):
    model = folder / "m.zarr"
    return run("train", folder / corpus, folder / into, "--continue-from", model, *options, code=code)


def test_new_documents_are_learned_from_as_in_python(grown):
    said = go_on(grown).stderr
    assert (
        f"m.zarr learned from 40 documents in 1 pass; 40 of the 240 documents of {grown}/c.zarr were new"
        in said
    )
    python = bt.load_model(grown / "m.zarr").set_params(client=False, patience=None, progress=False)
    python.update(grown / "c.zarr")
    made = bt.load_model(grown / "n.zarr")
    np.testing.assert_array_equal(made.components_, python.components_)
    assert "fiddle" in made.vocabulary_ and made.max_time is None
    assert json.loads(run("info", grown / "n.zarr", "--json").output)["command"] is None


def test_a_model_of_the_default_method_samples_anew_from_all_documents(grown):
    new = f"; 40 of the 240 documents of {grown}/c.zarr were new\n"
    anew = "then from all 240 in 40 passes of the sampling phase"
    run("train", grown / "c.zarr", grown / "m.zarr", "--topics", 2, "--passes", 2, "--overwrite")
    again = go_on(grown, "--overwrite", "--documents", "all", "--passes", 1, into="m.zarr").stderr
    assert f"m.zarr learned from 240 documents in 1 pass, {anew}; 0 of" in again
    model = bt.load_model(grown / "m.zarr")
    assert model.n_iter_ == 2 + 40 + 1 + 40
    model.run_["corpus"] |= {"documents": 200, "rows": 200}
    model.save(grown / "m.zarr", overwrite=True)
    assert go_on(grown, "--passes", 3).stderr.endswith(f"learned from 120 documents in 3 passes, {anew}{new}")
    python = bt.load_model(grown / "m.zarr").set_params(client=False, progress=False)
    python.update(grown / "c.zarr", max_iter=3)
    np.testing.assert_array_equal(bt.load_model(grown / "n.zarr").components_, python.components_)
    cut = go_on(grown, "--max-time", "0.0001s", into="cut.zarr").stderr
    assert re.search(f"learned from \\d+ documents? in 1 pass, stopped by the time limit{new}$", cut)


def test_a_job_of_every_day_replaces_its_model(grown):
    refused = go_on(grown, into="m.zarr", code=2).output
    assert "pass --overwrite to replace it" in refused
    go_on(grown, "--overwrite", "--passes", 3, into="m.zarr")
    model = bt.load_model(grown / "m.zarr")
    assert model.n_iter_ == 5
    again = go_on(grown, "--overwrite", into="m.zarr").stderr
    assert f"has learned from all 240 documents of {grown}/c.zarr: nothing is new" in again
    np.testing.assert_array_equal(bt.load_model(grown / "m.zarr").components_, model.components_)
    said = go_on(grown, "--overwrite", "--documents", "all", "--passes", 1, into="m.zarr").stderr
    assert "learned from 240 documents in 1 pass; 0 of the 240 documents" in said


@pytest.mark.parametrize("end", [None, "interrupt"])
def test_where_nothing_is_new_the_end_of_the_run_before_says_nothing(end, grown):
    """A checkpoint does not know how its run ended, nor is this command interrupted because that run was."""
    model = bt.load_model(grown / "m.zarr")
    model.run_["corpus"] |= {"documents": 240, "rows": 240}
    model.run_ = {name: value for name, value in model.run_.items() if name not in ("ended", "finished")}
    model.run_ |= {"ended": end} if end else {}
    model.save(grown / "m.zarr", overwrite=True)
    assert "nothing is new" in go_on(grown).stderr
    np.testing.assert_array_equal(bt.load_model(grown / "n.zarr").components_, model.components_)


def test_another_corpus_is_new_when_it_is_said(grown):
    run("ingest", grown / "more.jsonl", grown / "other.zarr")
    refused = go_on(grown, corpus="other.zarr", code=2).output
    assert "which documents are new is not known: pass --documents all to learn from all of them\n" in refused
    said = go_on(grown, "--documents", "all", corpus="other.zarr").stderr
    assert "learned from 40 documents in 1 pass; 40 of the 40 documents" in said


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--topics", 5], "--topics"),
        (["--method", "vb"], "--method"),
        (["--held-out", 0.1], "--held-out"),
        (["--checkpoint", "run.ckpt"], "--checkpoint"),
        (["--random-state", 3], "--random-state"),
        (["--init", "m.zarr"], "--init"),
    ],
)
def test_what_a_model_keeps_is_refused(grown, options, named):
    shown = " ".join(go_on(grown, *options, code=2).output.split())
    assert f"{named} has no effect beside --continue-from" in shown and not (grown / "n.zarr").exists()


def test_documents_needs_a_model(grown):
    options = ["--documents", "all"]
    shown = run("train", grown / "c.zarr", grown / "n.zarr", *options, code=2).output
    assert "--documents needs --continue-from" in shown


def test_a_start_from_other_topics(grown):
    online = ["--method", "online-cvb0", "--topics", 2, "--passes", 1]
    run("train", grown / "c.zarr", grown / "n.zarr", *online, "--init", grown / "m.zarr")
    made, python = (
        bt.load_model(grown / "n.zarr"),
        bt.LDA(2, method="online-cvb0", max_iter=1, init=str(grown / "m.zarr"), random_state=0),
    )
    python.set_params(client=False, progress=False).fit(grown / "c.zarr")
    np.testing.assert_array_equal(made.components_, python.components_)
    command = json.loads(run("info", grown / "n.zarr", "--json").output)["command"]
    assert f"--init {grown}/m.zarr" in command
    three = ["--topics", 3, "--init", grown / "m.zarr"]
    shown = run("train", grown / "c.zarr", grown / "k.zarr", *three, code=2).output
    assert "init has 2 topics, but --topics is 3; make them equal" in shown


def test_a_model_of_authors_learns_from_the_documents_of_the_new_ones_authors(grown):
    shutil.copytree(grown / "c.zarr", grown / "a.zarr")
    options = ["--method", "online-author-cvb0", "--topics", 2, "--passes", 1]
    run("train", grown / "a.zarr", grown / "m.zarr", *options, "--overwrite")
    more = (grown / "more.jsonl").read_text().replace('"id": "e', '"id": "f')
    (grown / "more.jsonl").write_text("".join(more.splitlines(keepends=True)[::2]))  # rivers-club alone
    run("ingest", grown / "more.jsonl", grown / "a.zarr", "--append")
    said = go_on(grown, "--passes", 1, corpus="a.zarr").stderr
    assert "learned from 140 documents in 1 pass; 20 of the 260 documents" in said

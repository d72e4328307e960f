"""A model knows how it was made, as a command that makes it again, and `--config` takes options from files."""

import json
import shlex
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.learning.history import History

from .conftest import run


def facts(model):
    return json.loads(run("info", model, "--json").output)


def trained(model):
    return load_model(model).components_


@pytest.mark.costly
@pytest.mark.parametrize(
    "options",
    [
        (
            "--topics",
            3,
            "--passes",
            2,
            "--held-out",
            0.2,
            "--patience",
            2,
            "--learning-decay",
            0.6,
            "--seed",
            5,
        ),
        (
            "--method",
            "author-vb",
            "--topics",
            2,
            "--passes",
            2,
            "--doc-topic-prior",
            0.2,
            "--max-time",
            "10m",
        ),
        (
            "--method",
            "dual-cgs",
            "--row-topics",
            2,
            "--column-topics",
            3,
            "--passes",
            2,
            "--joint-prior",
            0.3,
        ),
    ],
)
def test_the_command_that_info_prints_makes_the_same_model(options, corpus, tmp_path):
    run("train", corpus, tmp_path / "m.zarr", *options)
    command = facts(tmp_path / "m.zarr")["command"]
    assert command in run("info", tmp_path / "m.zarr").output
    run(*shlex.split(command.replace("MODEL", str(tmp_path / "again.zarr")))[1:])
    run("train", corpus, tmp_path / "third.zarr", "--config", tmp_path / "m.zarr")
    for again in ("again.zarr", "third.zarr"):
        np.testing.assert_array_equal(trained(tmp_path / again), trained(tmp_path / "m.zarr"))


def test_settings_without_effect_are_left_out_of_the_command(corpus, tmp_path):
    learned = LDA(2, max_iter=1).fit(open_corpus(corpus)).set_params(replica_updates=4)
    learned.run_["settings"]["replica_updates"] = 4  # as earlier versions allowed
    learned.save(tmp_path / "m.zarr")
    command = facts(tmp_path / "m.zarr")["command"].replace("MODEL", str(tmp_path / "again.zarr"))
    run(*shlex.split(command)[1:])


def test_a_model_records_its_run(model, corpus):
    found = facts(model)["run"]
    assert found["corpus"] == {
        "url": str(corpus),
        "fingerprint": open_corpus(corpus).fingerprint,
        "documents": 200,
        "rows": 200,
        "tokens": 4000.0,
    }
    assert found["settings"]["validation"] == 0.1 and found["settings"]["method"] == "auto"
    assert found["versions"]["numpy"] == np.__version__
    assert found["ended"] == "max_iter" and found["score"] == facts(model)["score"] < 0


def test_what_no_command_repeats_has_none(corpus, tmp_path):
    documents = open_corpus(corpus)
    models = {
        "part": LDA(2, max_iter=1).fit(documents[:50]),
        "option": LDA(2, max_iter=1, tol=0.5).fit(documents),
        "array": LDA(2, max_iter=1, doc_topic_prior=np.ones(2)).fit(documents),
        "stream": LDA(2, max_iter=1).fit(documents).partial_fit(documents),
    }
    for name, model in models.items():
        model.save(tmp_path / name)
        assert facts(tmp_path / name)["command"] is None
    assert facts(tmp_path / "array")["run"]["not_recorded"] == ["doc_topic_prior"]
    assert facts(tmp_path / "stream")["run"]["partial_fits"] == 1
    shown = run("train", corpus, tmp_path / "m.zarr", "--config", tmp_path / "option", code=2).output
    assert "no options of 'bigtopic train' repeat the run" in shown


def test_models_without_a_record_open_and_damaged_records_do_not(model, tmp_path):
    load_model(model).save(tmp_path / "m.zarr")
    path = tmp_path / "m.zarr" / "zarr.json"
    written = json.loads(path.read_text())
    extra = written["attributes"]["bigtopic-model"]["extra"]
    extra["run"]["versions"] = 5
    path.write_text(json.dumps(written))
    assert "extra.run.versions" in run("info", tmp_path / "m.zarr", code=2).output
    del extra["run"]
    path.write_text(json.dumps(written))
    assert facts(tmp_path / "m.zarr")["run"] is None
    assert "repeat with" not in run("info", tmp_path / "m.zarr").output


@pytest.mark.parametrize("url", ["c.zarr; rm -rf ~", "$(rm -rf ~)", "--debug"])
def test_a_command_from_a_crafted_model_is_quoted(url, model, tmp_path):
    estimator = load_model(model)
    estimator.run_["corpus"]["url"] = url
    estimator.save(tmp_path / "m.zarr")
    command = facts(tmp_path / "m.zarr")["command"]
    assert command is None if url == "--debug" else shlex.split(command)[2] == url


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_options_are_taken_from_a_file_and_the_command_line_goes_first(ending, corpus, tmp_path):
    options = {"topics": 4, "held-out": 0.1, "passes": 1}
    file = tmp_path / f"run.{ending}"
    toml = "".join(f"{name} = {value}\n" for name, value in options.items())
    file.write_text(toml if ending == "toml" else json.dumps(options))
    run("train", corpus, tmp_path / "m.zarr", "--config", file, "--topics", 2)
    settings = facts(tmp_path / "m.zarr")["run"]["settings"]
    assert settings["n_components"] == 2 and settings["validation"] == 0.1


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("a.toml", "topcis = 3", "has no option 'topcis'; did you mean 'topics'"),
        ("a.toml", "topics = many", "a.toml is not TOML"),
        ("a.toml", "topics = 'many'", "--topics"),
        ("a.toml", "held-out = true", "True is neither a number of documents nor a share"),
        ("a.toml", "topics = [1, 2]", "a.toml: topics holds a list; write a text, a number"),
        ("a.toml", "max-time = 07:32:00", "a.toml: max-time holds a time; write a text, a number"),
        ("a.json", "[3]", "a.json holds a list"),
        ("a.json", "{", "a.json is not JSON"),
        ("a.json/b.toml", None, "cannot be read: Not a directory"),
    ],
)
def test_mistakes_in_a_file_of_options_are_named(name, text, said, corpus, tmp_path):
    (tmp_path / name.partition("/")[0]).write_text(text or "")
    shown = run("train", corpus, tmp_path / "m.zarr", "--config", tmp_path / name, code=2).output
    assert said in shown and "Traceback" not in shown


def test_a_run_that_is_interrupted_is_written_and_exits_with_130(corpus, tmp_path, monkeypatch):
    @contextmanager
    def interrupted(saved):
        stop = threading.Event()
        stop.set()
        yield stop

    monkeypatch.setattr("bigtopic.learning.train.interruptible", interrupted)
    run("train", corpus, tmp_path / "m.zarr", "--topics", 2, "--passes", 50, "--batch-size", 20, code=130)
    found = facts(tmp_path / "m.zarr")
    assert found["run"]["ended"] == "interrupt" and found["command"] is None
    assert "by Ctrl-C" in run("info", tmp_path / "m.zarr").output


@pytest.mark.parametrize("saved", [False, True])
def test_a_run_that_is_terminated_is_written_and_exits_with_143(saved, corpus, tmp_path, monkeypatch):
    record = History.round_done

    def terminated(self, report):
        record(self, report)
        if report.cursor.step == 3:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(History, "round_done", terminated)
    again = ("--checkpoint", tmp_path / "run.ckpt") if saved else ()
    run("train", corpus, tmp_path / "m.zarr", "--passes", 50, "--batch-size", 20, *again, code=143)
    assert facts(tmp_path / "m.zarr")["run"]["ended"] == "interrupt"
    assert (tmp_path / "run.ckpt").exists() == saved


def test_options_of_another_model_are_refused(corpus, tmp_path):
    asked = ("train", corpus, tmp_path / "m.zarr")
    assert "--topics: method 'dual-mf'" in run(*asked, "--method", "dual-mf", "--topics", 3, code=2).output
    assert "--row-topics: method 'auto'" in run(*asked, "--row-topics", 3, code=2).output

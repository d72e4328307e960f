"""`bigtopic train --checkpoint --resume`: the same command again goes on with a run that was cut."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
from click.testing import CliRunner

import bigtopic as bt
from bigtopic.cli import main
from bigtopic.learning import history


def train(*arguments):
    return CliRunner().invoke(main, ["train", *map(str, arguments), "--topics", "3", "--threads", "1"])


def test_the_same_command_again_goes_on(tmp_path, corpus):
    stored, path = corpus, tmp_path / "run.ckpt"
    resumed = ["--checkpoint", path, "--resume", "--batch-size", 20]
    assert train(stored, tmp_path / "cut.zarr", *resumed, "--max-time", "1s").exit_code == 0
    assert train(stored, tmp_path / "whole.zarr", *resumed).exit_code == 0
    assert train(stored, tmp_path / "other.zarr", "--batch-size", 20).exit_code == 0
    whole, other = (bt.load_model(tmp_path / f"{name}.zarr") for name in ("whole", "other"))
    np.testing.assert_array_equal(whole.components_, other.components_)


def test_a_job_can_always_pass_the_same_command(tmp_path, corpus):
    model, again = tmp_path / "model.zarr", ["--checkpoint", tmp_path / "run.ckpt", "--resume"]
    assert train(corpus, model, *again).exit_code == 0
    first = bt.load_model(model).components_
    assert train(corpus, model, *again).exit_code == 0
    np.testing.assert_array_equal(bt.load_model(model).components_, first)
    assert train(corpus, model, *again[:2]).exit_code == 2  # without --resume


def test_the_command_of_an_interrupted_run_can_be_repeated(tmp_path, corpus, monkeypatch):
    @contextmanager
    def interrupted(saved):
        stop = threading.Event()
        stop.set()
        yield stop

    model, again = tmp_path / "model.zarr", ["--checkpoint", tmp_path / "run.ckpt", "--resume"]
    with monkeypatch.context() as patch:
        patch.setattr("bigtopic.learning.train.interruptible", interrupted)
        assert train(corpus, model, *again, "--batch-size", 20).exit_code == 130
    assert train(corpus, tmp_path / "whole.zarr", *again, "--batch-size", 20).exit_code == 0
    assert train(corpus, model, *again, "--batch-size", 20).exit_code == 0  # although the run is further
    whole = bt.load_model(tmp_path / "whole.zarr")
    np.testing.assert_array_equal(bt.load_model(model).components_, whole.components_)
    whole.partial_fit(bt.open_corpus(corpus)).save(model, overwrite=True)
    assert train(corpus, model, *again, "--batch-size", 20).exit_code == 2


def test_only_the_model_of_the_run_is_replaced(tmp_path, corpus):
    mine, again = tmp_path / "mine.zarr", ["--checkpoint", tmp_path / "run.ckpt", "--resume"]
    assert train(corpus, mine, "--random-state", 1).exit_code == 0
    kept = bt.load_model(mine).components_
    for _ in ("no run", "another run"):
        told = train(corpus, mine, *again)
        assert told.exit_code == 2 and "is already a model; pass --overwrite" in told.output
        assert train(corpus, tmp_path / "model.zarr", *again).exit_code == 0
    np.testing.assert_array_equal(bt.load_model(mine).components_, kept)


def test_a_run_is_shown_as_the_model_that_it_is(tmp_path, corpus):
    path = tmp_path / "run.ckpt"
    assert train(corpus, tmp_path / "model.zarr", "--checkpoint", path).exit_code == 0
    shown = CliRunner().invoke(main, ["info", str(path)])
    assert shown.exit_code == 0 and "updates" in shown.output and str(path) in shown.output
    assert CliRunner().invoke(main, ["topics", str(path)]).exit_code == 0


def test_a_run_that_is_not_at_its_end_has_no_command(tmp_path, corpus):
    """The command would repeat a complete run, which made other topics."""
    done, cut = tmp_path / "done.ckpt", tmp_path / "cut.ckpt"
    assert train(corpus, tmp_path / "a.zarr", "--checkpoint", done).exit_code == 0
    limit = ["--max-time", "0.0001s", "--passes", 50]
    assert train(corpus, tmp_path / "b.zarr", "--checkpoint", cut, *limit).exit_code == 0
    shown = {path: CliRunner().invoke(main, ["info", str(path)]).output for path in (done, cut)}
    assert "repeat with" in shown[done] and "repeat with" not in shown[cut]


def test_what_is_there_is_told(tmp_path, corpus):
    stored, path = corpus, tmp_path / "run.ckpt"
    assert train(stored, tmp_path / "a.zarr", "--checkpoint", path).exit_code == 0
    again = train(stored, tmp_path / "b.zarr", "--checkpoint", path)
    assert again.exit_code == 2 and "holds a run already" in again.output and "--resume" in again.output
    other = train(stored, tmp_path / "b.zarr", "--checkpoint", path, "--resume", "--passes", 7)
    assert other.exit_code == 2 and "--passes was None, is 7" in other.output
    alone = train(stored, tmp_path / "b.zarr", "--resume")
    assert alone.exit_code == 2 and "--checkpoint" in alone.output
    assert not (tmp_path / "b.zarr").exists()


def test_the_run_and_the_model_need_a_folder_each(tmp_path, corpus):
    model = tmp_path / "model.zarr"
    for path in (model, model / "run.ckpt"):
        told = train(corpus, model, "--checkpoint", path)
        assert told.exit_code == 2 and "choose another folder" in told.output and not model.exists()


def test_the_disk_that_documents_need_is_said_on_standard_error(tmp_path, corpus, monkeypatch):
    arguments = ["--method", "ilr", "--passes", 1, "--checkpoint"]
    quiet = train(corpus, tmp_path / "a.zarr", *arguments, tmp_path / "a.ckpt")
    assert quiet.exit_code == 0 and not quiet.stderr
    monkeypatch.setattr(history, "WORTH_SAYING", 1)
    told = train(corpus, tmp_path / "b.zarr", *arguments, tmp_path / "b.ckpt")
    assert told.exit_code == 0 and told.stdout.count("\n") == quiet.stdout.count("\n")
    assert f"bytes in {tmp_path}/b.ckpt/documents, for up to 6 passes at once" in told.stderr

"""`bigtopic train` says that a run was cut short, and what it has learned by then."""

import json
import re
import signal

import pytest

from bigtopic.learning.history import History
from bigtopic.storage.place import Place
from bigtopic.storage.writers import WRITER, Journal
from bigtopic.storage.zarr_metadata import group_json

from .conftest import run

LONG = (
    "--topics",
    2,
    "--passes",
    50,
    "--batch-size",
    20,
    "--threads",
    1,
)  # ten updates of 400 tokens in a pass


@pytest.fixture
def after_updates(monkeypatch):
    """A function that makes runs call another one after some updates, with their history."""

    def arrange(n_updates, happens):
        record = History.round_done

        def done(self, report):
            record(self, report)
            if report.cursor.step + 1 == n_updates:
                happens(self)

        monkeypatch.setattr(History, "round_done", done)

    return arrange


def facts(model):
    return json.loads(run("info", model, "--json").output)


@pytest.mark.parametrize(
    "number, by, code", [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143)]
)
@pytest.mark.parametrize("n_updates, more", [(3, ()), (25, ("--json",))])
def test_a_signal_is_said(number, by, code, n_updates, more, corpus, tmp_path, after_updates):
    after_updates(n_updates, lambda history: signal.raise_signal(number))
    told = run("train", corpus, tmp_path / "m.zarr", *LONG, *more, code=code)
    found = facts(tmp_path / "m.zarr")
    assert n_updates <= found["updates"] < 500 and found["tokens"] == 400 * found["updates"]
    done = f"{found['passes']} of 90 passes, in the online phase ("
    done += f"{found['updates']} updates, {found['tokens']:,.0f} tokens in "
    assert told.stderr.startswith(f"stopped by {by} after {done}") and told.stderr.count("\n") == 1
    assert more or f"learned from       {found['tokens']:,.0f} tokens in " in told.stdout


def test_a_time_limit_is_said(corpus, tmp_path, after_updates):
    def wait(history):
        history._begun -= 120
        history._taken_up -= 120

    after_updates(15, wait)
    told = run("train", corpus, tmp_path / "m.zarr", *LONG, "--max-time", "60s")
    found = facts(tmp_path / "m.zarr")
    assert found["tokens"] == 400 * found["updates"] and found["seconds"] > 60
    done = f"{found['passes']} of 90 passes, in the online phase ({found['updates']} updates, "
    assert told.stderr.startswith(f"stopped by the time limit after {done}")
    assert f" {found['tokens']:,.0f} tokens in " in run("info", tmp_path / "m.zarr").output


def test_a_run_that_is_cut_in_a_later_phase_says_so(corpus, tmp_path, monkeypatch):
    record = History.round_done

    def done(self, report):
        record(self, report)
        if self._model.cursor.phase and report.cursor.pass_number == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(History, "round_done", done)
    short = (*LONG[:2], "--passes", 2, *LONG[4:])
    told = run("train", corpus, tmp_path / "m.zarr", *short, code=130)
    passes = facts(tmp_path / "m.zarr")["passes"]
    assert 4 <= passes < 42
    assert told.stderr.startswith(f"stopped by Ctrl-C after {passes} of 42 passes, in the sampling phase (")


def test_without_phases_there_are_passes_alone(corpus, tmp_path):
    told = run(
        "train", corpus, tmp_path / "m.zarr", *LONG, "--method", "online-cvb0", "--max-time", "0.0001s"
    )
    assert re.match(r"stopped by the time limit after \d+ of 50 passes \(", told.stderr)


def test_nothing_is_said_of_a_complete_run(corpus, tmp_path):
    assert not run("train", corpus, tmp_path / "m.zarr", *LONG[:2], "--batch-size", 20).stderr


@pytest.mark.parametrize("remote", [False, True])
def test_a_path_where_the_first_save_was_killed_is_written_again(corpus, tmp_path, remote):
    path = "memory://killed/topics.zarr" if remote else str(tmp_path / "topics.zarr")
    place = Place.of(path)
    if remote:
        (place / "zarr.json").write(group_json({WRITER: "0123456789ab began"}))
    else:
        (place / "state-0123456789ab").make_folder()
        Journal(place, "0123456789ab").add(["state-0123456789ab"])
    run("train", corpus, path, "--topics", 2, "--passes", 1, "--threads", 1)
    assert not [name for name in place.names() if "0123456789ab" in name]

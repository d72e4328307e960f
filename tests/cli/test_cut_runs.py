"""`bigtopic train` says that a run was cut short, and what it has learned by then."""

import json
import signal

import pytest

from bigtopic.learning.history import History

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
    done = f"{found['passes']} of 50 passes ({found['updates']} updates, {found['tokens']:,.0f} tokens in "
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
    done = f"{found['passes']} of 50 passes ({found['updates']} updates, "
    assert told.stderr.startswith(f"stopped by the time limit after {done}")
    assert f" {found['tokens']:,.0f} tokens in " in run("info", tmp_path / "m.zarr").output


def test_nothing_is_said_of_a_complete_run(corpus, tmp_path):
    assert not run("train", corpus, tmp_path / "m.zarr", *LONG[:2], "--batch-size", 20).stderr

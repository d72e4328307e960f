"""Progress: what a person is told while work goes on."""

from __future__ import annotations

import sys
import time

import numba
import pytest

from bigtopic.parallel.progress import Progress


@pytest.mark.parametrize(("show", "told"), [(None, "one line\n"), (True, "one line\n"), (False, "")])
def test_a_note_is_written_unless_nothing_shall_be_shown(show, told, capsys):
    with Progress("learning", 10, " tokens", show) as bar:
        bar.note("one line")
    assert capsys.readouterr() == ("", told)


def test_a_folder_in_a_note_cannot_command_the_terminal(capsys):
    with Progress("learning", 10, " tokens") as bar:
        bar.note("in /tmp/\x1b[31m")
    assert capsys.readouterr().err == "in /tmp/\\x1b[31m\n"


@pytest.mark.parametrize("show", [None, True, False])
def test_without_standard_error_nothing_is_shown(show, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    with Progress("learning", 10, " tokens", show) as bar:
        bar.note("one line")
        bar.update(10)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_shows_a_bar_without_widgets(monkeypatch, capsys):
    pytest.importorskip("IPython")
    shown = []

    class Output:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        return Output()

    monkeypatch.setitem(sys.modules, "ipykernel", object())
    monkeypatch.setattr("IPython.display.display", display)
    with Progress("learning", 10, " tokens") as bar:
        bar._bar.delay = bar._bar.mininterval = 0
        bar.update(4, score="-7.5")
        bar.update(6)
    assert shown[0].startswith("learning:  40%|") and "score=-7.5" in shown[0]
    assert shown[-1] == "" and capsys.readouterr() == ("", "")


def test_the_bar_says_that_functions_are_compiled_and_does_not_count_their_seconds(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # which is there after tests of notebooks
    monkeypatch.setattr("bigtopic.parallel.progress.DELAY", 0.0)

    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x)

    with Progress("learning", 10, " tokens", show=True) as bar:
        started = bar._bar.start_t
        assert outer(1) == 2
        took = bar._bar.start_t - started
        assert 0 < took < time.time() - started
        bar.update(5)
        outer(2)
        assert bar._bar.start_t == started + took and bar._bar.desc == "learning: "
    outer(1.5)  # another type, when nobody watches
    assert bar._bar.start_t == started + took
    assert "learning (compiling, once):" in capsys.readouterr().err

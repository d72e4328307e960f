"""Progress: what a person is told while work goes on."""

from __future__ import annotations

import sys

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
    monkeypatch.setattr("bigtopic.parallel.notebook_bar.display", display)
    with Progress("learning", 10, " tokens") as bar:
        bar._bar.delay = bar._bar.mininterval = 0
        bar.update(4, score="-7.5")
        bar.update(6)
    assert shown[0].startswith("learning:  40%|") and "score=-7.5" in shown[0]
    assert shown[-1] == "" and capsys.readouterr() == ("", "")

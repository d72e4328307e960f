"""Progress: what a person is told while work goes on."""

from __future__ import annotations

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

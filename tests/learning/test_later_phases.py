"""What later phases need is checked, and said, before the first one begins."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import bigtopic as bt
from bigtopic.errors import SettingError
from bigtopic.estimators.support import later_phases
from bigtopic.learning.memory import estimate
from bigtopic.state import machine_memory
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.new_model import new_model
from bigtopic.state.phases import next_phase, outline

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from phased import PASSES, PHASED, phased


@pytest.fixture
def begun():
    """Callbacks that record whether anything was learned."""
    return []


def refused(says, corpus, begun, **more):
    with pytest.raises(SettingError, match=says):
        phased(callbacks=[begun.append]).fit(corpus, **more)
    assert not begun


WITHOUT = r"or leave this phase out with options=\{'sampling\.max_iter': 0\}"


def test_what_does_not_fit_into_memory_is_refused_before_it_begins(corpus, begun, monkeypatch):
    needs = []

    def needed(run, params, axes, n_threads, *, compares=False):
        needs.append(estimate.estimate_bytes(run, params, axes, n_threads, compares=compares))
        return real(run, params, axes, n_threads, compares=compares)

    real = later_phases.check_memory
    monkeypatch.setattr(later_phases, "check_memory", needed)
    phased(options={"sampling.max_iter": 1}).fit(corpus)
    (need,) = needs
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: need)
    refused(rf"phase 'sampling' of method 'phased': this model needs about .*; {WITHOUT}", corpus, begun)
    phased(options={"sampling.max_iter": 0}).fit(corpus)


def test_what_does_not_fit_on_the_disk_is_refused_before_it_begins(corpus, begun, monkeypatch, tmp_path):
    usage, room = shutil.disk_usage("/"), []
    n_bytes = 2 * (2 * int(corpus.n_tokens) + 12 * corpus.n_docs) + 8 * (corpus.n_docs + 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=room[-1]))
    room.append(n_bytes - 1)
    refused(rf"phase 'sampling' .* needs {n_bytes:,} bytes for up to 2 passes.*; {WITHOUT}", corpus, begun)
    room.append(10**9)
    events = []
    phased(callbacks=[events.append]).fit(corpus)
    (start,) = [event for event in events if event.kind == "start" and event.phase == "sampling"]
    assert start.disk_bytes == n_bytes
    room.append(n_bytes)  # what a checkpoint keeps does not fit
    refused(
        rf"for up to 6 passes, and {tmp_path}/r/documents-01 has", corpus, begun, checkpoint=tmp_path / "r"
    )
    assert not (tmp_path / "r").exists()


def test_what_is_there_already_needs_no_more_room(corpus, monkeypatch, tmp_path):
    """A run that goes on in its first phase, after it was killed in its second."""
    path, usage = tmp_path / "r", shutil.disk_usage("/")

    def die(event):
        if event.phase == "sampling" and event.kind == "pass":
            raise MemoryError

    with pytest.raises(MemoryError):
        phased(callbacks=[die]).fit(corpus, checkpoint=path)
    assert list(path.glob("documents-01/pass-*")) and not list(path.glob("phase-*"))
    free = 6 * (2 * corpus.n_tokens + 12 * corpus.n_docs)  # and none for offsets
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=free))
    assert phased().fit(corpus, checkpoint=path, resume=True).n_iter_ == sum(PASSES)


def test_an_outline_has_the_arrays_of_the_phase(corpus, monkeypatch):
    model = new_model(PHASED, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    method = PHASED.then[0].begun_with(["topic_words"])
    later = next_phase(model, 1, method, {"sweeps": 3})
    monkeypatch.setattr(LazyArray, "_sum_rows", None)  # which would read them
    found = outline(model, 1, method, {"sweeps": 3})
    shapes = [
        {name: (a.raw.shape, a.dtype, a.axis) for name, a in one.params.arrays.items()}
        for one in (found, later)
    ]
    assert shapes[0] == shapes[1] and found.options == later.options and found.cursor == later.cursor


def test_phases_are_said_before_they_begin(corpus, capsys, monkeypatch):
    monkeypatch.setattr(later_phases, "WORTH_SAYING", 1)
    settings = {"options": {"sampling.max_iter": 1}, "n_threads": 1, "random_state": 0, "client": False}
    bt.LDA(4, method=PHASED, **settings).fit(corpus)
    assert capsys.readouterr().err.splitlines()[0] == "online: 2 passes; sampling: 1 pass of 2 sweeps"
    monkeypatch.setattr(later_phases, "MEGABYTE", 1000)
    bt.LDA(4, method=PHASED, **settings).fit(corpus)
    n_bytes = 2 * (2 * int(corpus.n_tokens) + 12 * corpus.n_docs) + 8 * (corpus.n_docs + 1)
    assert f"sweeps, about {n_bytes / 1000:,.0f} MB on the disk" in capsys.readouterr().err
    for quiet in ({"progress": False}, {"options": {"sampling.max_iter": 0}}):
        bt.LDA(4, method=PHASED, **{**settings, **quiet}).fit(corpus)
        assert "sampling" not in capsys.readouterr().err


def test_a_short_run_says_nothing_of_its_phases(corpus, capsys):
    bt.LDA(4, method=replace(PHASED), n_threads=1, random_state=0, client=False).fit(corpus)
    assert "sampling" not in capsys.readouterr().err

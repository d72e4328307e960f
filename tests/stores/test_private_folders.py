"""Folders in places that everybody can write to: what others put there is neither opened, nor followed, nor removed."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from bigtopic.ingestion.ingest import ingest
from bigtopic.storage import private_folders

pytestmark = pytest.mark.skipif(private_folders.fcntl is None, reason="files are not locked here")
PREFIX = "bigtopic-test-"


@pytest.fixture
def left(tmp_path) -> Path:
    """What a process of this user left that was killed: a folder with a file that nobody locks."""
    folder = tmp_path / f"{PREFIX}left"
    folder.mkdir(mode=0o700)
    (folder / "owner").touch()
    (folder / "a.raw.npy").write_bytes(b"1")
    return folder


def make(place: Path) -> Path:
    private_folders._sweep.cache_clear()
    return Path(private_folders.new_folder(place, PREFIX))


def test_only_this_user_can_look_into_a_folder_and_nobody_can_know_its_name(tmp_path):
    folders = [make(tmp_path) for _ in range(2)]
    for folder in folders:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(folder.name) == len(PREFIX) + 32
        private_folders.remove_folder(str(folder))
    assert folders[0] != folders[1] and not list(tmp_path.iterdir())


def test_what_was_left_is_swept_and_what_is_held_is_not(tmp_path, left):
    first = make(tmp_path)
    assert not left.exists()
    second = make(tmp_path)
    assert first.exists()
    for folder in (first, second):
        private_folders.remove_folder(str(folder))


@pytest.mark.parametrize("content", [[], ["owner"]], ids=["empty", "not locked"])
def test_a_draft_of_a_killed_process_is_swept(content, tmp_path):
    draft = tmp_path / f".{PREFIX}left"
    draft.mkdir(mode=0o700)
    for name in content:
        (draft / name).touch()
    (tmp_path / ".other").mkdir()
    folder = make(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / ".other", folder])
    private_folders.remove_folder(str(folder))


@pytest.mark.parametrize("step", ["open", "rename"])
def test_a_draft_that_another_process_swept_is_made_again(step, tmp_path, monkeypatch):
    real, swept = getattr(Path, step), []

    def late(self, *arguments):
        draft = self if step == "rename" else self.parent
        if draft.name.startswith(".") and not swept:
            swept.append(draft)
            shutil.rmtree(draft)
        return real(self, *arguments)

    monkeypatch.setattr(Path, step, late)
    folder = make(tmp_path)
    assert swept and list(tmp_path.iterdir()) == [folder]
    private_folders.remove_folder(str(folder))


def test_what_is_in_a_draft_and_is_not_locked_by_its_owner_stays(tmp_path):
    (tmp_path / f".{PREFIX}mine").mkdir()
    (tmp_path / f".{PREFIX}mine" / "thesis.tex").touch()
    private_folders.remove_folder(str(make(tmp_path)))
    assert (tmp_path / f".{PREFIX}mine" / "thesis.tex").exists()


def test_a_pipe_in_place_of_the_locked_file_stops_nobody(tmp_path, left):
    (left / "owner").unlink()
    os.mkfifo(left / "owner")
    os.mkfifo(tmp_path / f"{PREFIX}pipe")
    private_folders.remove_folder(str(make(tmp_path)))  # to open a pipe for reading waits for a writer
    assert (left / "a.raw.npy").exists()


@pytest.mark.parametrize("name", ["owner", ""])
def test_links_are_not_followed(name, tmp_path, left):
    """Neither a link to a folder that looks left behind, nor one in place of its locked file."""
    elsewhere = tmp_path / "elsewhere"
    (left / name).rename(elsewhere)
    (left / name).symlink_to(elsewhere)
    private_folders.remove_folder(str(make(tmp_path)))
    assert elsewhere.exists() and (left / "a.raw.npy").exists()


def test_a_link_within_is_removed_and_not_what_it_points_to(tmp_path, left):
    (tmp_path / "mine").touch()
    (left / "b.raw.npy").symlink_to(tmp_path / "mine")
    private_folders.remove_folder(str(make(tmp_path)))
    assert (tmp_path / "mine").exists() and not left.exists()


def test_what_another_user_put_there_is_left_alone(tmp_path, left, monkeypatch):
    user = os.geteuid()
    monkeypatch.setattr(private_folders.os, "geteuid", lambda: user + 1)
    private_folders.remove_folder(str(make(tmp_path)))
    assert (left / "a.raw.npy").exists()


def test_scratch_of_an_ingest_is_for_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    modes = []

    def texts():
        for number in range(5000):
            modes.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir())
            yield f"text number {number}"

    ingest(texts(), "memory://private-scratch.zarr", client=False, n_threads=1)
    assert set(modes) == {0o700} and not list(tmp_path.iterdir())

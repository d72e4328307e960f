"""Disk full and permission denied at every write: an error of ours that names the file, and the state before."""

import errno
import os
import pickle
import shutil
import subprocess
from itertools import cycle
from pathlib import Path

import pytest
import zarr

from bigtopic.errors import StoreError
from bigtopic.storage import local
from bigtopic.storage.place import Place, zarr_store

pytestmark = pytest.mark.battery
NOBODY = 65534


def check(ended, name, path, actions, before, leaves_nothing):
    """An error of ours, the state before, nothing left over."""
    assert ended.error == "StoreError" and str(path.parent) in ended.message, (name, ended)
    assert actions[name].look(path) == before
    leaves_nothing(path)


FULL, DENIED = errno.ENOSPC, errno.EACCES


@pytest.mark.parametrize(
    ("step", "numbers"),
    [
        pytest.param(67, (FULL, DENIED), id="67-by turns"),
        pytest.param(1, (FULL,), id="1-disk full", marks=pytest.mark.slow),
        pytest.param(1, (DENIED,), id="1-permission denied", marks=pytest.mark.slow),
    ],
)
def test_refused_at_any_operation(name, numbers, step, fresh, actions, in_child, leaves_nothing):
    """Each operation, or each 67th, that makes, writes, renames or removes something is refused once."""
    action, path = actions[name], fresh(name)
    before = action.look(path)
    n_operations = in_child(lambda: action.run(path)).n_operations
    after = action.look(path)
    n_refused = 0
    for n, number in zip(range(0, n_operations, step), cycle(numbers), strict=False):
        path = fresh(name)
        ended = in_child(lambda path=path: action.run(path), fail_at=n, with_errno=number)
        found = action.look(path)
        if found == before and before != after:
            assert ended.error == "StoreError" and str(path.parent) in ended.message, (n, ended)
            n_refused += 1
        else:
            refused = ("StoreError",) if before == after else ()
            assert ended.error in ("", "BigtopicWarning", *refused) and found == after, (n, ended)
        if found == before and n % 5 == 0:
            again = in_child(lambda path=path: action.run(path))
            assert again.error == "", (n, again)
            leaves_nothing(path)
    assert n_refused or before == after


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_disk_full_in_the_middle_of_a_write(
    name, step, fresh, actions, in_child, leaves_nothing, monkeypatch
):
    """Half of the bytes of the n-th file are written, for every n, or every 29th."""
    action, path, real = actions[name], fresh(name), local._fill
    before, n = action.look(path), 0
    while True:
        left = n

        def fill(descriptor, pieces, durable=False):
            nonlocal left
            left -= 1
            if left != -1:
                return real(descriptor, pieces, durable)
            whole = b"".join(map(bytes, pieces))
            real(descriptor, [whole[: len(whole) // 2]])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        path = fresh(name)
        ended = in_child(
            lambda path=path: action.run(path),
            before=lambda fill=fill: monkeypatch.setattr(local, "_fill", fill),
        )
        if not ended.error:
            break
        assert "the disk is full" in ended.message
        check(ended, name, path, actions, before, leaves_nothing)
        n += step
    assert n > 10


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_what_was_written_cannot_be_made_durable(name, step, fresh, actions, in_child, leaves_nothing):
    """The n-th fsync, counted from the last one, fails: an error and the state before, or a warning and the new one."""
    action, path, real = actions[name], fresh(name), os.fsync
    before, synced = action.look(path), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: synced.append(descriptor) or real(descriptor))
        action.run(path)
    after, n_synced = action.look(path), len(synced)
    assert n_synced > 10
    for number in range(0, n_synced, step):
        left = n_synced - number

        def fsync(descriptor):
            nonlocal left
            left -= 1
            if left == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(descriptor)

        path = fresh(name)
        ended = in_child(
            lambda path=path: action.run(path), before=lambda fsync=fsync: setattr(os, "fsync", fsync)
        )
        if number == 0:
            assert ended.error == "BigtopicWarning" and "is complete, but" in ended.message
            assert action.look(path) == after
        else:
            assert "cannot be written: Input/output error" in ended.message
            check(ended, name, path, actions, before, leaves_nothing)


def small_disk(path: Path) -> bool:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(path)], check=False, capture_output=True
    )
    return mounted.returncode == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")
def test_on_a_disk_that_is_nearly_full(name, fresh, actions, in_child, leaves_nothing, tmp_path):
    """The disk has room for k more pages."""
    action, template = actions[name], fresh(name)
    if not small_disk(tmp_path):
        pytest.skip("no file system can be mounted here")
    try:
        n_refused = 0
        for n_pages in (0, 1, 3, 30):
            path = tmp_path / "here" / "store.zarr"
            shutil.rmtree(path.parent, ignore_errors=True)
            path.parent.mkdir()
            if template.exists():
                shutil.copytree(template, path)
            before = action.look(path)
            room = os.statvfs(tmp_path)
            (tmp_path / "filler").write_bytes(bytes(max(0, room.f_bavail - n_pages) * room.f_bsize))
            ended = in_child(lambda path=path: action.run(path))
            (tmp_path / "filler").unlink()
            if ended.error:
                assert "the disk is full" in ended.message
                check(ended, name, path, actions, before, leaves_nothing)
                n_refused += 1
        assert n_refused
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_store_of_somebody_else(name, fresh, actions, in_child, leaves_nothing):
    action, path = actions[name], fresh(name)
    for parent in (path.parent, path.parent.parent):
        parent.chmod(0o755)
    before = action.look(path)
    ended = in_child(lambda: action.run(path), before=lambda: os.setuid(NOBODY))
    check(ended, name, path, actions, before, leaves_nothing)
    assert "permission denied" in ended.message


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("inner", ["parts", "vocabulary"])
def test_a_folder_inside_that_may_not_be_written(inner, fresh, actions, in_child, leaves_nothing):
    path = fresh("append")
    for entry in [path.parent.parent, path.parent, path, *path.rglob("*")]:
        os.chown(entry, NOBODY, NOBODY)
    (path / inner).chmod(0o555)
    before = actions["append"].look(path)
    ended = in_child(lambda: actions["append"].run(path), before=lambda: os.setuid(NOBODY))
    check(ended, "append", path, actions, before, leaves_nothing)
    assert f"{path / inner}/" in ended.message and "permission denied" in ended.message


def test_the_error_keeps_number_and_file_across_processes():
    error = pickle.loads(pickle.dumps(StoreError("words", errno.ENOSPC, "/a/b")))
    assert isinstance(error, OSError) and str(error) == "words"
    assert (error.errno, error.filename) == (errno.ENOSPC, "/a/b")


def test_zarr_makes_no_folder_of_its_own(tmp_path):
    """It would do so by its own means, and what is refused there would be an error of the system's."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file, not a folder"):
        zarr.open_group(zarr_store(Place.of(tmp_path) / "file"), mode="a")

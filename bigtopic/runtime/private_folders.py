"""Folders in places that every user of the machine can write to: nobody can know their names before they are there, nor
look into them. A folder is locked as long as the process that made it lives; the next process sweeps what a killed one
left. In such a place anybody may put anything under any name, so nothing is opened that is not plainly this user's.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO
from uuid import uuid4

try:
    import fcntl
except ImportError:  # not on Windows, where nothing is swept
    fcntl = None  # type: ignore[assignment]

__all__ = ["new_folder", "remove_folder"]

_OWNER = "owner"

_owners: dict[str, IO[bytes]] = {}  # by folder: a file that is locked as long as this process lives


def new_folder(place: Path, prefix: str) -> str:
    """Make a folder that only this user can look into, and remove what killed processes left beside it."""
    if fcntl is not None:
        _sweep(place, prefix)
    while True:
        draft = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=place))
        with suppress(FileNotFoundError):  # another process swept the draft before it was locked
            return _owned(draft, place / f"{prefix}{uuid4().hex}")


def _owned(draft: Path, folder: Path) -> str:
    """Lock a draft and give it its name, which nobody who sees the draft can know."""
    owner = (draft / _OWNER).open("xb")
    try:
        if fcntl is not None:
            fcntl.flock(owner, fcntl.LOCK_EX)
        draft.rename(folder)
    except BaseException:
        owner.close()
        raise
    _owners[str(folder)] = owner
    return str(folder)


def remove_folder(folder: str) -> None:
    """Remove a folder; a process that maps its files keeps their pages."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder in _owners:
        _owners.pop(folder).close()


@cache
def _sweep(place: Path, prefix: str) -> None:
    """Remove what processes left that were killed: the system has dropped their locks."""
    with suppress(OSError), os.scandir(place) as entries:
        for path in [Path(entry) for entry in entries if entry.name.removeprefix(".").startswith(prefix)]:
            with suppress(OSError), _opened(path) as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails where it is held
                shutil.rmtree(path)  # which follows no links
            with suppress(OSError):
                if path.name.startswith(".") and path.lstat().st_uid == os.geteuid():
                    path.rmdir()  # a draft that was left before there was anything in it


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The file in a folder that is locked. Raises OSError for a link, a pipe, or what another user made."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _refuse_others(os.fstat(folder), stat.S_ISDIR)
        owner = os.open(_OWNER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            _refuse_others(os.fstat(owner), stat.S_ISREG)
            yield owner
        finally:
            os.close(owner)
    finally:
        os.close(folder)


def _refuse_others(status: os.stat_result, is_kind: Callable[[int], bool]) -> None:
    if status.st_uid != os.geteuid() or not is_kind(status.st_mode):
        raise PermissionError("not made by this user's processes")

"""Private folders in places that every user of the machine can write to: other users can neither predict their names
nor read them. A folder is locked for the life of the process that made it; the next process sweeps the folders of
killed ones. Others can put anything there under any name, so only files that clearly belong to this user are opened.
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
    """Make a folder that only this user can read, and remove the folders that killed processes left beside it."""
    if fcntl is not None:
        _sweep(place, prefix)
    while True:
        draft = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=place))
        with suppress(FileNotFoundError):  # another process swept the draft before it was locked
            return _owned(draft, place / f"{prefix}{uuid4().hex}")


def _owned(draft: Path, folder: Path) -> str:
    """Lock a draft and give it its final name, which cannot be derived from the draft's."""
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
    """Remove the folders of killed processes: the system has released their locks."""
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
    """The lock file of a folder. Raises OSError for a link, a pipe, or another user's file."""
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

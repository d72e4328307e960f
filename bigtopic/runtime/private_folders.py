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
    draft = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=place))
    owner = (draft / _OWNER).open("xb")
    if fcntl is not None:
        fcntl.flock(owner, fcntl.LOCK_EX)
    # Not to be swept before it is locked; and who sees the draft cannot tell what it will be called
    folder = str(draft.rename(place / f"{prefix}{uuid4().hex}"))
    _owners[folder] = owner
    return folder


def remove_folder(folder: str) -> None:
    """Remove a folder; a process that maps its files keeps their pages."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder in _owners:
        _owners.pop(folder).close()


@cache
def _sweep(place: Path, prefix: str) -> None:
    """Remove what processes left that were killed: the system has dropped their locks."""
    with suppress(OSError), os.scandir(place) as entries:
        for name in [entry.name for entry in entries if entry.name.startswith(prefix)]:
            with suppress(OSError), _opened(place / name) as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails where it is held
                shutil.rmtree(place / name)  # which follows no links


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

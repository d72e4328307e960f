"""The folder of document state: a temporary one or one that was given, its passes, its copies, its size.

`state_files` says what is in it. A temporary folder goes with its owner.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any, NamedTuple

from bigtopic.errors import SettingError, StoreError, argument, either
from bigtopic.state.documents.state_files import StateFiles
from bigtopic.storage.local import store_errors
from bigtopic.storage.place import Place
from bigtopic.storage.private_folders import new_folder, remove_folder

__all__ = [
    "DiskNeed",
    "copy_state",
    "disk_need",
    "given_folder",
    "refuse_full",
    "remove_files",
    "remove_passes",
    "temporary_folder",
]

PREFIX = "bigtopic-state-"
_PASS = re.compile(r"pass-(\d+)")


def given_folder(place: Any) -> Place:
    """The folder that a user means.

    Raises
    ------
    SettingError
        When it is a URL.
    """
    found = Place.of(place)
    if not found.local:
        raise SettingError(
            f"{found.url}: state of documents is kept in a folder; give the path of one that all workers see"
        )
    return found


def temporary_folder(owner: Any) -> Place:
    """A new folder, removed when its owner is."""
    folder = new_folder(Path(tempfile.gettempdir()), PREFIX)
    weakref.finalize(owner, _remove, folder, os.getpid())
    return Place(folder)


def _remove(folder: str, process: int) -> None:
    """Remove a temporary folder; a fork of the process that made it only looks at it."""
    if os.getpid() == process:
        remove_folder(folder)


def copy_state(source: Place, target: Place, chosen: Callable[[int], bool]) -> None:
    """Copy the state of the passes that are chosen from one folder to another, where it can be written."""
    with store_errors("written", target.url):
        for name in source.names():
            number = _PASS.fullmatch(name)
            if name == "parts" or (number and chosen(int(number[1]))):
                _copy_files(Path(source.url, name), Path(target.url, name))


def _copy_files(source: Path, target: Path) -> None:
    """Without their permissions: the source may be read-only."""
    for file in source.rglob("*"):
        if file.is_file():
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def remove_passes(folder: Place, chosen: Callable[[int], bool]) -> None:
    """Remove the state of the passes that are chosen, see `remove_files`."""
    for name in folder.names():
        number = _PASS.fullmatch(name)
        if number and chosen(int(number[1])):
            remove_files(folder / name)


def remove_files(folder: Place) -> None:
    """Remove a folder of state that no run needs.

    A task that was given up, on a worker that was lost from sight, may write there meanwhile: that stays until the next
    call.
    """
    try:
        folder.remove()
    except StoreError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


class DiskNeed(NamedTuple):
    """What the state of documents may take on the disk.

    n_bytes : of all passes that there may be at once
    n_passes : how many these are
    folder : where
    """

    n_bytes: int
    n_passes: int
    folder: str


def disk_need(files: StateFiles, n_passes: int) -> DiskNeed:
    """What the state of so many passes takes on the disk."""
    n_bytes = sum(
        n_passes * files.pass_bytes(part) + files.offsets_bytes(part) for part in range(len(files.parts))
    )
    return DiskNeed(n_bytes, n_passes, files.place.url)


def refuse_full(files: StateFiles, there: Set[int], n_passes: int) -> None:
    """Refuse a run whose state does not fit on the disk.

    Parameters
    ----------
    there : passes whose state stays, as far as it is there
    n_passes : passes whose state there may be at once

    Raises
    ------
    SettingError
        With the bytes that are needed and free, and what to do.
    """
    whole, _, folder = disk_need(files, n_passes)
    need = whole - sum(_bytes_there(files, part, there, n_passes) for part in range(len(files.parts)))
    free = shutil.disk_usage(folder).free
    if need > free:
        raise SettingError(
            f"what this method remembers of documents needs {need:,} bytes for up to {n_passes} passes, and {folder} "
            f"has {free:,} free; free space, take a folder on a larger disk (that of {argument('checkpoint', ...)}, "
            "and without it the environment variable TMPDIR)"
            f"{either(', or keep fewer versions with Checkpoint(keep=)', '')}"
        )


def _bytes_there(files: StateFiles, part: int, there: Set[int], n_passes: int) -> int:
    """Bytes of a part that are on the disk already, of `n_passes` passes at most."""
    n_there = min(n_passes, sum(files.has(part, number) for number in there))
    return n_there * files.pass_bytes(part) + files.has_offsets(part) * files.offsets_bytes(part)

"""Files of a store in a folder of this machine: nothing is written or removed through a link inside the store.

A place knows the number of its last components that lie `below` the root of the store. The root itself may be reached
through links, as the user gave it. Below it every folder is opened by its name in the folder that holds it,
without following links, so not even a link that is put there meanwhile leads elsewhere. About one microsecond for each
component of a path.

Errors of the operating system become a `StoreError` that names the file.
"""
# ruff: noqa: PTH103, PTH104, PTH106, PTH112, PTH114, PTH116, PTH120, PTH208  (paths are text here: pathlib knows no folders that are held open)

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from bigtopic.errors import BigtopicError, StoreError

__all__ = [
    "append",
    "cache_folder",
    "exchange",
    "make_folder",
    "missing_folders",
    "move",
    "names",
    "parent",
    "read",
    "read_at",
    "refuse_irregular",
    "refuse_link",
    "remove",
    "remove_empty",
    "remove_made",
    "rename",
    "replace",
    "store_errors",
    "sync",
    "write",
    "write_at",
]

_FOLDER = os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # not blocking: a pipe put there must not hang a writer

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux

_REMEDIES = {
    errno.ENOSPC: "the disk is full; free space, or give another path",
    errno.EDQUOT: "the quota is used up; free space, or give another path",
    errno.EFBIG: "the file is larger than is allowed here; raise the limit, or give another path",
    errno.EACCES: "permission denied; check who owns the folders and their permissions, or give another path",
    errno.EPERM: "not permitted; check who owns the folders and their permissions, or give another path",
    errno.EROFS: "the file system is read-only; give another path",
    errno.ENOTDIR: "what should be a folder on its path is a file; move that file away, or give another path",
    errno.EXDEV: "it is on another file system than the rest of the store; keep the whole store on one",
    errno.ELOOP: "it is a symbolic link, and nothing is written or removed through links inside a store; put the "
    "file or folder itself there",
}


@contextmanager
def store_errors(operation: str, path: str, *passed: type[OSError]) -> Iterator[None]:
    """Turn errors of the operating system into a StoreError, except those that the caller handles.

    The message is "<path> cannot be <operation>: <why>; <what to do>".
    """
    kept: tuple[type[Exception], ...] = (BigtopicError, *passed)
    try:
        yield
    except kept:
        raise
    except OSError as error:
        why = _REMEDIES.get(error.errno or 0) or error.strerror or str(error)
        raise StoreError(f"{path} cannot be {operation}: {why}", error.errno, path) from error


class Located(Protocol):
    """A place, `bigtopic.storage.place.Place`, that is a path of this machine."""

    @property
    def url(self) -> str: ...
    @property
    def below(self) -> int: ...


@contextmanager
def parent(place: Located, create: bool = False) -> Iterator[tuple[int, str]]:
    """The folder that holds a file, opened, and the file's name in it.

    Raises
    ------
    FileNotFoundError
        When there is no such folder, and it is not to be created.
    StoreError
        When one of the folders below the root is a link, or a file.
    """
    base, *middle, name = place.url.rsplit("/", max(1, place.below))
    if create:
        os.makedirs(base or "/", exist_ok=True)
    folder = os.open(base or "/", _FOLDER)
    try:
        for depth, step in enumerate(middle, 1):
            inner = _opened(folder, step, "/".join([base, *middle[:depth]]), create)
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)


def _opened(folder: int, name: str, path: str, create: bool) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    except NotADirectoryError as error:
        refuse_link(path)
        raise StoreError(f"{path} is a file, not a folder; move it away", errno.ENOTDIR, path) from error
    with suppress(FileExistsError):  # another thread was faster
        os.mkdir(name, dir_fd=folder)
    return _opened(folder, name, path, create=False)


def read(path: str) -> bytes:
    """All bytes of a file. Links are followed.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        When there is no such file.
    StoreError
        When it is not a regular file, or may not be read.
    """
    with _to_read(path) as descriptor, open(descriptor, "rb", buffering=0, closefd=False) as file:
        return file.read()


def read_at(path: str, offset: int, out: memoryview) -> int:
    """Fill memory with the bytes of a file from an offset on; how many there were. Links are followed.

    Raises
    ------
    FileNotFoundError, NotADirectoryError, StoreError
        As `read`.
    """
    n_read = 0
    with _to_read(path) as descriptor:
        while n := os.preadv(descriptor, [out[n_read:]], offset + n_read):
            n_read += n
    return n_read


@contextmanager
def _to_read(path: str) -> Iterator[int]:
    """A regular file, opened; a pipe is not waited for."""
    with store_errors("read", path, FileNotFoundError, NotADirectoryError):
        descriptor = os.open(path, _READ)
        try:
            _require(stat.S_ISREG(os.fstat(descriptor).st_mode), "read", path)
            yield descriptor
        finally:
            os.close(descriptor)


def refuse_irregular(path: str) -> None:
    """Raise StoreError when this exists but is not a regular file."""
    with store_errors("read", path), suppress(FileNotFoundError, NotADirectoryError):
        _require(stat.S_ISREG(os.stat(path).st_mode), "read", path)


def _require(regular: bool, operation: str, path: str) -> None:
    """A pipe would be waited for, and a device has no end."""
    if not regular:
        raise StoreError(f"{path} cannot be {operation}: it is not a regular file; move it away", path=path)


def write(place: Located, pieces: Sequence[Any], exclusive: bool = False) -> None:
    """Create or replace a file, and the folders that hold it.

    Raises
    ------
    FileExistsError
        When it exists and `exclusive` is set.
    StoreError
    """
    flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if exclusive else os.O_TRUNC) | _FILE
    passed = (FileExistsError,) if exclusive else ()
    with store_errors("written", place.url, *passed), parent(place, create=True) as (folder, name):
        _fill(os.open(name, flags, 0o666, dir_fd=folder), pieces)


def write_at(place: Located, offset: int, data: memoryview, size: int) -> None:
    """Write into a local file, of this size, from an offset on.

    Several threads and processes may write to different ranges at once. Unwritten ranges are zero and take no space.

    Raises
    ------
    StoreError
    """
    flags = os.O_WRONLY | os.O_CREAT | _FILE
    with store_errors("written", place.url), parent(place, create=True) as (folder, name):
        descriptor = os.open(name, flags, 0o666, dir_fd=folder)
        try:
            found = os.fstat(descriptor)
            _require(stat.S_ISREG(found.st_mode), "written", place.url)
            if found.st_size != size:
                os.ftruncate(descriptor, size)
            while len(data):
                n = os.pwrite(descriptor, data, offset)
                data, offset = data[n:], offset + n
        finally:
            os.close(descriptor)


def append(place: Located, data: bytes) -> None:
    """Append to a local file, durably; creates it if it does not exist."""
    with store_errors("written", place.url), parent(place, create=True) as (folder, name):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FILE
        _fill(os.open(name, flags, 0o666, dir_fd=folder), [data], durable=True)


def replace(place: Located, data: bytes) -> None:
    """Create or replace a local file atomically and durably: a reader sees the old bytes or the new ones.

    Goes through a draft, "<name>.partial", which must not exist; the caller holds the store's lock.
    """
    with store_errors("written", place.url), parent(place, create=True) as (folder, name):
        draft = f"{name}.partial"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        descriptor = os.open(draft, flags, 0o666, dir_fd=folder)
        try:
            _fill(descriptor, [data], durable=True)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):  # the first error is the one to tell
                os.unlink(draft, dir_fd=folder)
            raise


def _fill(descriptor: int, pieces: Sequence[Any], durable: bool = False) -> None:
    with open(descriptor, "wb", buffering=0) as file:
        for piece in pieces:
            view = memoryview(piece)
            while len(view):  # a disk that is nearly full takes less than all
                view = view[file.write(view) :]
        if durable:
            os.fsync(descriptor)


def remove(place: Located) -> None:
    """Remove a file, a link (not its target), or a folder with everything in it, if it exists."""
    with (
        suppress(FileNotFoundError),
        store_errors("removed", place.url, FileNotFoundError),
        parent(place) as (folder, name),
    ):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)  # follows no link
        else:
            os.unlink(name, dir_fd=folder)


def remove_empty(place: Located) -> None:
    """Remove a folder if it exists and is empty."""
    with store_errors("removed", place.url), suppress(FileNotFoundError), parent(place) as (folder, name):
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise


def missing_folders(path: str) -> list[str]:
    """The folder and its parents, as far as they do not exist, the innermost first."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    return missing


def remove_made(folders: Sequence[str]) -> None:
    """Remove folders made for a store that came to nothing, if they are empty and the system lets it be."""
    for path in folders:
        with suppress(OSError):  # the caller has the error to raise
            os.rmdir(path)


def move(source: str, target: str) -> None:
    """Rename a folder. Raises FileExistsError when the target exists and is not an empty folder."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise FileExistsError(error.errno, error.strerror, target) from error
        raise


def rename(source: Located, target: Located) -> None:
    """Give a local file or folder another name in the same store, which must not be taken; makes the folders for it."""
    with (
        store_errors("written", target.url),
        parent(source) as (old, name),
        parent(target, create=True) as (new, new_name),
    ):
        os.rename(name, new_name, src_dir_fd=old, dst_dir_fd=new)


def exchange(one: str, other: str) -> bool:
    """Let two folders change names in one step; False where the system cannot."""
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    if function(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), other)


def make_folder(place: Located) -> None:
    """Make a local folder that only its owner may use. It must not exist."""
    with store_errors("made", place.url), parent(place, create=True) as (folder, name):
        os.mkdir(name, 0o700, dir_fd=folder)


def refuse_link(path: str) -> None:
    """Raise StoreError when the last component of a path is a symbolic link."""
    if os.path.islink(path):
        raise StoreError(f"{path}: {_REMEDIES[errno.ELOOP]}", errno.ELOOP, path)


def names(path: str) -> list[str]:
    """Names in a folder, sorted; none when there is no folder."""
    with store_errors("listed", path):
        try:
            return sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            return []


def sync(path: str, recursive: bool) -> None:
    """Make a file or folder durable, with everything below: files first, then the folders that hold them."""
    if recursive and os.path.isdir(path):
        for name in names(path):
            sync(f"{path}/{name}", recursive)
    with store_errors("written", path):
        descriptor = os.open(path, _READ)
        try:
            mode = os.fstat(descriptor).st_mode
            _require(stat.S_ISREG(mode) or stat.S_ISDIR(mode), "written", path)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def cache_folder(name: str) -> Path:
    """The folder of this name among the package's in the user's cache."""
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "bigtopic" / name

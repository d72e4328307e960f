"""One writer at a time in a folder; behind a URL, see `bigtopic.storage.lease`.

On a local file system the writer holds a lock of the operating system (`flock`) on a file in the store, which it keeps
open. The lock ends with the process, however that ends, and a process number that is used again means nothing. The
file says who writes, and since when. Only messages use that, with one exception: a file that a writer on another host
left is respected, because some network file systems do not show a host's locks to other hosts.

The writer that holds the lock removes the file, and a writer that locks a file makes sure that the name still stands
for that file. So no writer removes another's lock, or takes it for its own.

Where the file system has no such locks (ENOTSUP, ENOLCK; Windows), the file itself is the lock: only one writer can
create it, and after a kill it must be removed by hand.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import time
from types import TracebackType
from typing import Any

from bigtopic.errors import CorpusLocked, StoreError
from bigtopic.storage import local
from bigtopic.storage.endings import tell_what_is_left
from bigtopic.storage.names import LOCK
from bigtopic.storage.place import Place

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["WriterLock", "holder_of", "message"]

_LONGEST = 1 << 12  # bytes of a lock file that are looked at; ours have about 120
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
_MOST_TRIES = 10_000  # other writers may remove the file, or the folder, that often
_open_here: set[int] = set()  # descriptors of locks that this process holds


class WriterLock:
    """Context manager that holds a store for writing; makes the folder if there is none.

    Raises
    ------
    CorpusLocked
        When another writer, in this process or another one, holds it: names host, process and time. Or when something
        that is not a lock file has the name of the lock file.
    StoreError
        When the lock file cannot be written.
    """

    def __init__(self, root: Place) -> None:
        self._root = root
        self._file = root / LOCK
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this process holds it; not when something has removed the file, so that others can lock a new one."""
        return self._descriptor in _open_here and self._has_the_name(self._descriptor)

    def __enter__(self) -> WriterLock:
        with local.told("locked", self._file.url):
            for _ in range(_MOST_TRIES):
                if self._descriptor is not None:
                    return self
                self._try()
        if self._descriptor is None:
            raise StoreError(
                f"{self._file.url} cannot be locked: it is removed whenever it is created; give another path",
                path=self._file.url,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor not in _open_here:  # not held, or in a child of the process that holds it
            return
        _open_here.remove(descriptor)
        try:
            with local.told("removed", self._file.url):
                if self._has_the_name(descriptor):
                    self._file.remove()
        except StoreError as refused:
            tell_what_is_left(self._root, refused, error)
        finally:
            os.close(descriptor)

    def _try(self) -> None:
        """Lock the file; nothing happens when it was removed meanwhile, or the folder was."""
        try:
            descriptor, created = self._opened()
        except FileNotFoundError:
            return
        try:
            self._lock(descriptor, created)
            if not self._has_the_name(descriptor):
                os.close(descriptor)
                return
            try:
                self._take(descriptor, created)
            except BaseException:
                if created:  # a writer that made the file but lost the lock leaves the file to the winner
                    self._file.remove()
                raise
        except BaseException:
            os.close(descriptor)
            raise
        _open_here.add(descriptor)
        self._descriptor = descriptor

    def _opened(self) -> tuple[int, bool]:
        """The lock file, and whether this made it. It may be anything that has this name."""
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with local.parent(self._file.url, self._file.below, create=True) as (folder, name):
            try:
                return os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder), True
            except FileExistsError:
                pass
            try:
                return os.open(name, flags, dir_fd=folder), False
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                    raise self._odd("a link, a folder or a device") from error
                raise

    def _lock(self, descriptor: int, created: bool) -> None:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
            raise self._odd("not a regular file, or one with a second name")
        try:
            if fcntl is None:
                raise OSError(errno.ENOTSUP, "no locks")
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusLocked(self._message(descriptor)) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            if not created:
                raise CorpusLocked(self._message(descriptor)) from error

    def _has_the_name(self, descriptor: int) -> bool:
        mine = os.fstat(descriptor)
        try:
            with local.parent(self._file.url, self._file.below) as (folder, name):
                named = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino)

    def _take(self, descriptor: int, created: bool) -> None:
        """Write this writer into the file; the writer that it named before, if any, is dead."""
        if not created:
            before = holder_of(os.pread(descriptor, _LONGEST, 0))
            if before is None:
                raise self._odd("something other than a lock")
            if before.get("host", socket.gethostname()) != socket.gethostname():
                raise CorpusLocked(self._message(descriptor))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(_me()).encode(), 0)

    def _odd(self, what: str) -> CorpusLocked:
        return CorpusLocked(
            f"{self._file.url} has the name of the lock file but is {what}; if no process writes to {self._root.url}, "
            "remove it and try again"
        )

    def _message(self, descriptor: int) -> str:
        return message(self._root.url, self._file.url, holder_of(os.pread(descriptor, _LONGEST, 0)) or {})


def _me() -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": os.getpid(), "time": time.time()}


def holder_of(content: bytes) -> dict[str, Any] | None:
    """The writer named in the lock file: {} if it was killed before it wrote that, None if this is not a lock file."""
    if not content:
        return {}
    try:
        found = json.loads(content)
        holder = {"host": found["host"], "pid": found["pid"], "time": found["time"]}
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    ours = isinstance(holder["host"], str) and isinstance(holder["pid"], int)
    return holder if ours and isinstance(holder["time"], int | float) and 0 <= holder["time"] < 1e11 else None


def message(root: str, file: str, holder: dict[str, Any]) -> str:
    """The message: who holds the store, and what to do."""
    who = "by another writer"
    if holder:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder["time"]))
        who = f"by process {holder['pid']} on {ascii(holder['host'])[1:-1]} since {since}"
    return (
        f"{root} is being written {who}; wait until it has finished, or, if it no longer runs, remove {file}"
    )


def _close_in_child() -> None:
    """A forked child does not hold its parent's locks, not even when it lives longer."""
    while _open_here:
        os.close(_open_here.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)

"""One writer at a time in a store: a lock of the system in a folder, a lease behind a URL.

On a local file system the writer holds a lock of the operating system (`flock`) on a file in the store, which it keeps
open. The lock ends with the process, however that ends, and a process number that is used again means nothing. The
file says who writes, and since when. Only messages use that, with one exception: a file that a writer on another host
left is respected, because some network file systems do not show a host's locks to other hosts.

The writer that holds the lock removes the file, and a writer that locks a file makes sure that the name still stands
for that file. So no writer removes another's lock, or takes it for its own.

Where the file system has no such locks (ENOTSUP, ENOLCK; Windows), the file itself is the lock: only one writer can
create it, and after a kill it must be removed by hand.

Behind a URL, the lock is an object that is created on the condition that there is none, a *lease*: it ends when its
holder no longer renews it. While the writer works, a thread replaces it every `RENEWED` seconds, each time on the
condition that no other has. A writer that finds a lock watches it: a lock that changes belongs to a writer at work; one
that has not changed for `EXPIRES` seconds of the watcher's own clock is replaced, on the condition that it still has
not changed, so one of several watchers wins. No two clocks are compared. A writer that stood still for longer
may go on to write when its lock is no longer its own. It therefore commits on a condition too, see
`bigtopic.storage.writers`.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import time
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from bigtopic.errors import CorpusLocked, SettingError, StoreError, warn
from bigtopic.storage import local
from bigtopic.storage.place import Place

__all__ = ["LOCK", "Lease", "WriterLock", "report_leftovers", "sync_committed"]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".bigtopic.lock"
EXPIRES = 60.0  # seconds without a renewal, after which a lease is taken over
RENEWED = 5.0  # seconds between renewals
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
        with local.store_errors("locked", self._file.url):
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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor not in _open_here:  # not held, or in a child of the process that holds it
            return
        _open_here.remove(descriptor)
        try:
            with local.store_errors("removed", self._file.url):
                if self._has_the_name(descriptor):
                    self._file.remove()
        except StoreError as refused:
            report_leftovers(self._root, refused, error)
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
        with local.parent(self._file, create=True) as (folder, name):
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
            raise self._locked(descriptor) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            if not created:
                raise self._locked(descriptor) from error

    def _has_the_name(self, descriptor: int) -> bool:
        mine = os.fstat(descriptor)
        try:
            with local.parent(self._file) as (folder, name):
                named = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino)

    def _take(self, descriptor: int, created: bool) -> None:
        """Write this writer into the file; the writer that it named before, if any, is dead."""
        if not created:
            before = _holder_of(os.pread(descriptor, _LONGEST, 0))
            if before is None:
                raise self._odd("something other than a lock")
            if before.get("host", socket.gethostname()) != socket.gethostname():
                raise self._locked(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(_me()).encode(), 0)

    def _odd(self, what: str) -> CorpusLocked:
        return CorpusLocked(
            f"{self._file.url} has the name of the lock file but is {what}; if no process writes to {self._root.url}, "
            "remove it and try again"
        )

    def _locked(self, descriptor: int) -> CorpusLocked:
        return _locked(self._root, self._file, os.pread(descriptor, _LONGEST, 0))


def _me() -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": os.getpid(), "time": time.time()}


def _holder_of(content: bytes) -> dict[str, Any] | None:
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


def _locked(root: Place, file: Place, content: bytes) -> CorpusLocked:
    """The error that says who holds the store, and what to do."""
    holder, who = _holder_of(content), "by another writer"
    if holder:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder["time"]))
        who = f"by process {holder['pid']} on {ascii(holder['host'])[1:-1]} since {since}"
    return CorpusLocked(
        f"{root.url} is being written {who}; wait until it has finished, or, if it no longer runs, remove {file.url}"
    )


def _close_in_child() -> None:
    """A forked child does not hold its parent's locks, not even when it lives longer."""
    while _open_here:
        os.close(_open_here.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


class Lease:
    """Context manager that holds a store behind a URL for writing.

    Parameters
    ----------
    root : the store

    Attributes
    ----------
    token : 12 hexadecimal digits, different for every writer

    Raises
    ------
    CorpusLocked
        When another writer holds it; names host, process and time. Found within seconds when it is at work; a lock
        that is no longer renewed is taken over after `EXPIRES` seconds.
    SettingError
        When the URL is a chain of file systems.
    """

    def __init__(self, root: Place) -> None:
        if "::" in root.url:
            raise SettingError(
                f"{root.url}: a chain of file systems can only be read; give the URL of the store itself to write"
            )
        self.token = uuid4().hex[:12]
        self._root = root
        self._file = root / LOCK
        self._holder = _me()
        self._version: Any = None
        self._renewal = 1
        self._mutex, self._ended = Lock(), Event()

    def __enter__(self) -> Lease:
        self._version = self._file.replace_if(self._content(), None) or self._taken_over()
        if self._version is None:
            raise self._locked()
        self._ended.clear()
        Thread(target=self._renew, name="bigtopic-lease", daemon=True).start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._ended.set()
        with self._mutex:
            with suppress(StoreError):  # then the lock expires without renewal
                if self._version is not None:
                    self._file.remove_if(self._version)
            self._version = None

    @property
    def held(self) -> bool:
        """Whether the lock in the store is still this writer's."""
        with self._mutex:
            return self._version is not None and self._file.version() == self._version

    def check(self) -> None:
        """Raise CorpusLocked when another writer has taken the lock over."""
        if not self.held:
            raise CorpusLocked(
                f"{self._root.url}: another writer took the lock over, because this process did not renew it for "
                f"{EXPIRES:g} seconds; nothing was committed: try again"
            )

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED):
            with self._mutex:
                if self._ended.is_set() or self._version is None:
                    return
                with suppress(StoreError):  # the next attempt, with the same bytes, may succeed
                    self._version = self._file.replace_if(self._content(), self._version)
                    self._renewal += 1

    def _content(self) -> bytes:
        return json.dumps({**self._holder, "token": self.token, "renewal": self._renewal}).encode()

    def _taken_over(self) -> Any:
        """Take over a lock that is no longer renewed; the new version, or None if it is still renewed."""
        if self._root.url.startswith("memory://"):
            return None  # its holder lives as long as the store
        found, since = self._file.version(), time.monotonic()
        while found is not None and time.monotonic() - since < EXPIRES:
            time.sleep(min(RENEWED, EXPIRES) / 5)
            now = self._file.version()
            if now is not None and now != found:
                return None
            found = now
        return self._file.replace_if(self._content(), found)

    def _locked(self) -> CorpusLocked:
        content = b""
        with suppress(FileNotFoundError):
            content = self._file.read()
        return _locked(self._root, self._file, content)


def sync_committed(root: Place, folder: Place) -> None:
    """Make a commit's changes to a folder durable. The store is already the new one, so a failure is a warning."""
    try:
        folder.sync(recursive=False)
    except StoreError as refused:
        warn(f"{root.url} is complete, but {refused}. If the power fails now, it may be lost")


def report_leftovers(root: Place, refused: StoreError, error: BaseException | None) -> None:
    """Report that a writer could not sweep: a warning after a commit, otherwise a note on the error that ended it."""
    said = f"{refused}. The next writer removes what is left"
    if error is None:
        warn(f"{root.url} is complete, but {said}")
    else:
        error.add_note(said)

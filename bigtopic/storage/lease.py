"""One writer at a time in a store behind a URL: a lock that its holder renews, and that ends when it no longer does.

The lock is an object that is created on the condition that there is none. While the writer works, a thread replaces it
every `RENEWED` seconds, each time on the condition that no other has. A writer that finds a lock watches it: a lock
that changes belongs to a writer at work; one that has not changed for `EXPIRES` seconds of the watcher's own clock is
replaced, on the condition that it still has not changed, so one of several watchers wins. No two clocks are compared.

A writer that stood still for longer than that may go on to write when its lock is no longer its own. The transaction
therefore commits on a condition too, see `bigtopic.storage.remote_hold`.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any
from uuid import uuid4

from bigtopic.errors import CorpusLocked, SettingError, StoreError
from bigtopic.storage.lock import holder_of, message
from bigtopic.storage.names import LOCK
from bigtopic.storage.place import Place

__all__ = ["Lease"]

EXPIRES = 60.0  # seconds
RENEWED = 5.0  # seconds


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
        self._since = time.time()
        self._version: Any = None
        self._renewal = 1
        self._mutex, self._ended = Lock(), Event()

    def __enter__(self) -> Lease:
        self._version = self._file.replace_if(self._content(), None) or self._taken_over()
        if self._version is None:
            raise CorpusLocked(self._message())
        self._ended.clear()
        Thread(target=self._renew, name="bigtopic-lease", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        with self._mutex:
            with suppress(StoreError):  # then the lock expires without renewal
                if self._version is not None:
                    self._file.remove_if(self._version)
            self._version = None

    @property
    def held(self) -> bool:
        """Whether the lock in the store is still that of this writer."""
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
        content = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "time": self._since,
            "token": self.token,
            "renewal": self._renewal,
        }
        return json.dumps(content).encode()

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

    def _message(self) -> str:
        try:
            holder = holder_of(self._file.read()) or {}
        except FileNotFoundError:
            holder = {}
        return message(self._root.url, self._file.url, holder)

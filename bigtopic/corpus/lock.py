"""One writer at a time: a file that only one process can create."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from types import TracebackType
from uuid import uuid4

from bigtopic.corpus.schema import LOCK
from bigtopic.corpus.storage import Place
from bigtopic.errors import CorpusLocked

__all__ = ["WriterLock"]


class WriterLock:
    """Context manager that holds a corpus for writing.

    On a local file system creation is exclusive, and the lock of a process of this host that has died is taken over.
    Object stores offer no exclusive creation through fsspec: there the lock is written, read back and compared, which
    catches every writer but two that start within one round trip of each other.

    Raises
    ------
    CorpusLocked
        When another writer holds it; names host, process and time.
    """

    def __init__(self, root: Place) -> None:
        self._root = root
        self._file = root / LOCK
        self._token = uuid4().hex

    def __enter__(self) -> WriterLock:
        for _ in range(2):  # the second time after a dead writer's lock was removed
            if self._create():
                return self
            self._remove_if_dead()
        raise CorpusLocked(self._message())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._holder().get("token") == self._token:
            self._file.remove()

    def _create(self) -> bool:
        content = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "time": time.time(),
            "token": self._token,
        }
        data = json.dumps(content).encode()
        if not self._root.local:
            if self._file.exists():
                return False
            self._file.write(data)
            return self._holder().get("token") == self._token
        return self._create_local(data)

    def _create_local(self, data: bytes) -> bool:
        """Write beside, then link: the lock appears whole or not at all, and linking never replaces."""
        os.makedirs(self._root.url, exist_ok=True)  # noqa: PTH103
        draft = f"{self._file.url}-{self._token}"
        with open(draft, "xb") as file:  # noqa: PTH123
            file.write(data)
        try:
            os.link(draft, self._file.url)
        except (FileExistsError, FileNotFoundError):  # the latter: the holder swept the draft
            return False
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)  # noqa: PTH108
        return True

    def _holder(self) -> dict:
        try:
            return json.loads(self._file.read())
        except (FileNotFoundError, ValueError):
            return {}

    def _remove_if_dead(self) -> None:
        holder = self._holder()
        if holder.get("host") != socket.gethostname() or not self._root.local or _alive(holder.get("pid", 0)):
            return
        # Renaming succeeds for one of several that found it dead; nobody removes the lock of the winner.
        grave = f"{self._file.url}-{self._token}"
        with suppress(FileNotFoundError):
            os.rename(self._file.url, grave)  # noqa: PTH104
            os.unlink(grave)  # noqa: PTH108

    def _message(self) -> str:
        holder = self._holder()
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.get("time", time.time())))
        return (
            f"{self._root.url} is being written by process {holder.get('pid', '?')} on {holder.get('host', '?')} "
            f"since {since}; wait for it, or, if it no longer runs, remove {self._file.url}"
        )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""A writer's hold on a store behind a URL: what `transaction` promises for folders, where nothing can be renamed.

    lock -> mark the root -> sweep after killed writers -> record -> write under its own names -> commit -> sweep

A lock behind a URL can be lost: a writer that stood still for a minute may wake up while the next one is at work. Three
things make that harmless. Everything a writer makes has its token in the name, so no two write the same object. The
*mark* replaces the root's `zarr.json` by itself with the writer's token; the commit replaces it once more, on the
condition that it is still that of the mark, so a writer that was overtaken cannot commit. And a writer's last sweep
removes only what it made, or what its commit replaced.

The *record*, `.bigtopic.writer-<token>`, says that names with this token are ours to remove, and which others its
commit takes out of the store. It is written before anything is made. Nothing that no record claims is ever removed.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from bigtopic.errors import CorpusExists, CorpusLocked, StoreError
from bigtopic.storage.endings import tell_what_is_left
from bigtopic.storage.journal import is_listed
from bigtopic.storage.lease import Lease
from bigtopic.storage.names import FOLDERS, LOCK, WRITER
from bigtopic.storage.place import Place
from bigtopic.storage.zarr_group import NotAGroup, group_attributes, group_json

__all__ = ["RemoteHold", "root_attributes"]

_RECORD = ".bigtopic.writer-"
_TOKEN = re.compile(r"[0-9a-f]{12}")


def root_attributes(root: Place, what: str) -> dict[str, Any] | None:
    """Attributes of the root of the Zarr store at a place, wherever it is; None where there is none.

    Raises
    ------
    CorpusExists
        When there is something else.
    """
    try:
        return group_attributes(root)
    except NotAGroup as error:
        raise CorpusExists(f"{root.url} exists and is not {what}; choose another path") from error


class RemoteHold:
    """Context manager: holds the lock; what this writer made and did not commit is removed when it ends.

    Parameters
    ----------
    root : the store
    what : "a bigtopic corpus", for messages
    listed : returns the paths that the marker of the store at a place lists, None where there is no store yet; it
        raises when something else is there

    Attributes
    ----------
    scratch : None, or the writer's folder for temporary files outside the store, called ".scratch-<token>"; if the
        writer is killed, the next one on this host removes it

    Raises
    ------
    CorpusExists
        When the place is taken by something else; it is untouched.
    CorpusLocked
        When another writer holds it.
    StoreError
        When the store does not answer, or refuses.
    """

    def __init__(self, root: Place, what: str, listed: Callable[[Place], Collection[str] | None]) -> None:
        self._root, self._what, self._listed = root, what, listed
        self._marker = root / "zarr.json"
        self._lease = Lease(root)
        self.scratch: Place | None = None
        self._record = root / f"{_RECORD}{self.token}"
        self._version: Any = None  # of the marker, as this writer left it
        self._replaced: Collection[str] = ()

    @property
    def token(self) -> str:
        return self._lease.token

    def __enter__(self) -> RemoteHold:
        self._require_ours()  # before the lock is written there
        self._lease.__enter__()
        try:
            self._mark()
            for token in self._tokens():
                self._sweep_after(token)
            self._write_record()
        except BaseException:
            self._lease.__exit__(None, None, None)
            raise
        return self

    def commit(self, attributes: Mapping[str, Any], replaced: Collection[str] = ()) -> None:
        """Make these the attributes of the root: one write, after which the store is the new one.

        Parameters
        ----------
        replaced : paths that the store no longer has after that, to be removed; those that no writer makes stay

        Raises
        ------
        CorpusLocked
            When another writer took over a lock that this process did not renew in time. The store is as it was.
        """
        self._replaced = [path for path in replaced if is_listed(path)]
        self._write_record()
        self._lease.check()
        version = self._marker.replace_if(self._encoded(attributes, "committed"), self._version)
        if version is None:
            raise CorpusLocked(f"{self._root.url} was changed by another writer meanwhile; try again")
        self._version = version

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._sweep(self.token, self._replaced)
            if self._listed(self._root) is None and self._version is not None:
                self._marker.remove_if(self._version)
            self._record.remove()
        except StoreError as refused:
            tell_what_is_left(self._root, refused, error)
        finally:
            self._lease.__exit__(kind, error, trace)

    def _mark(self) -> None:
        for _ in range(10):
            version = self._marker.version()
            attributes = {} if self._require_ours() is None else group_attributes(self._root) or {}
            self._version = self._marker.replace_if(self._encoded(attributes, "began"), version)
            if self._version is not None:
                return
        raise CorpusLocked(f"{self._root.url} is being changed by other writers all the time; try again")

    def _encoded(self, attributes: Mapping[str, Any], stage: str) -> bytes:
        """The root of the store; no other writer, and no other write of this one, has the same bytes."""
        return group_json({**attributes, WRITER: f"{self.token} {stage}"})

    def _write_record(self) -> None:
        scratch = None if self.scratch is None else self.scratch.url
        content = {"host": socket.gethostname(), "scratch": scratch, "replaced": sorted(self._replaced)}
        self._record.write(json.dumps(content).encode())

    def _tokens(self) -> list[str]:
        """Of the writers that left a record."""
        found = [name.removeprefix(_RECORD) for name in self._root.names() if name.startswith(_RECORD)]
        return [token for token in found if _TOKEN.fullmatch(token)]

    def _sweep_after(self, token: str) -> None:
        """Remove what a killed writer made, or what its commit replaced, and its scratch if that is on this host."""
        record = self._root / f"{_RECORD}{token}"
        try:
            content = json.loads(record.read())
            replaced = [path for path in content["replaced"] if is_listed(path)]
            scratch = Path(content["scratch"] or "") if content["host"] == socket.gethostname() else None
        except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
            replaced, scratch = [], None
        self._sweep(token, replaced)
        if scratch is not None and scratch.name == f".scratch-{token}" and scratch.is_absolute():
            Place(str(scratch)).remove()
        record.remove()

    def _sweep(self, token: str, replaced: Collection[str]) -> None:
        keep = self._listed(self._root) or ()
        made = [f"{folder}/{name}" for folder in FOLDERS for name in (self._root / folder).names()]
        made += self._root.names()
        for path in made:
            gone = path in replaced or (path.endswith(f"-{token}") and _RECORD not in path)
            if gone and path not in keep:
                (self._root / path).remove()
        for folder in FOLDERS:  # Zarr makes a group of it
            if (self._root / folder).names() == ["zarr.json"]:
                (self._root / folder / "zarr.json").remove()

    def _require_ours(self) -> Collection[str] | None:
        """What the store lists; None for a place that holds nothing, or only what a killed writer recorded."""
        listed = self._listed(self._root)
        if listed is not None:
            return listed
        tokens = self._tokens()
        names = [name for name in self._root.names() if name not in FOLDERS]
        for folder in FOLDERS:
            names += [f"{folder}/{name}" for name in (self._root / folder).names()]
        for name in names:
            last = name.rpartition("/")[2]
            if last not in ("zarr.json", LOCK) and name.rpartition("-")[2] not in tokens:
                raise CorpusExists(
                    f"{self._root.url} exists and is not {self._what} (it holds {name!r}); nothing was written: give "
                    "another URL"
                )
        return None

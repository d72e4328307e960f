"""The list of what a writer makes in a store: files that are on no list and not in the manifest are not ours.

A path is written into the journal, durably, before anything is made there; so whatever a killed writer leaves is
listed. A sweep removes what a journal lists and the store's own marker (manifest, description) does not. Nothing else
is ever removed, whatever its name.

Each writer has a journal of its own. It has one path a line, below the root, as a JSON string. A last line without its
end was never acted upon.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from bigtopic.errors import CorpusDamaged, CorpusExists, CorpusLocked, StoreError
from bigtopic.storage import local
from bigtopic.storage.lock import Lease, WriterLock, tell_what_is_left
from bigtopic.storage.names import FOLDERS, JOURNAL, LOCK, WRITER
from bigtopic.storage.place import Place
from bigtopic.storage.zarr_metadata import NotAGroup, group_attributes, group_json

__all__ = [
    "Hold",
    "Journal",
    "RemoteHold",
    "is_listed",
    "is_made",
    "journals",
    "refuse_dangling",
    "require_free",
    "root_attributes",
]

_NAME = re.compile(re.escape(JOURNAL) + "-[0-9a-f]{12}")

# All that writers make. A journal comes with the store, from wherever that comes, so it cannot name anything else.
_LISTED = re.compile(
    rf"({'|'.join(FOLDERS)})/(zarr\.json|[0-9]{{8,12}}(-[0-9a-f]{{12}})?)|state-[0-9a-f]{{12}}"
)
_BESIDE = re.compile(r"zarr\.json(\.partial)?|\.scratch-[0-9a-f]{12}")


def is_listed(path: str) -> bool:
    """Whether this is a path below the root that the marker of a store may list: parts, names, the state of a model."""
    return _LISTED.fullmatch(path) is not None


def is_made(path: str) -> bool:
    """Whether this is a path below the root that writers make."""
    return is_listed(path) or _BESIDE.fullmatch(path) is not None


class Journal:
    """The journal of the writer with this token (12 hexadecimal digits) in the store at `root`.

    Attributes
    ----------
    paths : what it lists
    """

    def __init__(self, root: Place, token: str) -> None:
        self._root = root
        self._file = root / f"{JOURNAL}-{token}"
        self.paths: set[str] = set()

    def read(self) -> Journal:
        """The same, with what the file lists.

        Raises
        ------
        CorpusDamaged
            When it lists what no writer makes.
        """
        lines = self._file.read().split(b"\n")[:-1]
        self.paths = {self._path(number, line) for number, line in enumerate(lines, 1)}
        return self

    def _path(self, number: int, line: bytes) -> str:
        try:
            path = json.loads(line)
        except (ValueError, RecursionError):
            path = None
        if not isinstance(path, str) or not is_made(path):
            raise CorpusDamaged(
                f"{self._file.url}, line {number}: {line[:60]!r} is not a file that a writer makes, so nothing was "
                "removed; remove this file, and what an unfinished ingest or save left beside it"
            )
        return path

    def add(self, paths: Iterable[str]) -> None:
        """List paths, durably."""
        new = sorted(set(paths) - self.paths)
        if not new:
            return
        lines = [f"{json.dumps(path)}\n".encode() for path in new]
        self._file.append(b"".join(lines))
        self.paths |= set(new)

    def sweep(self, keep: Collection[str]) -> None:
        """Remove what is listed and not to be kept, then the journal itself."""
        gone = sorted(self.paths - set(keep))
        for path in gone:
            (self._root / path).remove()
        for folder in {path.rpartition("/")[0] for path in gone} - {""}:
            (self._root / folder).remove_empty()
        self._file.remove()
        self.paths = set()


def journals(root: Place) -> list[Journal]:
    """Those that are in a store: of a writer at work, or of killed ones."""
    return [Journal(root, name[-12:]).read() for name in root.names() if _NAME.fullmatch(name)]


def require_free(root: Place, what: str, locked: bool = False) -> None:
    """Refuse a place for a new store that holds anything but what killed writers listed.

    Unless the caller has `locked` it, a place with a lock file passes: its writer may be at work.

    Raises
    ------
    CorpusExists
    """
    refuse_dangling(root)
    names = root.names()
    if not names and root.exists() and not Path(root.url).is_dir():
        raise CorpusExists(f"{root.url} exists and is not {what}; nothing was written: give another path")
    if LOCK in names and not locked:
        return
    unknown = [name for name in names if name != LOCK and not _NAME.fullmatch(name)]
    if unknown:
        listed = {path.split("/")[0] for journal in journals(root) for path in journal.paths}
        unknown = [name for name in unknown if name not in listed]
    if unknown:
        raise CorpusExists(
            f"{root.url} exists and is not {what} (it holds {unknown[0]!r}); nothing was written: give another path"
        )


def refuse_dangling(root: Place) -> None:
    """Refuse a path through a symbolic link that leads nowhere: no folder can be made there.

    Raises
    ------
    CorpusExists
    """
    path = Path(root.url)
    for step in (path, *path.parents):
        if step.is_symlink() and not step.exists():
            raise CorpusExists(
                f"{step} is a symbolic link to {step.readlink()}, which is not there; make that folder, remove the "
                "link, or give another path"
            )


class Hold:
    """Context manager: holds the lock; on exit, removes what is in the journal but not committed.

    Parameters
    ----------
    root : the store
    what : "a bigtopic corpus", for messages
    listed : returns the paths that the marker of the store at a place lists, None where there is no store yet; it
        raises when the place holds something else

    Attributes
    ----------
    token : 12 hexadecimal digits, different for every writer

    Raises
    ------
    CorpusExists
        When the place holds something else, which stays as it is.
    CorpusLocked
        When another writer holds it.
    StoreError
        When the system refuses a write, or a link is inside the store.
    """

    def __init__(self, root: Place, what: str, listed: Callable[[Place], Collection[str] | None]) -> None:
        self.token = uuid4().hex[:12]
        self._root, self._what, self._listed = root, what, listed
        self._lock = WriterLock(root)
        self._journal = Journal(root, self.token)
        self._missing: list[str] = []

    def __enter__(self) -> Hold:
        self._require_ours()  # before anything is written there
        self._missing = local.missing_folders(self._root.url)
        try:
            self._lock.__enter__()
        except BaseException:
            local.remove_made(self._missing)
            raise
        try:
            listed = self._require_ours(locked=True)
            for journal in journals(self._root):
                journal.sweep(listed or ())
            if listed is None:  # an unfinished store may hold another program's file by now
                require_free(self._root, self._what)
        except BaseException as error:
            self._release(error)
            raise
        return self

    def claim(self, paths: Iterable[str]) -> None:
        """List what is about to be made.

        Raises
        ------
        CorpusExists
            When it exists but is neither listed nor committed: no writer of this store made it.
        """
        listed = self._listed(self._root) or ()
        new = [path for path in paths if path not in listed and path not in self._journal.paths]
        for path in new:
            if (self._root / path).exists():
                raise CorpusExists(
                    f"{self._root.url}/{path} exists, but no writer of this store made it; move it away"
                )
        self._journal.add(new)

    def replace(self, paths: Iterable[str]) -> None:
        """List what the commit that follows takes out of the store; paths that no writer makes stay."""
        self._journal.add(filter(is_made, paths))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._journal.sweep(self._listed(self._root) or ())
        except StoreError as refused:
            tell_what_is_left(self._root, refused, error)
        finally:
            self._release(error)

    def _require_ours(self, locked: bool = False) -> Collection[str] | None:
        listed = self._listed(self._root)
        if listed is None:
            require_free(self._root, self._what, locked)
        for path in ("zarr.json", *FOLDERS, *(listed or ())):
            (self._root / path).refuse_link()
        return listed

    def _release(self, error: BaseException | None) -> None:
        self._lock.__exit__(None, error, None)
        if error is not None:
            local.remove_made(self._missing)


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

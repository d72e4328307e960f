"""The writer of a store, corpus or model: its lock, the list of what it makes, and the sweep that serves every ending.

In a folder:

    lock -> sweep what killed writers listed -> list, then make -> commit -> sweep -> unlock

A writer lists a path in its *journal*, durably, before it makes anything there, so whatever a killed writer leaves is
listed. A sweep removes what a journal lists and the store's own marker (manifest, description) does not, and nothing
else, whatever its name. Until the commit the marker lists the old state, so the sweep removes what is new; afterwards
it removes what was replaced. The next writer's sweep does the same for one that was killed. A journal has one path a
line, below the root, as a JSON string. A last line without its end was never acted upon.

Behind a URL, where nothing can be renamed:

    lock -> mark the root -> sweep after killed writers -> record -> write under its own names -> commit -> sweep

A lock behind a URL can be lost: a writer that stood still for a minute may wake up while the next one is at work. Three
things make that harmless. Everything a writer makes has its token in the name, so no two write the same object. The
*mark* replaces the root's `zarr.json` by itself with the writer's token; the commit replaces it once more, on the
condition that it is still the marked one, so a writer that was overtaken cannot commit. And a writer's last sweep
removes only what it made, or what its commit replaced. The *record*, `.bigtopic.writer-<token>`, says that names with
this token are ours to remove, and which others its commit takes out of the store. It is written before anything is
made. Nothing that no record claims is ever removed.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from bigtopic.errors import CorpusDamaged, CorpusExists, CorpusLocked, StoreError
from bigtopic.storage import local
from bigtopic.storage.lock import LOCK, Lease, WriterLock, report_leftovers, sync_committed
from bigtopic.storage.place import Place
from bigtopic.storage.zarr_metadata import NotAGroup, group_attributes, group_json, replace_group

__all__ = [
    "JOURNAL",
    "WRITER",
    "FolderWriter",
    "Journal",
    "RemoteWriter",
    "is_listed",
    "journals",
    "refuse_dangling",
    "require_free",
    "root_attributes",
]

FOLDERS = ("parts", "vocabulary", "authors")  # of a corpus: what writers create in them belongs to a commit
JOURNAL = ".bigtopic.journal"
WRITER = "bigtopic-writer"  # behind a URL, the attribute of the root that says who wrote it last
_RECORD = ".bigtopic.writer-"
_TOKEN = r"[0-9a-f]{12}"
_NAME = re.compile(f"{re.escape(JOURNAL)}-{_TOKEN}")

# All that writers make. A journal comes with the store, from wherever that comes, so it cannot name anything else.
_LISTED = re.compile(rf"({'|'.join(FOLDERS)})/(zarr\.json|[0-9]{{8,12}}(-{_TOKEN})?)|state-{_TOKEN}")
_BESIDE = re.compile(rf"zarr\.json(\.partial)?|\.scratch-{_TOKEN}")

Listed = Callable[[Place], Collection[str] | None]


def is_listed(path: str) -> bool:
    """Whether this is a path below the root that the marker of a store may list: parts, names, the state of a model."""
    return _LISTED.fullmatch(path) is not None


def _is_made(path: str) -> bool:
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
        if not isinstance(path, str) or not _is_made(path):
            raise CorpusDamaged(
                f"{self._file.url}, line {number}: {line[:60]!r} is not a file that a writer makes, so nothing was "
                "removed; remove this file, and what an unfinished ingest or save left beside it"
            )
        return path

    def add(self, paths: Iterable[str]) -> None:
        """List paths, durably."""
        new = sorted(set(paths) - self.paths)
        if new:
            self._file.append("".join(f"{json.dumps(path)}\n" for path in new).encode())
            self.paths.update(new)

    def sweep(self, keep: Collection[str]) -> None:
        """Remove listed paths that are not to be kept, then the journal itself."""
        gone = sorted(self.paths - set(keep))
        for path in gone:
            (self._root / path).remove()
        for folder in {path.rpartition("/")[0] for path in gone} - {""}:
            (self._root / folder).remove_empty()
        self._file.remove()
        self.paths = set()


def journals(root: Place) -> list[Journal]:
    """The journals in a store: of a writer at work, or of killed ones."""
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


class _Writer:
    """Context manager: holds the lock; on exit, removes what this writer made and did not commit, or replaced.

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
        When the system, or the store behind the URL, refuses a write, or a link is inside the store.
    """

    token: str

    def __init__(self, root: Place, what: str, listed: Listed) -> None:
        self._root, self._what, self._listed = root, what, listed

    def __enter__(self) -> Self:
        self._require_ours()  # before anything is written there
        try:
            self._begin()
        except BaseException as error:
            self._unlock(error)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._sweep_own()
        except StoreError as refused:
            report_leftovers(self._root, refused, error)
        finally:
            self._unlock(error)

    def _require_ours(self) -> Any:
        """What the store lists; None for a place that holds nothing, or only what a killed writer left."""

    def _begin(self) -> None:
        """Lock the store, and sweep what killed writers left."""

    def _sweep_own(self) -> None:
        """Remove what this writer made and did not commit, and what its commit replaced."""

    def _unlock(self, error: BaseException | None) -> None:
        """Release the lock."""

    def claim(self, paths: Iterable[str]) -> None:
        """List paths before anything is made there; behind a URL, the names say who makes them.

        Raises
        ------
        CorpusExists
            When it exists but is neither listed nor committed: no writer of this store made it.
        """

    def commit(self, attributes: Mapping[str, Any], replaced: Collection[str] = ()) -> None:
        """Make these the attributes of the root: one write, after which the store is the new one.

        Parameters
        ----------
        replaced : paths that the store no longer has after that, to be removed; paths that no writer makes stay

        Raises
        ------
        CorpusLocked
            When another writer took over a lock that this process did not renew in time. The store is as it was.
        """


class FolderWriter(_Writer):
    """The writer of a store in a folder; see `_Writer`."""

    def __init__(self, root: Place, what: str, listed: Listed) -> None:
        super().__init__(root, what, listed)
        self.token = uuid4().hex[:12]
        self._lock = WriterLock(root)
        self._journal = Journal(root, self.token)
        self._missing: list[str] = []

    def _begin(self) -> None:
        self._missing = local.missing_folders(self._root.url)
        self._lock.__enter__()
        listed = self._require_ours(locked=True)
        for journal in journals(self._root):
            journal.sweep(listed or ())
        if listed is None:  # an unfinished store may hold another program's file by now
            require_free(self._root, self._what)

    def claim(self, paths: Iterable[str]) -> None:
        listed = self._listed(self._root) or ()
        new = [path for path in paths if path not in listed and path not in self._journal.paths]
        for path in new:
            if (self._root / path).exists():
                raise CorpusExists(
                    f"{self._root.url}/{path} exists, but no writer of this store made it; move it away"
                )
        self._journal.add(new)

    def commit(self, attributes: Mapping[str, Any], replaced: Collection[str] = ()) -> None:
        self._journal.add(filter(_is_made, replaced))
        for path in [path for folder in FOLDERS for path in (f"{folder}/zarr.json", folder)]:
            if (self._root / path).exists():
                (self._root / path).sync(recursive=False)
        self._root.sync(recursive=False)
        replace_group(self._root, attributes)
        sync_committed(self._root, self._root)

    def _sweep_own(self) -> None:
        self._journal.sweep(self._listed(self._root) or ())

    def _require_ours(self, locked: bool = False) -> Collection[str] | None:
        listed = self._listed(self._root)
        if listed is None:
            require_free(self._root, self._what, locked)
        for path in ("zarr.json", *FOLDERS, *(listed or ())):
            (self._root / path).refuse_link()
        return listed

    def _unlock(self, error: BaseException | None) -> None:
        self._lock.__exit__(None, error, None)
        if error is not None:
            local.remove_made(self._missing)


class RemoteWriter(_Writer):
    """The writer of a store behind a URL; see `_Writer`.

    Attributes
    ----------
    scratch : None, or the writer's folder for temporary files outside the store, called ".scratch-<token>"; if the
        writer is killed, the next one on this host removes it
    """

    def __init__(self, root: Place, what: str, listed: Listed) -> None:
        super().__init__(root, what, listed)
        self._marker = root / "zarr.json"
        self._lease = Lease(root)
        self.token = self._lease.token
        self.scratch: Place | None = None
        self._record = root / f"{_RECORD}{self.token}"
        self._version: Any = None  # of the marker, as this writer left it
        self._replaced: Collection[str] = ()

    def _begin(self) -> None:
        self._lease.__enter__()
        self._mark()
        for token in self._tokens():
            self._sweep_after(token)
        self._write_record()

    def commit(self, attributes: Mapping[str, Any], replaced: Collection[str] = ()) -> None:
        self._replaced = [path for path in replaced if is_listed(path)]
        self._write_record()
        self._lease.check()
        version = self._marker.replace_if(self._encoded(attributes, "committed"), self._version)
        if version is None:
            raise CorpusLocked(f"{self._root.url} was changed by another writer meanwhile; try again")
        self._version = version

    def _sweep_own(self) -> None:
        self._sweep(self.token, self._replaced)
        if self._listed(self._root) is None and self._version is not None:
            self._marker.remove_if(self._version)
        self._record.remove()

    def _unlock(self, error: BaseException | None) -> None:
        self._lease.__exit__(None, error, None)

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
        """The tokens of the writers that left a record."""
        found = [name.removeprefix(_RECORD) for name in self._root.names() if name.startswith(_RECORD)]
        return [token for token in found if re.fullmatch(_TOKEN, token)]

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

    def _names(self) -> list[str]:
        """All names in the root and in its folders, below the root."""
        inside = [f"{folder}/{name}" for folder in FOLDERS for name in (self._root / folder).names()]
        return self._root.names() + inside

    def _sweep(self, token: str, replaced: Collection[str]) -> None:
        keep = self._listed(self._root) or ()
        for path in self._names():
            gone = path in replaced or (path.endswith(f"-{token}") and _RECORD not in path)
            if gone and path not in keep:
                (self._root / path).remove()
        for folder in FOLDERS:  # Zarr makes a group of it
            if (self._root / folder).names() == ["zarr.json"]:
                (self._root / folder / "zarr.json").remove()

    def _require_ours(self) -> Collection[str] | None:
        listed = self._listed(self._root)
        if listed is not None:
            return listed
        tokens = self._tokens()
        for name in self._names():
            known = name in FOLDERS or name.rpartition("/")[2] in ("zarr.json", LOCK)
            if not known and name.rpartition("-")[2] not in tokens:
                raise CorpusExists(
                    f"{self._root.url} exists and is not {self._what} (it holds {name!r}); nothing was written: give "
                    "another URL"
                )
        return None

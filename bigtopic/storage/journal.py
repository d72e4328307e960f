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
from collections.abc import Collection, Iterable
from pathlib import Path

from bigtopic.errors import CorpusDamaged, CorpusExists
from bigtopic.storage.names import FOLDERS, JOURNAL, LOCK
from bigtopic.storage.place import Place

__all__ = ["Journal", "is_listed", "is_made", "journals", "refuse_dangling", "require_free"]

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

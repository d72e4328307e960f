"""A writer's hold on a store, from the lock to the commit.

    lock -> sweep what a killed writer left -> write parts and names, invisible -> fsync -> replace manifest -> sweep

Whatever happens before the manifest is replaced, a reader sees the old corpus (or none); after it, the new one. The
sweep removes everything the manifest on disk does not list, so it serves a failure, a success, and the next writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from uuid import uuid4

from bigtopic.corpus.lock import WriterLock
from bigtopic.corpus.manifest import Manifest, Unfinished, read_manifest, write_manifest
from bigtopic.corpus.schema import LOCK
from bigtopic.corpus.storage import Place
from bigtopic.errors import CorpusExists

__all__ = ["Transaction", "current_manifest"]

_SCRATCH = ".scratch-"
_FOLDERS = ("parts", "vocabulary", "authors")


def current_manifest(root: Place) -> Manifest | None:
    """The manifest at `root`, or None when there is nothing, or only what an unfinished ingest left.

    Raises
    ------
    CorpusExists
        When something else is there.
    CorpusVersionError
        When a corpus of a newer format is there, or another Zarr group.
    CorpusDamaged
        When the manifest cannot be understood.
    """
    names = root.names()
    if "zarr.json" in names:
        with suppress(Unfinished):
            return read_manifest(root)
    if not _only_ours(names) or (not names and root.exists() and not _is_folder(root)):
        raise CorpusExists(
            f"{root.url} exists and is not a bigtopic corpus; nothing was written: give another path"
        )
    return None


def _only_ours(names: Sequence[str]) -> bool:
    """Whether a folder without a manifest holds only what an unfinished ingest leaves."""
    known = ("zarr.json", *_FOLDERS)
    return all(
        name in known or name.startswith((_SCRATCH, LOCK)) or name.endswith(".partial") for name in names
    )


def _is_folder(root: Place) -> bool:
    from pathlib import Path

    return not root.local or Path(root.url).is_dir()


class Transaction:
    """Context manager: holds the lock; whatever was not committed when it ends is removed.

    Attributes
    ----------
    root : the store
    old : its manifest, or None for a new store
    scratch : a place for temporary files, removed at the end
    """

    def __init__(self, root: Place, scratch: Place | None = None) -> None:
        self.root = root
        self.scratch = (scratch or root) / f"{_SCRATCH}{uuid4().hex[:12]}"
        self.old: Manifest | None = None
        self._lock = WriterLock(root)
        self._existed = False

    def __enter__(self) -> Transaction:
        current_manifest(self.root)  # refuse what is not ours before the lock is written there
        self._existed = self.root.exists()
        self._lock.__enter__()
        try:
            self.old = current_manifest(self.root)
            self._sweep()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    @property
    def generation(self) -> int:
        """Number of this commit."""
        return 0 if self.old is None else self.old.generation + 1

    @property
    def next_part(self) -> int:
        """Number of the first part to be written."""
        return 0 if self.old is None else self.old.next_part

    def commit(self, manifest: Manifest) -> None:
        """Make the new manifest the corpus. Its parts and names must be durable."""
        for folder in (*_FOLDERS, ""):
            place = self.root / folder if folder else self.root
            if not folder or place.exists():
                place.sync(recursive=False)
        write_manifest(self.root, manifest)
        self.root.sync(recursive=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.scratch.remove()
            self._sweep()
        finally:
            self._lock.__exit__(kind, error, trace)
        if kind is not None and not self._existed and not self.root.names():
            self.root.remove()

    def _sweep(self) -> None:
        """Remove what the manifest on disk does not list."""
        manifest = current_manifest(self.root)
        listed = set() if manifest is None else _listed(manifest)
        for folder in _FOLDERS:
            names = (self.root / folder).names()
            unlisted = [name for name in names if f"{folder}/{name}" not in listed and name != "zarr.json"]
            for name in unlisted:
                (self.root / folder / name).remove()
            if len(unlisted) == len([name for name in names if name != "zarr.json"]):
                (self.root / folder).remove()
        for name in self.root.names():
            leftover = name.startswith((_SCRATCH, f"{LOCK}-")) or name.endswith(".partial")
            if leftover or (name == "zarr.json" and manifest is None):
                with suppress(FileNotFoundError):
                    (self.root / name).remove()


def _listed(manifest: Manifest) -> set[str]:
    paths = {part.path for part in manifest.parts} | {manifest.vocabulary.path}
    return paths if manifest.authors is None else paths | {manifest.authors.path}

"""Writing a corpus, from the lock to the commit.

    lock -> sweep what a killed writer left -> write parts and names, invisible -> fsync -> replace manifest -> sweep

Whatever happens before the manifest is replaced, a reader sees the old corpus (or none); after it, the new one.
`bigtopic.storage.writers` has the lock, and the list of what may be swept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from bigtopic.corpus.stored.manifest import (
    ANEW,
    Manifest,
    Unfinished,
    checked_manifest,
    read_manifest,
)
from bigtopic.corpus.stored.schema import MOST_NUMBERS
from bigtopic.errors import CorpusDamaged
from bigtopic.storage.place import Place
from bigtopic.storage.writers import FolderWriter, RemoteWriter, require_free
from bigtopic.storage.zarr_metadata import replace_group

__all__ = ["Transaction", "current_manifest"]

_WHAT = "a bigtopic corpus"
_NUMBER = re.compile(r"[0-9]{8,12}(?=-|$)")


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
    manifest = _manifest(root)
    if manifest is None and root.local:  # behind a URL, the writer looks at what is there
        require_free(root, _WHAT)
    return manifest


def _manifest(root: Place) -> Manifest | None:
    if "zarr.json" in root.names():
        with suppress(Unfinished):
            return read_manifest(root)
    return None


class Transaction:
    """Context manager: holds the lock; whatever was not committed when it ends is removed.

    Parameters
    ----------
    root : the store
    scratch : the folder for temporary files, if that is not the store

    Attributes
    ----------
    root : the store
    old : its manifest, or None for a new store
    scratch : a place for temporary files, removed at the end
    drafts : a place for drafts of parts in a folder, on the same file system as the store; behind a URL the store
        itself
    """

    def __init__(self, root: Place, scratch: Place | None = None) -> None:
        self.root = root
        self._writer = (FolderWriter if root.local else RemoteWriter)(root, _WHAT, _listed_at)
        name = f".scratch-{self._writer.token}"
        self.scratch = (scratch or root) / name
        self._scratch_outside = scratch is not None
        self.drafts = root / name if root.local else root
        if scratch is not None and isinstance(self._writer, RemoteWriter):
            self._writer.scratch = self.scratch
        self.old: Manifest | None = None

    def __enter__(self) -> Transaction:
        self._writer.__enter__()
        try:
            self.old = _manifest(self.root)
            # All that will be made, but for the parts, whose number is not known yet.
            names = [self.path(folder, self.generation) for folder in ("vocabulary", "authors")]
            self.claim(["zarr.json", "zarr.json.partial", f".scratch-{self._writer.token}", *names])
            for place in {self.scratch, self.drafts}:
                if place.local:
                    place.make_folder()
            if self.old is None and self.root.local:
                replace_group(self.root, {})
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    @property
    def generation(self) -> int:
        """Number of this commit."""
        return 0 if self.old is None else self.old.generation + 1

    @property
    def next_part(self) -> int:
        """Number of the first part to be written: higher than all numbers of parts, committed or not."""
        there = [int(found[0]) for name in (self.root / "parts").names() if (found := _NUMBER.match(name))]
        return max([0 if self.old is None else self.old.next_part, *(number + 1 for number in there)])

    def path(self, folder: str, number: int) -> str:
        """Where part or names `number` go, below the root; behind a URL, no other writer uses the name.

        Raises
        ------
        CorpusDamaged
            When there are no more numbers.
        """
        if number >= MOST_NUMBERS:
            field = "next_part" if folder == "parts" else "generation"
            raise CorpusDamaged(
                f"{self.root.url} cannot be written to again, because its {field} is at the last number; {ANEW}"
            )
        return f"{folder}/{number:08d}" + ("" if self.root.local else f"-{self._writer.token}")

    def claim(self, paths: Iterable[str]) -> None:
        """List paths below the root before anything is made there.

        Raises
        ------
        CorpusExists
            When something is there that is not of this store.
        """
        paths = list(paths)
        folders = {path.rpartition("/")[0] for path in paths} - {""}
        self._writer.claim([*(f"{folder}/zarr.json" for folder in sorted(folders)), *paths])

    def install(self, draft: Place, path: str) -> None:
        """Move `path` from a draft of the store into the store, in one step."""
        if draft.url == self.root.url:  # behind a URL
            return
        group = f"{path.rpartition('/')[0]}/zarr.json"
        if not (self.root / group).exists():
            (draft / group).move(self.root / group)
        (draft / path).move(self.root / path)

    def commit(self, manifest: Manifest) -> None:
        """Make the new manifest the corpus. Its parts and names must be durable.

        Raises
        ------
        CorpusDamaged
            When a reader would refuse the new manifest; the store is as it was.
        CorpusLocked
            When another writer took over a lock that this process did not renew in time.
        """
        old = set() if self.old is None else _listed(self.old)
        self._writer.commit(checked_manifest(self.root, manifest), old - _listed(manifest))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if self._scratch_outside:
                self.scratch.remove()
        finally:
            self._writer.__exit__(kind, error, trace)


def _listed_at(root: Place) -> set[str] | None:
    """All paths of the corpus that is there."""
    manifest = _manifest(root)
    return None if manifest is None else _listed(manifest)


def _listed(manifest: Manifest) -> set[str]:
    paths = {part.path for part in manifest.parts} | {manifest.vocabulary.path, *manifest.replaced}
    paths |= manifest.author_paths
    return {"zarr.json"} | paths | {f"{path.rpartition('/')[0]}/zarr.json" for path in paths}

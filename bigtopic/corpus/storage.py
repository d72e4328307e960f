"""Where a corpus lives: a folder, or any URL that fsspec knows, behind a few plain operations.

Arrays are written through Zarr; chunks, manifests and scratch files are read as bytes, the same way everywhere. Every
write and removal goes through `Place`, those of Zarr too: what holds for links and errors holds at one place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec

from bigtopic.corpus import local
from bigtopic.errors import MissingExtra, SettingError

__all__ = ["Place", "file_system", "zarr_store"]


def file_system(url: str, options: Mapping[str, Any] | None = None) -> tuple[Any, str]:
    """fsspec's file system of a URL (it keeps one per set of options), and the path in it.

    Raises
    ------
    MissingExtra
        When the package for this kind of URL is not installed.
    SettingError
        When fsspec knows no such kind.
    """
    try:
        return fsspec.core.url_to_fs(url, **(options or {}))
    except ImportError as error:
        raise MissingExtra(f"{url} cannot be reached: {error} (with pip)") from error
    except ValueError as error:
        raise SettingError(f"{url}: {error}; give a path, or a URL that fsspec knows") from error


def zarr_store(place: Place, read_only: bool = False) -> Any:
    """The Zarr store at a place."""
    from zarr.storage import FsspecStore

    from bigtopic.corpus.zarr_folder import ZarrFolder

    if place.local:
        return ZarrFolder(place, read_only=read_only)
    return FsspecStore.from_url(place.url, storage_options=dict(place.options), read_only=read_only)


@dataclass(frozen=True)
class Place:
    """A folder, picklable.

    Parameters
    ----------
    url : absolute path, or URL
    options : for fsspec
    below : number of the last components of the path that are below the root of a store, where links are refused
    """

    url: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    below: int = 0

    @classmethod
    def of(cls, url: Any, options: Mapping[str, Any] | None = None) -> Place:
        """The place a user means by a path or URL."""
        text = os.fspath(url)
        if text.startswith("file://"):
            text = text[len("file://") :]
        if "://" not in text:
            text = str(Path(text).expanduser().absolute())
        return cls(text.rstrip("/"), dict(options or {}))

    @property
    def local(self) -> bool:
        return "://" not in self.url

    def __truediv__(self, name: str) -> Place:
        return Place(f"{self.url}/{name}", self.options, self.below + name.count("/") + 1)

    def beside(self, suffix: str) -> Place:
        """The place in the same folder whose name has this ending in addition."""
        return Place(self.url + suffix, self.options, self.below)

    @property
    def _opened(self) -> tuple[Any, str]:
        return file_system(self.url, self.options)

    def read(self, start: int | None = None, stop: int | None = None) -> bytes:
        """The bytes of this file. Raises FileNotFoundError."""
        if self.local and start is None:
            return local.read(self.url)
        filesystem, path = self._opened
        return filesystem.cat_file(path, start, stop)

    def write(self, *pieces: Any) -> None:
        """Create or replace this file with the bytes of the pieces, one after the other."""
        if self.local:
            return local.write(self.url, self.below, pieces)
        filesystem, path = self._opened
        filesystem.makedirs(filesystem._parent(path), exist_ok=True)
        filesystem.pipe_file(path, b"".join(pieces))

    def replace(self, data: bytes) -> None:
        """Create or replace this file at once and durably: a reader sees the old bytes or the new ones.

        Locally by way of "<name>.partial"; the caller holds the store's lock.
        """
        if not self.local:
            return self.write(data)  # object stores replace whole objects
        local.replace(self.url, self.below, data)

    def append(self, data: bytes) -> None:
        """Add to this local file, durably; it is made when it is not there."""
        local.append(self.url, self.below, data)

    def make_folder(self) -> None:
        """Make this local folder, for its owner alone; it must not be there."""
        local.make_folder(self.url, self.below)

    def refuse_link(self) -> None:
        """Raise StoreError when this is a symbolic link: nothing is to be written or removed behind it."""
        if self.local:
            local.refuse_link(self.url)

    def exists(self) -> bool:
        filesystem, path = self._opened
        return filesystem.exists(path)

    def names(self) -> list[str]:
        """Names in this folder, sorted; none when there is no folder."""
        if self.local:
            return local.names(self.url)
        filesystem, path = self._opened
        try:
            found = filesystem.ls(path, detail=False, refresh=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in found)

    def remove(self) -> None:
        """Remove this file or folder, if it is there."""
        if self.local:
            return local.remove(self.url, self.below)
        filesystem, path = self._opened
        try:
            filesystem.rm(path, recursive=True)
        except FileNotFoundError:
            return

    def remove_empty(self) -> None:
        """Remove this folder if it is there and empty. Object stores have no empty folders."""
        if self.local:
            local.remove_empty(self.url, self.below)

    def n_bytes(self) -> int:
        """Bytes of everything below."""
        filesystem, path = self._opened
        return int(filesystem.du(path))

    def sync(self, recursive: bool = True) -> None:
        """Make this, and everything below it, durable. Object stores are durable when a write returns."""
        if self.local:
            local.sync(self.url, recursive)

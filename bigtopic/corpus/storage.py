"""Where a corpus lives: a folder, or any URL that fsspec knows, behind a few plain operations.

Arrays are written through Zarr; chunks, manifests and scratch files are read as bytes, the same way everywhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec

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
    from zarr.storage import FsspecStore, LocalStore

    if place.local:
        return LocalStore(place.url, read_only=read_only)
    return FsspecStore.from_url(place.url, storage_options=dict(place.options), read_only=read_only)


@dataclass(frozen=True)
class Place:
    """A folder, picklable.

    Parameters
    ----------
    url : absolute path, or URL
    options : for fsspec
    """

    url: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

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
        return Place(f"{self.url}/{name}", self.options)

    @property
    def _opened(self) -> tuple[Any, str]:
        return file_system(self.url, self.options)

    def read(self, start: int | None = None, stop: int | None = None) -> bytes:
        """The bytes of this file. Raises FileNotFoundError, also for a pipe or device, which might never end."""
        if self.local and not _is_file(self.url):
            raise FileNotFoundError(f"{self.url} is not a file")
        if self.local and start is None:
            return Path(self.url).read_bytes()
        filesystem, path = self._opened
        return filesystem.cat_file(path, start, stop)

    def write(self, data: bytes) -> None:
        """Create or replace this file."""
        filesystem, path = self._opened
        filesystem.makedirs(filesystem._parent(path), exist_ok=True)
        filesystem.pipe_file(path, data)

    def replace(self, data: bytes) -> None:
        """Create or replace this file at once and durably: a reader sees the old bytes or the new ones."""
        if not self.local:
            return self.write(data)  # object stores replace whole objects
        draft = f"{self.url}.{uuid4().hex}.partial"
        with Path(draft).open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(self.url)

    def exists(self) -> bool:
        filesystem, path = self._opened
        return filesystem.exists(path)

    def names(self) -> list[str]:
        """Names in this folder, sorted; none when there is no folder."""
        filesystem, path = self._opened
        try:
            found = filesystem.ls(path, detail=False, refresh=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in found)

    def remove(self) -> None:
        """Remove this file or folder, if it is there."""
        filesystem, path = self._opened
        try:
            filesystem.rm(path, recursive=True)
        except FileNotFoundError:
            return

    def n_bytes(self) -> int:
        """Bytes of everything below."""
        filesystem, path = self._opened
        return int(filesystem.du(path))

    def sync(self, recursive: bool = True) -> None:
        """Make this, and everything below it, durable. Object stores are durable when a write returns."""
        if self.local:
            for path in _below(Path(self.url)) if recursive else [Path(self.url)]:
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)


def _is_file(path: str) -> bool:
    """False for a pipe, device or socket. A folder passes: reading it says what is wrong."""
    mode = Path(path).stat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _below(path: Path) -> Iterator[Path]:
    """Files first, then the folders that hold them."""
    if path.is_dir():
        for entry in sorted(path.iterdir()):
            yield from _below(entry)
    yield path

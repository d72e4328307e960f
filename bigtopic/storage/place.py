"""The location of a store: a folder, or any URL that fsspec supports, behind a few plain operations.

Arrays are written through Zarr; chunks, manifests and scratch files are read as bytes, the same way everywhere. Every
write and removal goes through `Place`, Zarr's too, so the rules for links and errors are in one place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec

from bigtopic.errors import MissingExtra, SettingError
from bigtopic.storage import local, remote

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
    if "://" not in url:  # a path, whatever fsspec would make of "::" in it
        system = fsspec.filesystem("file")
        return system, system._strip_protocol(url)
    with _known(url):
        return fsspec.core.url_to_fs(url, **remote.patient(url, options or {}))


@contextmanager
def _known(url: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingExtra(f"{url} cannot be reached: {error} (with pip)") from error
    except ValueError as error:
        raise SettingError(f"{url}: {error}; give a path, or a URL that fsspec knows") from error


def zarr_store(place: Place, read_only: bool = False) -> Any:
    """The Zarr store at a place."""
    if place.local:
        from bigtopic.storage.zarr_stores import ZarrFolder

        return ZarrFolder(place, read_only=read_only)
    from bigtopic.storage.zarr_stores import ZarrRemote

    with remote.reaching(place.url):
        if "::" in place.url:
            from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

            filesystem, path = place._opened
            waiting = AsyncFileSystemWrapper(filesystem, asynchronous=True)
            return ZarrRemote(waiting, path=path, read_only=read_only)
        options = remote.uncached(place.url, place.options)
        return ZarrRemote.from_url(place.url, storage_options=options, read_only=read_only)


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

    # Of local files and folders only.
    write_at = local.write_at
    replace = local.replace
    append = local.append
    make_folder = local.make_folder
    move = local.rename

    @classmethod
    def of(cls, url: Any, options: Mapping[str, Any] | None = None) -> Place:
        """The place at a user's path or URL.

        Raises
        ------
        SettingError
            When it is neither, or has a null character, or begins with the home of no user, or a URL has no name, or
            has characters that fsspec takes for a pattern or a query.
        """
        if not isinstance(url, str | os.PathLike):
            raise SettingError(f"{type(url).__name__} is not a path; give the path or the URL")
        text = os.fspath(url)
        if "\0" in text:
            raise SettingError(f"{text!r} is not a path: it has a null character; give the path or the URL")
        for scheme in ("file://", "local://"):
            text = text.removeprefix(scheme)
        if "://" not in text:
            try:
                path = str(Path(text).expanduser().absolute()).rstrip("/")
            except RuntimeError as error:  # no such user
                raise SettingError(f"{text!r}: {error}; give the path of the folder itself") from error
            return cls(path, dict(options or {}))
        _check_url(text)
        return cls(text.rstrip("/"), dict(options or {}))

    @property
    def local(self) -> bool:
        return "://" not in self.url

    def __truediv__(self, name: str) -> Place:
        if self.local or "::" not in self.url:
            return Place(f"{self.url}/{name}", self.options, self.below + name.count("/") + 1)
        links = self.url.split("::")  # the path in the first file system of a chain that has one
        first = next(i for i, link in enumerate(links) if "://" in link)
        links[first] = f"{links[first]}/{name}"
        return Place("::".join(links), self.options)

    @property
    def real(self) -> str:
        """The same for all names of a place: links and `..` of a path are followed, and a scheme has one name."""
        if self.local:
            return os.path.realpath(self.url)
        if "::" in self.url:
            return self.url
        kind = fsspec.get_filesystem_class(self.url.partition("://")[0])
        known = kind.protocol if isinstance(kind.protocol, str) else kind.protocol[0]
        return f"{known}://{kind._strip_protocol(self.url)}"

    def beside(self, suffix: str) -> Place:
        """The place in the same folder whose name has this ending in addition."""
        return Place(self.url + suffix, self.options, self.below)

    def nearest(self) -> str:
        """The end of a message that nothing is at this path: the store of this name with its ending; "" if none is."""
        store = self.beside(".zarr")
        return f"; did you mean {store.url}?" if self.local and store.exists() else ""

    @property
    def _opened(self) -> tuple[Any, str]:
        if self.local:
            return fsspec.filesystem("file"), self.url
        return file_system(self.url, remote.uncached(self.url, self.options))

    def _reaching(self) -> AbstractContextManager[None]:
        """Turn errors of the network, or of the store behind it, into our errors."""
        return nullcontext() if self.local else remote.reaching(self.url)

    def read(self, start: int | None = None, stop: int | None = None) -> bytes:
        """The bytes of this file. Raises FileNotFoundError, also where a folder above it is a file."""
        try:
            if self.local and start is None:
                return local.read(self.url)
            with self._reaching():
                filesystem, path = self._opened
                return filesystem.cat_file(path, start=start, end=stop)
        except NotADirectoryError as error:
            raise FileNotFoundError(error.errno, error.strerror, self.url) from error

    def read_at(self, offset: int, out: memoryview) -> int:
        """Fill memory with the bytes of this file from an offset on; how many there were."""
        if self.local:
            return local.read_at(self.url, offset, out)
        data = self.read(offset, offset + len(out)) if len(out) else b""
        out[: len(data)] = data
        return len(data)

    def write(self, *pieces: Any) -> None:
        """Create or replace this file with the bytes of the pieces, one after the other."""
        if self.local:
            return local.write(self, pieces)
        with self._reaching():
            filesystem, path = self._opened
            if not remote.has_buckets(filesystem):  # which would be made, whatever the user meant
                filesystem.makedirs(filesystem._parent(path), exist_ok=True)
            filesystem.pipe_file(path, b"".join(pieces))

    def refuse_link(self) -> None:
        """Raise StoreError when this is a symbolic link: nothing is to be written or removed behind it."""
        if self.local:
            local.refuse_link(self.url)

    def version(self) -> Any:
        """The version of this remote file's current content; None if it does not exist."""
        with self._reaching():
            return remote.version_of(*self._opened)

    def replace_if(self, data: bytes, version: Any) -> Any:
        """Write this remote file if it still has this version (None: is not there); its new version, or None.

        No two writers may write equal bytes.
        """
        with self._reaching():
            return remote.replace_if(*self._opened, data, version)

    def remove_if(self, version: Any) -> None:
        """Remove this remote file if it still has this version."""
        with self._reaching():
            remote.remove_if(*self._opened, version)

    def upload(self, path: str) -> None:
        """Create or replace this remote file with the bytes of a local one."""
        with self._reaching():
            filesystem, target = self._opened
            filesystem.put_file(path, target)

    def copy(self, target: Place) -> None:
        """Copy this remote folder to another place of the same store, which copies by itself."""
        with self._reaching():
            filesystem, path = self._opened
            files, folder = filesystem.find(path), target._opened[1]
            filesystem.copy(files, [folder + found[len(path) :] for found in files])

    def exists(self) -> bool:
        with self._reaching():
            filesystem, path = self._opened
            return filesystem.exists(path)

    def names(self) -> list[str]:
        """Names in this folder, sorted; none when there is no folder."""
        if self.local:
            return local.names(self.url)
        try:
            with self._reaching():
                filesystem, path = self._opened
                found = filesystem.ls(path, detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        folder = f"{path}/"  # which is an object too where a console made the folder
        return sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in found if entry != folder)

    def remove(self) -> None:
        """Remove this file or folder if it exists; of a bucket, only the content."""
        if self.local:
            return local.remove(self)
        with self._reaching():
            filesystem, path = self._opened
            if remote.has_buckets(filesystem) and "/" not in path:
                for name in self.names():
                    (self / name).remove()
                return
            with suppress(FileNotFoundError):
                filesystem.rm(path, recursive=True)

    def remove_empty(self) -> None:
        """Remove this folder if it exists and is empty. Object stores have no empty folders."""
        if self.local:
            local.remove_empty(self)

    def n_bytes(self) -> int:
        """Bytes of everything below."""
        with self._reaching():
            filesystem, path = self._opened
            return int(filesystem.du(path))

    def sync(self, recursive: bool = True) -> None:
        """Make this, and everything below it, durable. Object stores are durable when a write returns."""
        if self.local:
            local.sync(self.url, recursive)


def _check_url(url: str) -> None:
    """Refuse a URL that fsspec does not support, or would not read as a folder."""
    first = next(link for link in url.split("::") if "://" in link)
    if not first.split("://")[1].strip("/") and not first.startswith("zip://"):
        raise SettingError(f"{url}: names no folder or bucket; give a URL such as s3://bucket/name.zarr")
    with _known(url):
        fsspec.get_filesystem_class(first.split("://")[0])
    found = [character for character in "*?[]" if character in first]
    if found:
        raise SettingError(
            f"{url}: fsspec takes {found[0]!r} for a pattern or a query; give the URL of a folder without *, ?, [ and ]"
        )

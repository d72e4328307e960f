"""Zarr's stores: in a folder, through `Place`, with its rules on links and pipes; behind a URL; with our errors."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Lock
from typing import Any

from zarr.abc.store import Store
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import FsspecStore, LocalStore

from bigtopic.storage import local
from bigtopic.storage.remote import reaching

__all__ = ["ZarrFolder", "ZarrRemote"]


class ZarrFolder(LocalStore):
    """The folder at a place; it is made by the first write.

    Zarr writes several files at a time and does not wait for the others when one fails. Here the others are over by
    then, or fail too: after an error nothing comes back into a folder that is being removed.

    Parameters
    ----------
    place : a `bigtopic.storage.place.Place`, which imports this module
    """

    def __init__(self, place: Any, *, read_only: bool = False) -> None:
        super().__init__(place.url, read_only=read_only)
        self._place = place
        self._writing = Lock()
        self._failure: BaseException | None = None

    async def _open(self, *, mode: Any = None) -> None:
        """Make no folder, as Zarr's store would: the first write does, or says why it cannot."""
        await (super()._open() if self.read_only else Store._open(self))

    def with_read_only(self, read_only: bool = False) -> ZarrFolder:
        return type(self)(self._place, read_only=read_only)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        if byte_range is None:
            return await asyncio.to_thread(self._read, key, prototype)
        local.refuse_irregular((self._place / key).url)
        return await super().get(key, prototype, byte_range)

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        if byte_range is None:
            return self._read(key, prototype)
        local.refuse_irregular((self._place / key).url)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    def _read(self, key: str, prototype: Any) -> Any:
        """The bytes of a file, None when it is not there."""
        try:
            data = (self._place / key).read()
        except FileNotFoundError:
            return None
        return (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    async def set(self, key: str, value: Any) -> None:
        await asyncio.to_thread(self._write, key, value)

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        with suppress(FileExistsError):
            await asyncio.to_thread(self._write, key, value, exclusive=True)

    def set_sync(self, key: str, value: Any) -> None:
        self._write(key, value)

    def _write(self, key: str, value: Any, exclusive: bool = False) -> None:
        self._check_writable()
        place = self._place / key
        with self._writing:
            if self._failure is not None:
                raise self._failure
            try:
                local.write(place, [value.as_buffer_like()], exclusive)
            except FileExistsError:
                raise
            except BaseException as error:
                self._failure = error
                raise

    async def delete(self, key: str) -> None:
        self.delete_sync(key)

    def delete_sync(self, key: str) -> None:
        self._check_writable()
        (self._place / key).remove()

    async def delete_dir(self, prefix: str) -> None:
        await (self.delete(prefix) if prefix else self.clear())

    async def clear(self) -> None:
        for name in self._place.names():
            await self.delete(name)


class ZarrRemote(FsspecStore):
    """Zarr's store, with the errors of `reaching`."""


def _reached(name: str) -> Any:
    method = getattr(FsspecStore, name)

    async def call(self: ZarrRemote, *arguments: Any, **settings: Any) -> Any:
        with reaching(str(self.fs.unstrip_protocol(self.path))):
            return await method(self, *arguments, **settings)

    return call


for _name in ("get", "get_partial_values", "set", "exists", "delete", "delete_dir"):
    setattr(ZarrRemote, _name, _reached(_name))

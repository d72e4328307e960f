"""Zarr's store in a folder, writing and removing through `Place`: the same rules on links, the same errors."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from zarr.storage import LocalStore

from bigtopic.corpus import local

if TYPE_CHECKING:
    from bigtopic.corpus.storage import Place

__all__ = ["ZarrFolder"]


class ZarrFolder(LocalStore):
    """The folder at a place; the folder is made by whoever writes there first."""

    def __init__(self, place: Place, *, read_only: bool = False) -> None:
        super().__init__(place.url, read_only=read_only)
        self._place = place

    def with_read_only(self, read_only: bool = False) -> ZarrFolder:
        return type(self)(self._place, read_only=read_only)

    async def set(self, key: str, value: Any) -> None:
        self._check_writable()
        await asyncio.to_thread((self._place / key).write, value.as_buffer_like())

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        self._check_writable()
        place, pieces = self._place / key, [value.as_buffer_like()]
        with suppress(FileExistsError):
            await asyncio.to_thread(local.write, place.url, place.below, pieces, exclusive=True)

    def set_sync(self, key: str, value: Any) -> None:
        self._check_writable()
        (self._place / key).write(value.as_buffer_like())

    async def delete(self, key: str) -> None:
        self._check_writable()
        await asyncio.to_thread((self._place / key).remove)

    def delete_sync(self, key: str) -> None:
        self._check_writable()
        (self._place / key).remove()

    async def delete_dir(self, prefix: str) -> None:
        await (self.delete(prefix) if prefix else self.clear())

    async def clear(self) -> None:
        self._check_writable()
        for name in self._place.names():
            (self._place / name).remove()

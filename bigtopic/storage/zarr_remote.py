"""Zarr's store behind a URL."""

from __future__ import annotations

from typing import Any

from zarr.storage import FsspecStore

from bigtopic.storage.remote import reaching

__all__ = ["ZarrRemote"]


class ZarrRemote(FsspecStore):
    """Zarr's store, with the errors of `reaching`."""

    @property
    def _url(self) -> str:
        return str(self.fs.unstrip_protocol(self.path))

    async def get(self, *arguments: Any, **settings: Any) -> Any:
        with reaching(self._url):
            return await super().get(*arguments, **settings)

    async def get_partial_values(self, *arguments: Any, **settings: Any) -> Any:
        with reaching(self._url):
            return await super().get_partial_values(*arguments, **settings)

    async def set(self, *arguments: Any, **settings: Any) -> None:
        with reaching(self._url):
            await super().set(*arguments, **settings)

    async def exists(self, key: str) -> bool:
        with reaching(self._url):
            return await super().exists(key)

    async def delete(self, key: str) -> None:
        with reaching(self._url):
            await super().delete(key)

    async def delete_dir(self, prefix: str) -> None:
        with reaching(self._url):
            await super().delete_dir(prefix)

"""Reading runs of one-dimensional numeric arrays, chunk by chunk.

The corpus fixes its codecs (bytes, Blosc, CRC-32C), so a chunk is one read, one checksum and one decompression. Through
Zarr's own pipeline the same chunk costs twice the time on one thread and more on several, and a missing chunk is not
an error but fill values. Any Zarr v3 reader still opens these arrays.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from threading import Lock
from typing import Any

import google_crc32c
import numpy as np

from bigtopic.corpus.storage import Place
from bigtopic.errors import CorpusDamaged

__all__ = ["ChunkedArray"]

_KEPT = 4  # decoded chunks kept, so that short runs one after the other do not decode a chunk each


class ChunkedArray:
    """An array of the store; `array[start:stop]` reads. Safe to use from several threads.

    Raises
    ------
    CorpusDamaged
        When the array is missing, or a chunk is missing, cut short, or does not match its checksum.
    """

    def __init__(self, place: Place, what: str) -> None:
        self._place = place
        self._what = what  # for messages
        metadata = self._metadata()
        try:
            self.size = int(metadata["shape"][0])
            self.dtype = np.dtype(metadata["data_type"])
            self._chunk = int(metadata["chunk_grid"]["configuration"]["chunk_shape"][0])
            names = [codec["name"] for codec in metadata["codecs"]]
        except (KeyError, IndexError, TypeError) as error:
            raise CorpusDamaged(f"{what}: its zarr.json does not describe an array ({error!r})") from error
        if names != ["bytes", "blosc", "crc32c"]:
            raise CorpusDamaged(f"{what}: the codecs are {names}, but a corpus has bytes, blosc, crc32c")
        self._decoded: OrderedDict[int, np.ndarray] = OrderedDict()
        self._lock = Lock()

    def _metadata(self) -> dict[str, Any]:
        try:
            return json.loads((self._place / "zarr.json").read())
        except (FileNotFoundError, ValueError) as error:
            raise CorpusDamaged(f"{self._what}: the array is missing or unreadable; {_REMEDY}") from error

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, item: slice) -> np.ndarray:
        start, stop, _ = item.indices(self.size)
        out = np.empty(max(0, stop - start), self.dtype)
        for number in range(start // self._chunk, -(-stop // self._chunk) if stop > start else 0):
            first = number * self._chunk
            a, b = max(start, first), min(stop, first + self._chunk)
            whole = b - a == min(self._chunk, self.size - first)
            values = self._decode(number) if whole else self._kept(number)
            out[a - start : b - start] = values[a - first : b - first]
        return out

    def _kept(self, number: int) -> np.ndarray:
        with self._lock:
            if number in self._decoded:
                self._decoded.move_to_end(number)
                return self._decoded[number]
        values = self._decode(number)
        with self._lock:
            self._decoded[number] = values
            while len(self._decoded) > _KEPT:
                self._decoded.popitem(last=False)
        return values

    def _decode(self, number: int) -> np.ndarray:
        """All `chunk` values of a chunk; the last one is padded with the fill value."""
        from numcodecs.blosc import Blosc

        try:
            stored = (self._place / f"c/{number}").read()
        except FileNotFoundError as error:
            raise CorpusDamaged(f"{self._what}: chunk {number} is missing; {_REMEDY}") from error
        if google_crc32c.value(stored[:-4]) != int.from_bytes(stored[-4:], "little"):
            raise CorpusDamaged(f"{self._what}: chunk {number} does not match its checksum; {_REMEDY}")
        try:
            values = np.frombuffer(Blosc().decode(memoryview(stored)[:-4]), self.dtype.newbyteorder("<"))
        except (RuntimeError, ValueError) as error:
            raise CorpusDamaged(f"{self._what}: chunk {number} cannot be decompressed; {_REMEDY}") from error
        if len(values) != self._chunk:
            raise CorpusDamaged(f"{self._what}: chunk {number} has {len(values)} values; {_REMEDY}")
        return values


_REMEDY = "restore the corpus from a copy, or ingest the source again"

"""One-dimensional numeric arrays, chunk by chunk.

The corpus fixes its codecs (bytes, Blosc, CRC-32C), so a chunk is one compression, one checksum and one write, and the
same backwards. Through Zarr's own pipeline the same chunk costs twice the time on one thread and more on several, and
a missing chunk is not an error but fill values. Any Zarr v3 reader still opens these arrays.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from threading import Lock
from typing import Any

import google_crc32c
import numpy as np

from bigtopic import buffers
from bigtopic.corpus.storage import Place
from bigtopic.errors import CorpusDamaged

__all__ = ["ChunkedArray", "chunk_codecs", "write_chunk"]

# Zstandard's first level in large blocks: a tenth of the time of level 5 in Blosc's own blocks, for 0-8 % more bytes.
_SETTINGS: dict[str, Any] = {"cname": "zstd", "clevel": 1, "blocksize": 1 << 19}
_REUSED = 1 << 23  # bytes of an array whose memory is used again: a unit, not a whole part
_KEPT = 4  # decoded chunks kept, so that short runs one after the other do not decode a chunk each


def chunk_codecs() -> list[Any]:
    """The codecs of a numeric array, for Zarr."""
    from zarr.codecs import BloscCodec, Crc32cCodec

    return [BloscCodec(shuffle="shuffle", **_SETTINGS), Crc32cCodec()]


def write_chunk(array: Place, number: int, values: np.ndarray) -> None:
    """Write all values of a chunk of the array at this place; the last chunk is padded by the caller."""
    # Importing zarr.codecs, as `chunk_codecs` did, keeps Blosc from using threads of its own: they finish in any order.
    from numcodecs.blosc import SHUFFLE, Blosc

    encoded = Blosc(shuffle=SHUFFLE, **_SETTINGS).encode(
        values.astype(values.dtype.newbyteorder("<"), copy=False)
    )
    (array / f"c/{number}").write(encoded + google_crc32c.value(encoded).to_bytes(4, "little"))


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
        numbers = range(start // self._chunk, -(-stop // self._chunk) if stop > start else 0)
        read = self._short_run if stop - start < self._chunk else self._long_run
        return read(numbers, start, max(start, stop)).astype(self.dtype, copy=False)

    def _long_run(self, numbers: range, start: int, stop: int) -> np.ndarray:
        """Decoded where it stays, with the rest of the chunks at its ends."""
        out = self._empty(len(numbers) * self._chunk)
        for i, number in enumerate(numbers):
            self._decode(number, out[i * self._chunk : (i + 1) * self._chunk])
        first = numbers.start * self._chunk
        return out[start - first : stop - first]

    def _short_run(self, numbers: range, start: int, stop: int) -> np.ndarray:
        """Copied out of chunks that are kept for the next run."""
        out = self._empty(stop - start)
        for number in numbers:
            first = number * self._chunk
            a, b = max(start, first), min(stop, first + self._chunk)
            out[a - start : b - start] = self._kept(number)[a - first : b - first]
        return out

    def _empty(self, size: int) -> np.ndarray:
        dtype = self.dtype.newbyteorder("<")
        return (buffers if size * dtype.itemsize <= _REUSED else np).empty(size, dtype)

    def _kept(self, number: int) -> np.ndarray:
        with self._lock:
            if number in self._decoded:
                self._decoded.move_to_end(number)
                return self._decoded[number]
        values = self._empty(self._chunk)
        self._decode(number, values)
        with self._lock:
            self._decoded[number] = values
            while len(self._decoded) > _KEPT:
                self._decoded.popitem(last=False)
        return values

    def _decode(self, number: int, out: np.ndarray) -> None:
        """Fill in all values of a chunk; the last one is padded with the fill value."""
        from numcodecs.blosc import Blosc

        try:
            stored = (self._place / f"c/{number}").read()
        except FileNotFoundError as error:
            raise CorpusDamaged(f"{self._what}: chunk {number} is missing; {_REMEDY}") from error
        if google_crc32c.value(np.frombuffer(stored, np.uint8)[:-4]) != int.from_bytes(stored[-4:], "little"):
            raise CorpusDamaged(f"{self._what}: chunk {number} does not match its checksum; {_REMEDY}")
        n_bytes = int.from_bytes(stored[4:8], "little")  # of Blosc's header
        if n_bytes != out.nbytes:
            raise CorpusDamaged(
                f"{self._what}: chunk {number} has {n_bytes // out.itemsize} values; {_REMEDY}"
            )
        try:
            Blosc().decode(memoryview(stored)[:-4], out)
        except (RuntimeError, ValueError) as error:
            raise CorpusDamaged(f"{self._what}: chunk {number} cannot be decompressed; {_REMEDY}") from error


_REMEDY = "restore the corpus from a copy, or ingest the source again"

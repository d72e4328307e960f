"""Arrays, chunk by chunk. Arrays of a corpus have one dimension, arrays of a model rows.

The corpus fixes its codecs (bytes, Blosc, CRC-32C), so a chunk is one compression, one checksum and one write, and the
same backwards. Through Zarr's own pipeline the same chunk costs twice the time on one thread and more on several, and
a missing chunk is not an error but fill values. Any Zarr v3 reader still opens these arrays.

Strings are vlen-utf8 in one frame of Zstandard. Sizes that a frame or a chunk claims are checked before memory is
allocated for them.
"""

from __future__ import annotations

from math import prod
from threading import Lock
from typing import Any

import google_crc32c
import numpy as np

from bigtopic.errors import CorpusDamaged
from bigtopic.storage.json_rules import FieldError
from bigtopic.storage.place import Place
from bigtopic.storage.zarr_metadata import ArrayMetadata, chunk_file, chunk_numbers, parse_metadata
from bigtopic.support import buffers

__all__ = [
    "DENSEST",
    "REMEDY",
    "ChunkedArray",
    "chunk_codecs",
    "content_size",
    "read_metadata",
    "read_strings",
    "remedy_of_missing",
    "write_chunk",
]

REMEDY = "restore the corpus from a copy, or ingest the source again"
_REWRITTEN = "open the corpus again, if it was written to since it was opened; else"

# Zstandard's first level in large blocks: a tenth of the time of level 5 in Blosc's own blocks, for 0-8 % more bytes.
_SETTINGS: dict[str, Any] = {"cname": "zstd", "clevel": 1, "blocksize": 1 << 19}
_REUSED = 1 << 23  # bytes of an array whose memory is used again: a read block, not a whole part
_BLOSC_HEADER = 16  # bytes
_COUNTED = 64  # chunks of a run above which they are counted before memory is taken for them
_KEPT = 4  # decoded chunks kept, so that short runs one after the other do not decode a chunk each


def chunk_codecs() -> list[Any]:
    """The codecs of a numeric array, for Zarr."""
    from zarr.codecs import BloscCodec, Crc32cCodec

    return [BloscCodec(shuffle="shuffle", **_SETTINGS), Crc32cCodec()]


def write_chunk(array: Place, number: int, values: np.ndarray) -> None:
    """Write all values of a chunk of the array at this place; the last chunk is padded by the caller."""
    # Importing zarr.codecs, as `chunk_codecs` did, keeps Blosc from starting threads, which finish in any order.
    from numcodecs.blosc import SHUFFLE, Blosc

    encoded = Blosc(shuffle=SHUFFLE, **_SETTINGS).encode(
        values.astype(values.dtype.newbyteorder("<"), copy=False)
    )
    chunk_file(array, number).write(encoded + google_crc32c.value(encoded).to_bytes(4, "little"))


def remedy_of_missing(remedy: str = REMEDY) -> str:
    """What to do when a file is not there: a part of a corpus may have been written anew since it was opened."""
    return f"{_REWRITTEN} {remedy}" if remedy == REMEDY else remedy


def read_metadata(place: Place, what: str, remedy: str = REMEDY) -> ArrayMetadata:
    """The metadata of the array at this place, checked.

    Raises
    ------
    CorpusDamaged
        When the array is missing, or its metadata do not describe one of our arrays.
    """
    try:
        return parse_metadata((place / "zarr.json").read(), f"{what}/zarr.json")
    except FileNotFoundError as error:
        raise CorpusDamaged(f"{what}: the array is missing; {remedy_of_missing(remedy)}") from error
    except FieldError as error:
        raise CorpusDamaged(f"{error}; {remedy}") from error


class ChunkedArray:
    """An array of the store; `array[start:stop]` reads values, row after row. Safe to use from several threads.

    Parameters
    ----------
    place : the array's folder
    what, remedy : for messages: which array it is, and what to do when it is damaged

    Raises
    ------
    CorpusDamaged
        When the array is missing, or a chunk is missing, cut short, or does not match its checksum.
    """

    def __init__(self, place: Place, what: str, remedy: str = REMEDY) -> None:
        self._place = place
        self._what = what
        self._remedy = remedy
        metadata = read_metadata(place, what, remedy)
        if metadata.text:
            raise CorpusDamaged(f"{what}: the array holds strings, but must hold numbers; {remedy}")
        self.shape = metadata.shape
        self.size = prod(metadata.shape)
        self.dtype = np.dtype(metadata.data_type)
        self._chunk = prod(metadata.chunk)
        self._decoded: dict[int, np.ndarray] = {}  # the latest last
        self._lock = Lock()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, item: slice) -> np.ndarray:
        start, stop, _ = item.indices(self.size)
        stop, size = max(start, stop), self._chunk
        numbers = chunk_numbers(start, stop, size)
        if len(numbers) > _COUNTED and len((self._place / "c").names()) < len(numbers):
            raise CorpusDamaged(f"{self._what}: chunks are missing; {remedy_of_missing(self._remedy)}")
        out = self._empty(stop - start)
        for number in numbers:
            a, b = max(start, number * size), min(stop, (number + 1) * size)
            if b - a == size:
                self._decode(number, out[a - start : b - start])
            else:  # copied out of a chunk that is kept for the next run
                out[a - start : b - start] = self._kept(number)[a - number * size : b - number * size]
        return out.astype(self.dtype, copy=False)

    def _empty(self, size: int) -> np.ndarray:
        dtype = self.dtype.newbyteorder("<")
        return (buffers if size * dtype.itemsize <= _REUSED else np).empty(size, dtype)

    def _kept(self, number: int) -> np.ndarray:
        with self._lock:
            values = self._decoded.pop(number, None)
        if values is None:
            values = self._empty(self._chunk)
            self._decode(number, values)
        with self._lock:
            self._decoded[number] = values  # the last of them
            while len(self._decoded) > _KEPT:
                del self._decoded[next(iter(self._decoded))]
        return values

    def _decode(self, number: int, out: np.ndarray) -> None:
        """Fill in all values of a chunk; the last one is padded with the fill value."""
        from numcodecs.blosc import Blosc

        try:
            stored = chunk_file(self._place, number, len(self.shape)).read()
        except FileNotFoundError as error:
            remedy = remedy_of_missing(self._remedy)
            raise CorpusDamaged(f"{self._what}: chunk {number} is missing; {remedy}") from error
        if google_crc32c.value(np.frombuffer(stored, np.uint8)[:-4]) != int.from_bytes(stored[-4:], "little"):
            raise self._damaged(number, "does not match its checksum")
        # Blosc believes its header: nothing is decompressed that ends elsewhere, or fills more, than it should.
        n_bytes, n_stored = int.from_bytes(stored[4:8], "little"), int.from_bytes(stored[12:16], "little")
        if len(stored) < _BLOSC_HEADER + 4 or n_stored != len(stored) - 4:
            raise self._damaged(number, "is cut short")
        if n_bytes != out.nbytes:
            raise self._damaged(number, f"has {n_bytes // out.itemsize} values")
        try:
            Blosc().decode(memoryview(stored)[:-4], out)
        except (RuntimeError, ValueError) as error:
            raise self._damaged(number, "cannot be decompressed") from error

    def _damaged(self, number: int, problem: str) -> CorpusDamaged:
        return CorpusDamaged(f"{self._what}: chunk {number} {problem}; {self._remedy}")


_MAGIC = b"\x28\xb5\x2f\xfd"
_LARGEST = 1 << 31  # bytes of a chunk, as Blosc has it for numbers
_ALWAYS = 1 << 28  # bytes that any chunk may take: 1 KiB for each of the most strings
_DENSE = 200  # above that, bytes that a byte may stand for; texts take a third to a tenth of their length
DENSEST = 1 << 15  # bytes that a byte of Zstandard can stand for: a run of 128 KiB takes four


def read_strings(place: Place, metadata: ArrayMetadata, start: int, stop: int) -> np.ndarray:
    """The strings `start` to `stop`, an object array; every chunk that is needed must be there.

    Raises
    ------
    FileNotFoundError
        When a chunk is missing.
    ValueError
        When a chunk is damaged; names it.
    """
    (step,) = metadata.chunk
    pieces = []
    for number in chunk_numbers(start, stop, step):
        first = number * step
        values = _decode(chunk_file(place, number).read(), step, f"chunk {number}")
        pieces.append(values[max(start - first, 0) : stop - first])
    return np.concatenate(pieces) if pieces else np.empty(0, object)


def _decode(stored: bytes, n_strings: int, what: str) -> np.ndarray:
    from numcodecs.vlen import VLenUTF8
    from numcodecs.zstd import Zstd

    claimed, most = content_size(stored), max(_ALWAYS, len(stored) * _DENSE)
    if claimed is None or claimed > min(_LARGEST, len(stored) * DENSEST, most):
        raise ValueError(f"{what} is not a frame of Zstandard, or claims {claimed} bytes")
    try:
        data = bytes(Zstd().decode(stored))
    except RuntimeError as error:
        raise ValueError(f"{what} cannot be decompressed") from error
    found = int.from_bytes(data[:4], "little")
    if len(data) < 4 or found != n_strings:
        raise ValueError(f"{what} has {found} strings, not {n_strings}")
    return VLenUTF8().decode(data)


def content_size(frame: bytes) -> int | None:
    """Bytes that a frame of Zstandard says it holds (RFC 8878, section 3.1.1.1); None when it does not say."""
    if frame[:4] != _MAGIC or len(frame) < 6:
        return None
    descriptor = frame[4]
    single = descriptor >> 5 & 1
    length = (single, 2, 4, 8)[descriptor >> 6]
    begin = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    if length == 0 or len(frame) < begin + length:
        return None
    size = int.from_bytes(frame[begin : begin + length], "little")
    return size + 256 if length == 2 else size

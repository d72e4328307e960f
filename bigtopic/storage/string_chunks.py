"""Arrays of strings, chunk by chunk: vlen-utf8 in one frame of Zstandard. Sizes that a frame or a chunk claims are
checked before memory is allocated for them.
"""

from __future__ import annotations

import numpy as np

from bigtopic.storage.array_metadata import ArrayMetadata
from bigtopic.storage.place import Place

__all__ = ["DENSEST", "content_size", "read_strings"]

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
    numbers = range(start // step, -(-stop // step) if stop > start else 0)
    pieces = []
    for number in numbers:
        first = number * step
        values = _decode((place / f"c/{number}").read(), step, f"chunk {number}")
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

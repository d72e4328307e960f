"""Compressed chunks of foreign Zarr stores, checked before a decoder trusts the length they claim, or allocates memory
for a decompression bomb.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from bigtopic.corpus.sparse import check_claim, most_bytes
from bigtopic.errors import InputError
from bigtopic.storage.chunks import DENSEST, content_size

__all__ = ["COMPRESSORS", "check_frame"]

_REMEDY = "get it again, or write the store again with anndata"
_DEFLATED = 1032  # bytes that a byte of gzip or zlib can stand for
_STEP = 1 << 20


def check_frame(frame: bytes, codec: str, what: str) -> None:
    """Refuse a chunk that is cut short, or decompresses to far more than its length allows.

    Raises
    ------
    InputError
    """
    if codec == "blosc":
        _check_blosc(frame, what)
    check_claim(_SIZES[codec](frame), len(frame), what, _REMEDY)


def _check_blosc(frame: bytes, what: str) -> None:
    """Blosc reads as far as its header says."""
    stored = _integer(frame, 12)
    if len(frame) < 16 or stored not in (len(frame), len(frame) - 4):  # a checksum may follow
        raise InputError(f"{what} is damaged: it is cut short or says that it has {stored} bytes; {_REMEDY}")


def _integer(frame: bytes, at: int) -> int:
    return int.from_bytes(frame[at : at + 4], "little")


def _zstandard(frame: bytes) -> int:
    """What the frame says; where it does not, the most that it can hold."""
    said = content_size(frame)
    return len(frame) * DENSEST if said is None else said


def _deflated(frame: bytes) -> int:
    """Neither says how long it is: counted, where it matters, up to the first bytes too many."""
    n, rest, most = 0, frame, most_bytes(len(frame))
    if len(frame) * _DEFLATED <= most:
        return 0
    try:
        while rest and n <= most:  # gzip may have several members
            inflater = zlib.decompressobj(32 + zlib.MAX_WBITS)
            while not inflater.eof and n <= most:
                piece = inflater.decompress(rest, _STEP)
                rest = inflater.unconsumed_tail
                n += len(piece)
                if not piece and not rest:
                    return n
            rest = inflater.unused_data
    except zlib.error:  # for the decoder to say
        pass
    return n


_SIZES: dict[str, Callable[[bytes], int]] = {
    "blosc": lambda frame: _integer(frame, 4),
    "lz4": lambda frame: _integer(frame, 0),
    "zstd": _zstandard,
    "gzip": _deflated,
    "zlib": _deflated,
}
COMPRESSORS = tuple(_SIZES)
"""Those that are allowed."""

"""Compressed files: their kinds, their bytes in bounded memory, and errors of damaged ones."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import IO, Any

from bigtopic.errors import InputError, require

__all__ = ["compression_of", "damaged", "decompressed"]

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}
_WINDOW_BYTES = 1 << 27  # memory that a compressed file may ask for; xz -9 asks for half of it


def compression_of(begin: bytes) -> str | None:
    """The compression of a file that begins with these bytes, or None."""
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), None)


def decompressed(raw: IO[bytes], compression: str | None) -> Any:
    """A stream of the decompressed bytes, as a context manager.

    The steps are compressed bytes that cannot become more than about 128 MiB at once, whatever they are.
    """
    if compression == "gzip":
        import zlib

        return _Frames(raw, lambda: zlib.decompressobj(31), step=1 << 16, padding=b"\0").buffered()
    if compression == "bz2":
        import bz2

        return _Frames(raw, bz2.BZ2Decompressor, step=1 << 12, padding=b"\0").buffered()
    if compression == "xz":
        import lzma

        begin = lambda: lzma.LZMADecompressor(memlimit=_WINDOW_BYTES)  # noqa: E731
        return _Frames(raw, begin, step=1 << 13, padding=b"\0").buffered()
    if compression == "zstd":
        zstandard = require("zstandard", "zstd")
        decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
        return _Frames(raw, decompressor.decompressobj, step=1 << 12).buffered()
    return contextlib.nullcontext(raw)


class _Frames(io.RawIOBase):
    """Frames (of gzip: members) decompressed one after the other; raises EOFError where one is cut short.

    Python's gzip reads eight times smaller pieces, its bz2 ends silently at a member whose header is damaged, its xz
    sets no limit to memory, zstandard's own stream ends silently where a file is cut short.
    """

    def __init__(self, raw: IO[bytes], begin: Callable[[], Any], step: int, padding: bytes = b"") -> None:
        self._raw, self._begin, self._step, self._padding = raw, begin, step, padding
        self._frame: Any = None
        self._left = memoryview(b"")

    def buffered(self) -> io.BufferedReader:
        return io.BufferedReader(self, 1 << 20)

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._left:
            part = self._raw.read(self._step)
            if not part:
                if self._frame is not None:
                    raise EOFError
                return 0
            self._left = memoryview(self._feed(part))
        n = min(len(target), len(self._left))
        target[:n], self._left = self._left[:n], self._left[n:]
        return n

    def _feed(self, part: bytes) -> bytes:
        out = []
        while part:
            if self._frame is None and not (part := part.lstrip(self._padding)):
                break
            self._frame = self._frame or self._begin()
            out.append(self._frame.decompress(part))
            part = b""
            if self._frame.eof:
                part, self._frame = self._frame.unused_data, None
        return out[0] if len(out) == 1 else b"".join(out)


@contextlib.contextmanager
def damaged(path: str) -> Iterator[None]:
    """Name the file when its bytes cannot be decompressed."""
    import gzip
    import lzma
    import zlib

    try:
        yield
    except EOFError as error:
        raise InputError(
            f"{path} ends in the middle of its compressed data: it was cut short; copy or download it again"
        ) from error
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise _damage(path, error) from error
    except OSError as error:
        if error.errno is None and error.strerror is None:  # bz2 reports damage as a bare OSError
            raise _damage(path, error) from error
        raise
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        raise _damage(path, error) from error


def _damage(path: str, error: Exception) -> InputError:
    if "emory" in str(error):  # what xz and zstd say of a window that is too large
        return InputError(
            f"{path} needs more than {_WINDOW_BYTES >> 20} MiB of memory to be decompressed; compress it again with "
            "the usual settings"
        )
    return InputError(f"{path} is damaged ({error}); copy or download it again")

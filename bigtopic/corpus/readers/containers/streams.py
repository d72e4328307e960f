"""Streams of bytes as readers see them: decompressed in bounded memory, and UTF-16 and UTF-32 as UTF-8.

Text in UTF-16 and UTF-32 is recognised by its mark or by its zero bytes.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any
from unicodedata import category

from bigtopic.errors import InputError, require

__all__ = [
    "BEGIN_BYTES",
    "as_utf8",
    "compression_of",
    "damaged",
    "decompressed",
    "read_up_to",
    "wide_encoding",
]

BEGIN_BYTES = 1 << 10
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}
_WINDOW_BYTES = 1 << 27  # memory that a compressed file may ask for; xz -9 asks for half of it
_STEP = 1 << 16
_FEWEST = 32  # bytes that show anything
_MARKS = {  # the longer ones first: one begins as another
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class _Pieces(io.RawIOBase):
    """The bytes that an iterator yields, as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        n = min(len(target), len(self._left))
        target[:n], self._left = self._left[:n], self._left[n:]
        return n


def read_up_to(stream: IO[bytes], limit: int) -> bytes:
    """The next bytes of a stream: `limit` of them, or fewer where it ends."""
    parts = []
    while limit and (part := stream.read(min(limit, 1 << 15))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def compression_of(begin: bytes) -> str | None:
    """The compression of a file that begins with these bytes, or None."""
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), None)


def decompressed(raw: IO[bytes], compression: str | None) -> Any:
    """A stream of the decompressed bytes, as a context manager.

    The steps are compressed bytes that cannot become more than about 128 MiB at once, whatever they are.
    """
    begin: Callable[[], Any]
    if compression is None:
        return contextlib.nullcontext(raw)
    if compression == "gzip":
        begin, step = lambda: zlib.decompressobj(31), 1 << 16
    elif compression == "bz2":
        import bz2

        begin, step = bz2.BZ2Decompressor, 1 << 12
    elif compression == "xz":
        import lzma

        begin, step = lambda: lzma.LZMADecompressor(memlimit=_WINDOW_BYTES), 1 << 13
    else:
        zstandard = require("zstandard", "zstd")
        begin, step = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).decompressobj, 1 << 12
    padding = b"" if compression == "zstd" else b"\0"
    return io.BufferedReader(_Pieces(_frames(raw, begin, step, padding)), 1 << 20)


def _frames(raw: IO[bytes], begin: Callable[[], Any], step: int, padding: bytes) -> Iterator[bytes]:
    """Frames (of gzip: members) decompressed one after the other; raises EOFError where one is cut short.

    Python's gzip reads eight times smaller pieces, its bz2 ends silently at a member whose header is damaged, its xz
    sets no limit to memory, zstandard's own stream ends silently where a file is cut short.
    """
    frame = None
    while part := raw.read(step):
        while part and (frame is not None or (part := part.lstrip(padding))):
            frame = frame or begin()
            yield frame.decompress(part)
            part = b""
            if frame.eof:
                part, frame = frame.unused_data, None
    if frame is not None:
        raise EOFError


@contextlib.contextmanager
def damaged(path: str) -> Iterator[None]:
    """Name the file when its bytes cannot be decompressed."""
    try:
        yield
    except EOFError as error:
        raise InputError(
            f"{path} ends in the middle of its compressed data: it was cut short; copy or download it again"
        ) from error
    except Exception as error:
        bare = isinstance(error, OSError) and error.errno is None and error.strerror is None  # as bz2 raises
        if not (bare or isinstance(error, zlib.error) or type(error).__name__ in ("LZMAError", "ZstdError")):
            raise
        if "emory" in str(error):  # what xz and zstd say of a window that is too large
            problem = (
                f"needs more than {_WINDOW_BYTES >> 20} MiB of memory to be decompressed; compress it again with the "
                "usual settings"
            )
        else:
            problem = f"is damaged ({error}); copy or download it again"
        raise InputError(f"{path} {problem}") from error


def wide_encoding(begin: bytes) -> str | None:
    """The encoding of text that begins with these bytes, up to `BEGIN_BYTES`; None if a character may be one byte.

    Without a mark, zero bytes at every second place tell UTF-16; or some of them, at blanks and line ends, if
    all is text in that reading and would not be text without them.
    """
    for mark, encoding in _MARKS.items():
        if begin.startswith(mark):
            return encoding
    zeros = begin[0::2].count(0), begin[1::2].count(0)
    if not any(zeros):
        return None
    encoding = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    if max(zeros) < len(begin) // 2 and (
        len(begin) < _FEWEST or _is_text(begin.replace(b"\0", b""), "utf-8")
    ):
        return None
    return encoding if _is_text(begin, encoding) else None


def _is_text(begin: bytes, encoding: str) -> bool:
    """Whether bytes, which may end in the middle of a character, have no control characters in this encoding."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(begin)
    except UnicodeDecodeError:
        return False
    return all(one in "\t\n\r\f" or category(one) not in ("Cc", "Cn", "Co") for one in text)


def as_utf8(stream: IO[bytes], encoding: str, path: str) -> IO[bytes]:
    """A stream of the same text in UTF-8.

    Raises
    ------
    InputError
        While reading, where the bytes are not text in this encoding.
    """
    return io.BufferedReader(_Pieces(_encoded(stream, encoding, path)), _STEP)


def _encoded(stream: IO[bytes], encoding: str, path: str) -> Iterator[bytes]:
    decoder, part = codecs.getincrementaldecoder(encoding)(), b"."
    while part:
        part = stream.read(_STEP)
        try:
            yield decoder.decode(part, final=not part).encode()
        except UnicodeError as error:
            raise InputError(
                f"{path} begins as {encoding.upper()} text, but not all of it is ({error}); "
                "get it again, or convert it to UTF-8 with iconv -c"
            ) from None

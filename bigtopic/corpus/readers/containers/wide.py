"""Text in UTF-16 and UTF-32: recognised by its mark or by its zero bytes, and read as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO
from unicodedata import category

from bigtopic.errors import InputError

__all__ = ["BEGIN_BYTES", "as_utf8", "wide_encoding"]

BEGIN_BYTES = 1 << 10
_STEP = 1 << 16
_FEWEST = 32  # bytes that show anything
_MARKS = {  # the longer ones first: one begins as another
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def wide_encoding(begin: bytes) -> str | None:
    """The encoding of text that begins with these bytes, up to `BEGIN_BYTES`; None if a character may be one byte.

    Without a mark, zero bytes at every second place tell UTF-16; or some of them, those of blanks and line ends, if
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
    return io.BufferedReader(_Utf8(stream, encoding, path), _STEP)


class _Utf8(io.RawIOBase):
    def __init__(self, stream: IO[bytes], encoding: str, path: str) -> None:
        self._stream, self._encoding, self._path = stream, encoding, path
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, target) -> int:
        while not self._left and not self._ended:
            part = self._stream.read(_STEP)
            self._ended = not part
            try:
                self._left = self._decoder.decode(part, final=self._ended).encode()
            except UnicodeError as error:
                raise InputError(
                    f"{self._path} begins as {self._encoding.upper()} text, but not all of it is ({error}); "
                    "get it again, or convert it to UTF-8 with iconv -c"
                ) from None
        n = min(len(target), len(self._left))
        target[:n], self._left = self._left[:n], self._left[n:]
        return n

"""Files of JSON whose documents are not one to a line: an array of them, or values written over several lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bigtopic.corpus.readers.base import DOCUMENT_BYTES, Chunk
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File
from bigtopic.corpus.readers.containers.pieces import pieces
from bigtopic.errors import InputError

__all__ = ["Layout", "ValueStream", "complete_lines", "layout_of", "values_of"]

_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?\s*+")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:(")|\\?\Z)|([\[\]{}])', re.DOTALL)
_BLANK = re.compile(r"\s*+")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Layout:
    """Where the values of a file begin, in bytes; `array`: they are the elements of one."""

    begin: int
    array: bool


def complete_lines(file: File) -> list[bytes]:
    """The lines at the beginning of a file; a first line of JSON that is longer than the sample is read whole."""
    lines = file.sample.removesuffix(b"\n").split(b"\n")
    if len(file.sample) < SAMPLE_BYTES:
        return lines
    if len(lines) > 1 or not lines[0].lstrip(b"\xef\xbb\xbf").startswith((b"{", b"[", b'"')):
        return lines[:-1] or lines
    return [file.first(DOCUMENT_BYTES + 1).partition(b"\n")[0]]


def layout_of(file: File) -> Layout | None:
    """The layout of a file that is an array, or values over several lines; None where a line is a value, or no JSON."""
    begin = _BEGIN.match(file.sample)
    assert begin is not None
    at = begin.end()
    opening = file.sample[at : at + 1]
    if opening == b"[":
        first = _value(file, at + 1)
        if isinstance(first, Mapping) or (first is not None and _is_array(file, first)):
            return Layout(at + 1, array=True)
    elif opening == b"{" and not _is_value(complete_lines(file)[0]) and _value(file, at) is not None:
        return Layout(at, array=False)
    return None


def _is_array(file: File, first: Any) -> bool:
    """Whether a list that begins with a text or a list is one of documents, rather than the first document."""
    lines = [line for line in complete_lines(file) if line.strip()]
    if not _is_value(lines[0]):
        return isinstance(first, str | list)
    elements = json.loads(lines[0].removeprefix(b"\xef\xbb\xbf"))
    if len(lines) > 1:
        return False
    if isinstance(first, str):
        return any(isinstance(text, str) and len(text.split()) > 1 for text in elements)
    return isinstance(first, list) and all(isinstance(word, str) for word in first)


def _is_value(line: bytes) -> bool:
    try:
        json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return False
    return True


def _value(file: File, at: int) -> Any:
    """The value that begins after some bytes of a file; None where there is none."""
    for read in (lambda: file.sample, lambda: file.first(DOCUMENT_BYTES)):
        data = read()
        text = data[at:].decode("utf-8", "replace").lstrip()
        try:
            return _decode(text)[0]
        except json.JSONDecodeError as error:
            cut = error.pos + 16 > len(text) or error.msg.startswith("Unterminated string")
            if not cut or len(data) < SAMPLE_BYTES:
                return None
        except (ValueError, RecursionError):  # an integer of thousands of digits
            return None
    return None


def _after_value(data: bytes, start: int = 0) -> tuple[int, int]:
    """The first end of a text, list or object after `start`, or -1; and how many are open there.

    `data` begins outside of all values; where an array is closed, the depth is -1.
    """
    depth = 0
    for token in _TOKEN.finditer(data):
        closed, bracket = token.groups()
        if bracket is not None:
            depth += 1 if bracket in b"[{" else -1
        if depth < 0:
            break
        if depth == 0 and token.end() > start and (closed or bracket):
            return token.end(), depth
    return -1, depth


@dataclass(frozen=True)
class ValueStream:
    """Chunks of whole values. An array must be closed, and nothing may follow it.

    whole : count the documents
    """

    file: File
    layout: Layout
    whole: bool = False

    def chunks(self) -> Iterator[Chunk]:
        last = b""
        for chunk in pieces(
            self.file, lambda data, start: _after_value(data, start)[0], begin=self.layout.begin, whole=True
        ):
            last = chunk.data
            n_docs = None
            if self.whole:
                text = chunk.data.decode("utf-8", "replace")
                n_docs = sum(1 for _ in values_of(text, self.layout.array, chunk.begins))
            yield replace(chunk, data=None if self.file.plain else chunk.data, n_docs=n_docs)
        if self.layout.array and _after_value(last, len(last))[1] >= 0:
            raise InputError(f"{self.file.path} ends inside its JSON array: it was cut short; get it again")


def values_of(text: str, array: bool, begins: bool) -> Iterator[tuple[int, Any]]:
    """The values in a chunk, and where each begins.

    Parameters
    ----------
    array : they are elements of an array, with a comma before each but the first
    begins : the chunk is the first of its file

    Raises
    ------
    ValueError, RecursionError
        As `json`.
    """
    at = _skip(text, 0)
    while at < len(text):
        if array and text[at] == "]":
            if (at := _skip(text, at + 1)) < len(text):
                raise json.JSONDecodeError("something follows the array", text, at)
            return
        if array and not begins:
            if text[at] != ",":
                raise json.JSONDecodeError("a comma is missing before an element", text, at)
            at = _skip(text, at + 1)
        value, end = _decode(text, at)
        yield at, value
        at, begins = _skip(text, end), False


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    assert blank is not None
    return blank.end()

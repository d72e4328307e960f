"""Cut a file into chunks at document boundaries, without parsing it. A chunk is at most `target + DOCUMENT_BYTES` long.

The search for a boundary starts every `target` bytes, and its place depends only on the bytes; so a plain file, a
compressed one and a remote one are cut at the same places.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import IO

import numpy as np

from bigtopic.corpus.readers.base import CHUNK_BYTES, DOCUMENT_BYTES, Chunk
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.streams import read_up_to
from bigtopic.errors import InputError
from bigtopic.support import buffers
from bigtopic.support.pools import Pool

__all__ = [
    "PieceStream",
    "after",
    "chunk_array",
    "chunk_bytes",
    "count_byte",
    "first_line",
    "newlines",
    "pieces",
    "too_long",
]

_STEP = 1 << 16
_BLOCK = 1 << 20  # bytes read at a time, ahead

Find = Callable[[bytes, int], int]
Count = Callable[[bytes], int]


def after(mark: bytes) -> Find:
    """What finds the end of the first match of a pattern after `start`, or -1 when the buffer does not reach so far."""
    pattern = re.compile(mark)

    def find(buffer: bytes, start: int) -> int:
        found = pattern.search(buffer, start)
        return found.end() if found else -1

    return find


_line_start = after(rb"\n")


def newlines(data: bytes) -> int:
    """Number of line feeds. Equivalent to `data.count`, which stops at each of them."""
    return count_byte(np.frombuffer(data, np.uint8), b"\n")


def pieces(
    file: File,
    find: Find = _line_start,
    *,
    begin: int = 0,
    n_shorter: int = 1,
    whole: bool = False,
    opened: Callable[[bytes], int] | None = None,
    ends: Count = newlines,
) -> Iterator[Chunk]:
    """Chunks of about `CHUNK_BYTES`.

    Parameters
    ----------
    find : (buffer, start) -> position in the buffer of the first boundary after start, or -1 when it needs more.
        Without `whole`, a plain file is not read between boundaries, and the buffer begins somewhere
        in a document.
    n_shorter : how many times shorter chunks are: where a second is not enough to parse one, Ctrl-C has to wait
    begin : bytes to leave out at the beginning (a header of whole lines)
    whole : yield every chunk with its bytes, for readers that look at all of them
    opened : buffer -> start of the unterminated cell in it, for the message
    ends : bytes -> how many lines end in them, for messages

    Raises
    ------
    InputError
        Naming the line of a document that is longer than `DOCUMENT_BYTES`.
    """
    target = CHUNK_BYTES // n_shorter
    if file.plain and not whole:
        yield from _seek(file, find, begin, target, ends)
    else:
        yield from _read(file, find, begin, target, opened or (lambda _: target), ends)


@dataclass(frozen=True)
class PieceStream:
    """The chunks of a file, as a stream.

    whole : count the documents
    count : bytes -> how many documents are in them
    find, n_shorter : see `pieces`
    independent : other streams may be read meanwhile
    """

    file: File
    whole: bool
    count: Count
    find: Find = _line_start
    n_shorter: int = 1
    independent: bool = False

    def chunks(self) -> Iterator[Chunk]:
        for chunk in pieces(self.file, self.find, n_shorter=self.n_shorter, whole=self.whole):
            if self.whole:
                data = None if self.file.plain else chunk.data
                yield replace(chunk, data=data, n_docs=self.count(chunk.data))
            else:
                yield chunk


def _seek(file: File, find: Find, begin: int, target: int, ends: Count) -> Iterator[Chunk]:
    start = begin
    while start < file.size:
        stop = _boundary(file, find, start + target, ends)
        yield Chunk(file.path, stop - start, start, stop, begins=start == begin)
        start = stop


def _boundary(file: File, find: Find, position: int, ends: Count) -> int:
    """The first boundary after `position`, or the end of the file."""
    with file.open_raw() as stream:
        stream.seek(position)
        buffer = b""
        while part := stream.read(min(max(_STEP, len(buffer)), DOCUMENT_BYTES + 1 - len(buffer))):
            buffer += part
            if (found := find(buffer, 0)) >= 0:
                break
        else:
            found = len(buffer)
    if found < 0 or found > DOCUMENT_BYTES:
        raise too_long(file, file.line_at(position, ends))
    return min(position + found, file.size)


def _read(
    file: File, find: Find, begin: int, target: int, opened: Callable[[bytes], int], ends: Count
) -> Iterator[Chunk]:
    start, line, done = begin, 1, 0
    with file.open_with_raw() as (stream, raw), closing(_ahead(stream)) as blocks:
        line += ends(read_up_to(stream, begin))
        buffer, ended = b"", False
        while not ended or buffer:
            # Read until there is a boundary after the target, or no more to read.
            cut = -1
            most = target + DOCUMENT_BYTES
            while not ended and (cut := find(buffer, target) if len(buffer) > target else -1) < 0:
                if len(buffer) > most:
                    break
                parts, missing = [buffer], max(_STEP, target + 1 - len(buffer)) + len(buffer) // 4
                while missing > 0 and (part := next(blocks, b"")):
                    parts.append(part)
                    missing -= len(part)
                buffer, ended = b"".join(parts), len(parts) == 1
            if (cut if cut >= 0 else len(buffer)) > most:
                raise too_long(file, line + ends(buffer[: max(0, opened(buffer))]))
            data, buffer = (buffer, b"") if cut < 0 else (buffer[:cut], buffer[cut:])
            if data:
                stop = start + len(data)
                now = raw.tell()  # progress counts bytes as stored
                yield Chunk(file.path, now - done, start, stop, data, line, begins=start == begin)
                line += ends(data)
                start, done = stop, now


def too_long(file: File, line: int) -> InputError:
    """The error for a document that does not end within `DOCUMENT_BYTES`."""
    return InputError(
        f"{file.path}, line {line}: a document is longer than {DOCUMENT_BYTES >> 20} MiB (DOCUMENT_BYTES), or a line "
        "or a quoted cell does not end; divide it into documents, or correct the file"
    )


def _ahead(stream: IO[bytes]) -> Generator[bytes, None, None]:
    """The bytes of a stream, read (and decompressed) in a separate thread, a few blocks ahead."""
    with Pool(1, "bigtopic-read") as pool:
        waiting = deque(pool.submit(stream.read, _BLOCK) for _ in range(4))
        while part := waiting.popleft().result():
            waiting.append(pool.submit(stream.read, _BLOCK))
            yield part


def count_byte(data: np.ndarray, byte: bytes) -> int:
    """How often a byte occurs in uint8 data. Equivalent to `bytes.count`, which stops at each of them."""
    value = byte[0]
    return sum(int(np.count_nonzero(data[at : at + _STEP] == value)) for at in range(0, len(data), _STEP))


def chunk_bytes(chunk: Chunk, file: File) -> bytes:
    """The bytes of a chunk, wherever they are."""
    return chunk.data if chunk.data is not None else file.read(chunk.start, chunk.stop)


def chunk_array(chunk: Chunk, file: File) -> np.ndarray:
    """The same as read-only uint8, for parsers."""
    if chunk.data is not None:
        return np.frombuffer(chunk.data, np.uint8)
    out = buffers.empty(chunk.stop - chunk.start, np.uint8)
    out = out[: file.fill(chunk.start, out)]
    out.flags.writeable = False
    return out


def first_line(chunk: Chunk, file: File, ends: Count = newlines) -> int:
    """Number of the chunk's first line in its file, from 1."""
    return chunk.first_line if chunk.first_line is not None else file.line_at(chunk.start, ends)

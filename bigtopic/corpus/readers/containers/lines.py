"""Files in which a line is a document: their lines, counted, decoded and sampled."""

from __future__ import annotations

import re
from codecs import lookup
from collections.abc import Callable, Iterator
from functools import partial

from bigtopic.corpus.readers.base import Chunk, Place
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.pieces import chunk_bytes, first_line, newlines, pieces
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.errors import InputError, argument

__all__ = [
    "all_lines",
    "check_encoding",
    "count_documents",
    "decode",
    "filled_lines",
    "lines_of",
    "sample_lines",
    "sample_matches",
]


def count_documents(data: bytes, skip: tuple[bytes, ...] | None = None) -> int:
    """Lines of a chunk; if `skip` is given, those that are not blank and do not start with one of its values."""
    lines = data.removesuffix(b"\n").split(b"\n")
    if skip is None:
        return len(lines)
    return sum(bool(line) and not line.startswith(skip) for line in map(bytes.strip, lines))


def check_encoding(file: File, settings: TextSettings) -> None:
    """Refuse a file in UTF-16 if the caller says that it is something else.

    Raises
    ------
    InputError
    """
    if file.wide and lookup(settings.encoding).name != "utf-8":
        raise InputError(
            f"{file.path} is {file.wide.upper()} text, not {argument('encoding', settings.encoding)}; leave "
            f"{argument('encoding')} out"
        )


def decode(
    data: bytes,
    settings: TextSettings,
    place: str,
    first: Callable[[], int] = lambda: 1,
    ends: Callable[[bytes], int] = newlines,
) -> str:
    """Text of some bytes; `first` says which line they begin in, `ends` counts the line ends in bytes.

    Raises
    ------
    InputError
        Naming file and line of bytes that are not text in this encoding.
    """
    try:
        return data.decode(settings.encoding, settings.encoding_errors)
    except UnicodeDecodeError as error:
        at = first() + ends(data[: error.start])
        raise InputError(
            f"{place}, line {at}: byte 0x{data[error.start]:02x} is not {settings.encoding} text; name the encoding "
            f"({argument('encoding', 'latin-1')}, say), or pass {argument('encoding_errors', 'replace')} to accept "
            "damaged characters"
        ) from None


def lines_of(chunk: Chunk, file: File, settings: TextSettings) -> list[str]:
    """Decoded lines of a chunk, without a byte-order mark and line ends."""
    text = decode(chunk_bytes(chunk, file), settings, chunk.name, partial(first_line, chunk, file))
    if chunk.begins:
        text = text.removeprefix("\ufeff")
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def all_lines(file: File) -> Iterator[str]:
    """The lines of a file in UTF-8."""
    for chunk in pieces(file):
        yield from lines_of(chunk, file, TextSettings())


def filled_lines(
    chunk: Chunk, file: File, settings: TextSettings, blank: str | None = None
) -> tuple[list[str], Place]:
    """The lines of a chunk that hold more than white space, or the characters of `blank`; and what names each."""
    numbered = [(i, line) for i, line in enumerate(lines_of(chunk, file, settings)) if line.strip(blank)]

    def place(i: int) -> str:
        return f"{chunk.name}, line {first_line(chunk, file) + numbered[i][0]}"

    return [line for _, line in numbered], place


def sample_lines(file: File, limit: int = 200) -> list[bytes]:
    """The first complete lines that hold anything but a comment."""
    lines = file.sample.split(b"\n")
    if len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")][:limit]


def sample_matches(file: File, pattern: re.Pattern[bytes]) -> list[re.Match[bytes]]:
    """The lines sampled, if each of them is of this pattern; else none."""
    found = [pattern.fullmatch(line.rstrip()) for line in sample_lines(file)]
    return [] if None in found else [line for line in found if line is not None]

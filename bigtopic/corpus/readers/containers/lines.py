"""Files in which a line is a document: streams of them and decoded lines."""

from __future__ import annotations

from codecs import lookup
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from bigtopic.corpus.readers.base import Chunk
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.pieces import chunk_bytes, first_line, newlines, pieces
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.errors import InputError, argument

__all__ = ["LineStream", "check_encoding", "decode", "lines_of", "sample_lines"]


@dataclass(frozen=True)
class LineStream:
    """Chunks of whole lines; `whole` counts the documents; if `skip` is given, blank lines and those that start with
    one of its values are skipped. `independent`: other streams may be read meanwhile."""

    file: File
    whole: bool = False
    skip: tuple[bytes, ...] | None = None
    independent: bool = False

    def chunks(self) -> Iterator[Chunk]:
        for chunk in pieces(self.file, whole=self.whole):
            if not self.whole:
                yield chunk
                continue
            n_docs = sum(map(self._is_document, split_lines(chunk.data)))
            yield replace(chunk, data=None if self.file.plain else chunk.data, n_docs=n_docs)

    def _is_document(self, line: bytes) -> bool:
        if self.skip is None:
            return True
        line = line.strip()
        return bool(line) and not line.startswith(self.skip)


def split_lines(data: bytes) -> list[bytes]:
    """Lines of a chunk; the newline that ends the last one begins no further line."""
    return (data[:-1] if data.endswith(b"\n") else data).split(b"\n")


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


def sample_lines(file: File, limit: int = 200) -> list[bytes]:
    """The first complete lines that hold anything but a comment."""
    lines = file.sample.split(b"\n")
    if len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")][:limit]

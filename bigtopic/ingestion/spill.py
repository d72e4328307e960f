"""Arrays in one scratch file each run: numbers as they are, strings as UTF-8 with offsets. Never pickled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.vocabulary import word_array
from bigtopic.errors import StoreError
from bigtopic.storage.local import store_errors
from bigtopic.storage.place import Place
from bigtopic.support import buffers

__all__ = ["Header", "Span", "Spilled", "read_once", "spill"]


class Span(NamedTuple):
    """Where an array is in its file: type ("string" or NumPy's), number of values, first byte, bytes of text."""

    dtype: str
    size: int
    offset: int
    text: int = 0


Header = Mapping[str, Span]


def spill(place: Place, arrays: Mapping[str, np.ndarray]) -> Header:
    """Write the arrays; the header returned finds them again."""
    pieces: list[Any] = []
    header: dict[str, Span] = {}
    offset = 0
    for name, values in arrays.items():
        if values.dtype.kind == "O":
            encoded = [text.encode() for text in values.tolist()]
            ends = np.zeros(len(encoded) + 1, np.int64)
            np.cumsum([len(text) for text in encoded], out=ends[1:])
            data: Any = ends.tobytes() + b"".join(encoded)
            header[name] = Span("string", len(values), offset, int(ends[-1]))
        else:
            data = np.ascontiguousarray(values).view(np.uint8)
            header[name] = Span(values.dtype.str, len(values), offset)
        pieces.append(data)
        offset += len(data)
    place.write(*pieces)
    return header


class Spilled:
    """A scratch file, open for reading: a context manager."""

    def __init__(self, place: Place, header: Header) -> None:
        self._place, self._header = place, header
        self._file: Any = None

    def __enter__(self) -> Spilled:
        if self._place.local:
            with store_errors("read", self._place.url):
                self._file = Path(self._place.url).open("rb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def read(self, name: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Values `start` to `stop` of an array."""
        span = self._header[name]
        stop = span.size if stop is None else stop
        if span.dtype == "string":
            return self._texts(span, start, stop) if stop > start else np.zeros(0, object)
        values = buffers.empty(max(0, stop - start), span.dtype)
        self.fill(name, start, values)
        return values

    def n_bytes(self, name: str, start: int, stop: int) -> int:
        """Bytes of the strings `start` to `stop` of an array, as UTF-8."""
        ends = self._ends(self._header[name], start, stop)
        return int(ends[-1] - ends[0])

    def fill(self, name: str, start: int, out: np.ndarray) -> None:
        """Values from `start` on of an array of numbers, as many as `out` takes."""
        span = self._header[name]
        assert out.dtype.str == span.dtype
        self._read(span.offset + start * out.itemsize, out.view(np.uint8))

    def _read(self, offset: int, out: np.ndarray) -> None:
        """Bytes of the file, into uint8."""
        if not len(out):
            return
        if self._file is None:
            out[:] = np.frombuffer(self._place.read(offset, offset + len(out)), np.uint8)
            return
        self._file.seek(offset)
        done = 0
        while done < len(out):
            n_read = self._file.readinto(out.data[done:])
            if not n_read:
                raise StoreError(f"{self._place.url} was cut short; scratch files must not be touched")
            done += n_read

    def _ends(self, span: Span, start: int, stop: int) -> np.ndarray:
        ends = np.empty(stop - start + 1, np.int64)
        self._read(span.offset + 8 * start, ends.view(np.uint8))
        return ends

    def _texts(self, span: Span, start: int, stop: int) -> np.ndarray:
        ends = self._ends(span, start, stop)
        data = np.empty(ends[-1] - ends[0], np.uint8)
        self._read(span.offset + 8 * (span.size + 1) + int(ends[0]), data)
        text, cuts = data.tobytes(), (ends - ends[0]).tolist()
        if text.isascii():  # where characters are bytes, one decoding is several times faster
            whole = text.decode()
            return word_array([whole[a:b] for a, b in pairwise(cuts)])
        return word_array([text[a:b].decode() for a, b in pairwise(cuts)])


@lru_cache(maxsize=1)
def read_once(place: Place, span: Span) -> np.ndarray:
    """An array of a scratch file, kept for the next task of this process."""
    with Spilled(place, {"": span}) as spilled:
        return spilled.read("")

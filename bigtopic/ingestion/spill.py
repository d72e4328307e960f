"""Arrays in one scratch file each run: numbers as they are, strings as UTF-8 with offsets. Never pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.blocks import offsets
from bigtopic.corpus.vocabulary import word_array
from bigtopic.errors import StoreError
from bigtopic.storage.local import store_errors
from bigtopic.storage.place import Place
from bigtopic.support import buffers

__all__ = ["Spilled", "spill"]


class Span(NamedTuple):
    """Where an array is in its file: type ("string" or NumPy's), number of values, first byte, bytes of text."""

    dtype: str
    size: int
    offset: int
    text: int = 0


@dataclass(frozen=True)
class Spilled:
    """Arrays in a scratch file, read wherever this is sent.

    place : the file; spans : where each array is in it
    """

    place: Place
    spans: Mapping[str, Span]

    def __contains__(self, name: str) -> bool:
        return name in self.spans

    def read_once(self, name: str) -> np.ndarray:
        """An array, kept for the next task of this process."""
        return _read_once(self.place, self.spans[name])

    def read(self, name: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Values `start` to `stop` of an array."""
        span = self.spans[name]
        stop = span.size if stop is None else stop
        if span.dtype == "string":
            return self._texts(span, start, stop) if stop > start else np.zeros(0, object)
        values = buffers.empty(max(0, stop - start), span.dtype)
        self.fill(name, start, values)
        return values

    def n_bytes(self, name: str, start: int, stop: int) -> int:
        """Bytes of the strings `start` to `stop` of an array, as UTF-8."""
        ends = self._ends(self.spans[name], start, stop)
        return int(ends[-1] - ends[0])

    def fill(self, name: str, start: int, out: np.ndarray) -> None:
        """Values from `start` on of an array of numbers, as many as `out` takes."""
        span = self.spans[name]
        assert out.dtype.str == span.dtype
        self._read(span.offset + start * out.itemsize, out.view(np.uint8))

    def _read(self, offset: int, out: np.ndarray) -> None:
        """Bytes of the file, into uint8."""
        with store_errors("read", self.place.url):
            if self.place.read_at(offset, out.data) < len(out):
                raise StoreError(f"{self.place.url} was cut short; scratch files must not be touched")

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


def spill(place: Place, arrays: Mapping[str, np.ndarray]) -> Spilled:
    """Write the arrays to a file."""
    pieces: list[Any] = []
    spans: dict[str, Span] = {}
    offset = 0
    for name, values in arrays.items():
        if values.dtype.kind == "O":
            encoded = [text.encode() for text in values.tolist()]
            ends = offsets(np.array([len(text) for text in encoded], np.int64))
            data: Any = ends.tobytes() + b"".join(encoded)
            spans[name] = Span("string", len(values), offset, int(ends[-1]))
        else:
            data = np.ascontiguousarray(values).view(np.uint8)
            spans[name] = Span(values.dtype.str, len(values), offset)
        pieces.append(data)
        offset += len(data)
    place.write(*pieces)
    return Spilled(place, spans)


@lru_cache(maxsize=1)
def _read_once(place: Place, span: Span) -> np.ndarray:
    return Spilled(place, {"": span}).read("")

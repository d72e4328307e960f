"""Arrays in one scratch file each run: numbers as they are, strings as UTF-8 with offsets. Never pickled."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bigtopic.corpus.storage import Place
from bigtopic.corpus.vocabulary import word_array

__all__ = ["Header", "Span", "read_spilled", "spill"]


class Span(NamedTuple):
    """Where an array is in its file: type ("string" or NumPy's), number of values, first byte, bytes of text."""

    dtype: str
    size: int
    offset: int
    text: int = 0


Header = Mapping[str, Span]


def spill(place: Place, arrays: Mapping[str, np.ndarray]) -> Header:
    """Write the arrays; the header returned finds them again."""
    pieces: list[bytes] = []
    header: dict[str, Span] = {}
    offset = 0
    for name, values in arrays.items():
        if values.dtype.kind == "O":
            encoded = [text.encode() for text in values.tolist()]
            ends = np.zeros(len(encoded) + 1, np.int64)
            np.cumsum([len(text) for text in encoded], out=ends[1:])
            data = ends.tobytes() + b"".join(encoded)
            header[name] = Span("string", len(values), offset, int(ends[-1]))
        else:
            data = values.tobytes()
            header[name] = Span(values.dtype.str, len(values), offset)
        pieces.append(data)
        offset += len(data)
    place.write(b"".join(pieces))
    return header


def read_spilled(
    place: Place, header: Header, name: str, start: int = 0, stop: int | None = None
) -> np.ndarray:
    """Values `start` to `stop` of an array."""
    span = header[name]
    stop = span.size if stop is None else stop
    if stop <= start:
        return np.zeros(0, object if span.dtype == "string" else span.dtype)
    if span.dtype == "string":
        return _read_text(place, span, start, stop)
    width = np.dtype(span.dtype).itemsize
    return np.frombuffer(
        place.read(span.offset + start * width, span.offset + stop * width), dtype=span.dtype
    )


def _read_text(place: Place, span: Span, start: int, stop: int) -> np.ndarray:
    offsets = place.read(span.offset + 8 * start, span.offset + 8 * (stop + 1))
    ends = np.frombuffer(offsets, np.int64)
    first = span.offset + 8 * (span.size + 1)
    data = place.read(first + int(ends[0]), first + int(ends[-1])) if ends[-1] > ends[0] else b""
    cuts = (ends - ends[0]).tolist()
    return word_array([data[a:b].decode() for a, b in pairwise(cuts)])

"""Arrays on disk whose rows are read and written by range, by several threads and processes at once, without locks.

A Zarr v3 array of uncompressed chunks of one length: where a row lies follows from its number, so writers of different
rows touch different bytes of the files. Any Zarr reader opens it. A range costs one open file for each chunk, some
tens of microseconds, and what the system takes to copy it. Chunks lie beside the metadata, because a folder can take
milliseconds to remove.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from bigtopic.errors import CorpusDamaged
from bigtopic.storage.place import Place
from bigtopic.storage.zarr_metadata import ROOT, chunk_numbers

__all__ = ["DTYPES", "RowArray"]

DTYPES = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float32",
    "float64",
    "bool",
)
CHUNK_BYTES = 1 << 24


@dataclass(frozen=True)
class RowArray:
    """An array (n_rows, \\*row_shape) at a place.

    Parameters
    ----------
    place : a folder of this machine
    n_rows, row_shape : the shape is (n_rows, \\*row_shape)
    dtype : NumPy's name
    fill : value of the rows of chunks that were never written; in a chunk that was, rows not written are 0
    remedy : what messages advise when a chunk is missing or cut short
    """

    place: Place
    n_rows: int
    dtype: str
    row_shape: tuple[int, ...] = ()
    fill: float = 0
    remedy: str = ""

    @property
    def nbytes(self) -> int:
        """On disk, when all rows are written."""
        return -(-self.n_rows // self._chunk_rows) * self._chunk_bytes

    @property
    def exists(self) -> bool:
        """Whether it was created."""
        return (self.place / ROOT).exists()

    @property
    def _row_bytes(self) -> int:
        return np.dtype(self.dtype).itemsize * prod(self.row_shape)

    @property
    def _chunk_rows(self) -> int:
        return max(1, min(self.n_rows, CHUNK_BYTES // max(1, self._row_bytes)))

    @property
    def _chunk_bytes(self) -> int:
        return self._chunk_rows * self._row_bytes

    def create(self) -> None:
        """Write the metadata; rows may follow in any order. Safe to repeat: every call writes the same bytes."""
        dtype = np.dtype(self.dtype)
        endian = {"configuration": {"endian": "little"}} if dtype.itemsize > 1 else {}
        metadata = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [self.n_rows, *self.row_shape],
            "data_type": dtype.name,
            "chunk_grid": _configured("regular", chunk_shape=[self._chunk_rows, *self.row_shape]),
            "chunk_key_encoding": _configured("default", separator="."),
            "fill_value": dtype.type(self.fill).item(),
            "codecs": [{"name": "bytes", **endian}],
            "attributes": {},
        }
        (self.place / ROOT).write(json.dumps(metadata).encode())

    def clear(self) -> None:
        """Forget all rows, but keep the files: reading a row that is not written again is an error, or gives 0."""
        for number in range(-(-self.n_rows // self._chunk_rows)):
            self._chunk(number).write()

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows start:stop, (stop - start, \\*row_shape).

        Raises
        ------
        CorpusDamaged
            When a chunk is missing, or cut short.
        """
        out = np.empty((stop - start, *self.row_shape), np.dtype(self.dtype).newbyteorder("<"))
        for number, first, rows in self._pieces(start, stop):
            memory = out[rows].reshape(-1).view(np.uint8).data
            chunk = self._chunk(number)
            try:
                n_read = chunk.read_at(first * self._row_bytes, memory)
            except (FileNotFoundError, NotADirectoryError) as error:
                raise CorpusDamaged(f"{chunk.url} is missing; {self.remedy}") from error
            if n_read < len(memory):
                raise CorpusDamaged(f"{chunk.url} is cut short; {self.remedy}")
        return out.astype(self.dtype, copy=False)

    def write(self, start: int, values: np.ndarray) -> None:
        """Write rows from `start` on.

        Raises
        ------
        StoreError
            When the disk is full, or the system refuses the file for another reason.
        """
        assert values.shape[1:] == self.row_shape, f"{self.place.url}: rows of {values.shape[1:]}"
        data = np.ascontiguousarray(values, np.dtype(self.dtype).newbyteorder("<"))
        for number, first, rows in self._pieces(start, start + len(values)):
            memory = data[rows].reshape(-1).view(np.uint8).data
            self._chunk(number).write_at(first * self._row_bytes, memory, self._chunk_bytes)

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, slice]]:
        """For each chunk of a range: its number, the first row in it, and which rows of the range it holds."""
        assert 0 <= start <= stop <= self.n_rows, f"{self.place.url}: rows {start}:{stop} of {self.n_rows}"
        size = self._chunk_rows
        for number in chunk_numbers(start, stop, size) if self._row_bytes else ():
            first, last = max(start, number * size), min(stop, (number + 1) * size)
            yield number, first - number * size, slice(first - start, last - start)

    def _chunk(self, number: int) -> Place:
        return self.place / (f"c.{number}" + ".0" * len(self.row_shape))


def _configured(name: str, **configuration: object) -> dict[str, object]:
    return {"name": name, "configuration": configuration}

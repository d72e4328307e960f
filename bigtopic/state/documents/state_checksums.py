"""Checksums of document state: a file that was edited or damaged is noticed when it is read, before a kernel sees it.

Each document has a record: which documents were written together with it, first to last, and the CRC-32C of what was
written of them in each array. Slices that are cut otherwise read what was written together, check that, and keep their
part of it. About 8 GB/s, and 12 bytes on disk for each document and pass, where one array is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import google_crc32c
import numpy as np

from bigtopic.errors import CorpusDamaged
from bigtopic.storage.place import Place
from bigtopic.storage.row_arrays import RowArray

__all__ = ["Checksums", "WrittenSpan", "checksum"]


@dataclass(frozen=True)
class WrittenSpan:
    """Documents start:stop, which were written together; `sums` has the checksum of each array's rows."""

    start: int
    stop: int
    sums: tuple[int, ...]


@dataclass(frozen=True)
class Checksums:
    """The records of a part's documents, in files.

    Parameters
    ----------
    place : of the array of records
    n_docs : of the part
    n_arrays : number of arrays that are remembered
    remedy : what messages advise
    """

    place: Place
    n_docs: int
    n_arrays: int
    remedy: str

    @property
    def records(self) -> RowArray:
        """uint32 (n_docs, 2 + n_arrays): start and stop of the span, and its checksums."""
        return RowArray(self.place, self.n_docs, "uint32", (2 + self.n_arrays,), remedy=self.remedy)

    def write(self, span: WrittenSpan) -> None:
        """Record that documents were written."""
        record = np.array([span.start, span.stop, *span.sums], np.uint32)
        self.records.write(span.start, np.tile(record, (span.stop - span.start, 1)))

    def spans(self, start: int, stop: int) -> list[WrittenSpan]:
        """What was written together with documents start:stop, in order.

        Raises
        ------
        CorpusDamaged
            When the records are missing, or do not say it.
        """
        records = self.records.read(start, stop)
        new = np.append(True, (records[1:] != records[:-1]).any(axis=1))[: len(records)]
        spans = [WrittenSpan(first, last, tuple(sums)) for first, last, *sums in records[new].tolist()]
        if not self._cover(spans, start, stop):
            raise CorpusDamaged(
                f"{self.place.url} does not say what was written of documents {start} to {stop}; {self.remedy}"
            )
        return spans

    def _cover(self, spans: Sequence[WrittenSpan], start: int, stop: int) -> bool:
        """Whether the spans follow each other, from `start` or before to `stop` or beyond."""
        if not spans:
            return start == stop
        firsts, lasts = [span.start for span in spans], [span.stop for span in spans]
        in_turn = all(first < last for first, last in zip(firsts, lasts, strict=True))
        return (
            in_turn and firsts[1:] == lasts[:-1] and firsts[0] <= start and stop <= lasts[-1] <= self.n_docs
        )


def checksum(rows: np.ndarray, bound_to: str) -> int:
    """CRC-32C of a text, which says whose rows they are, followed by rows as they are on disk."""
    data = np.ascontiguousarray(rows, rows.dtype.newbyteorder("<")).reshape(-1)
    return int(google_crc32c.extend(google_crc32c.value(bound_to.encode()), data.view(np.uint8)))

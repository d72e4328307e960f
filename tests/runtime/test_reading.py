"""Units of the corpus are read once, a little ahead, by any number of threads."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bigtopic.errors import CorpusDamaged
from bigtopic.runtime.reading import UnitReader
from bigtopic.runtime.slices import SliceRef
from bigtopic.types import Block


class SpyPart:
    """Documents of one word each, whose id is the document's number; counts what is read."""

    def __init__(self, n_docs: int, seconds: float = 0.0, damaged: tuple[int, ...] = ()) -> None:
        self.n_docs, self._seconds, self._damaged = n_docs, seconds, damaged
        self.reads: Counter = Counter()
        self._lock = threading.Lock()

    def read(self, start: int, stop: int) -> Block:
        with self._lock:
            self.reads[start, stop] += 1
        time.sleep(self._seconds)
        if start in self._damaged:
            raise CorpusDamaged(f"unit {start}")
        rows = np.arange(start, stop)
        indptr = np.arange(stop - start + 1)
        return Block(indptr, rows.astype(np.int32), np.ones(len(rows), np.float32), rows)


def ref(start: int, stop: int, unit: int = 10, part: int = 0) -> SliceRef:
    first = start // unit * unit
    return SliceRef(part, start, stop, first, first + unit)


def test_a_slice_is_its_own_documents():
    reader = UnitReader([SpyPart(100)])
    np.testing.assert_array_equal(reader.block(ref(23, 27)).rows, [23, 24, 25, 26])
    reader.close()


def test_threads_share_one_reading_of_a_unit():
    part = SpyPart(100, seconds=0.005)
    reader = UnitReader([part])
    slices = [ref(start, start + 1) for start in range(100)]
    with ThreadPoolExecutor(8) as pool:
        for unit in {one.unit for one in slices}:
            pool.submit(reader.prefetch, unit)
        blocks = list(pool.map(reader.block, slices))
    np.testing.assert_array_equal(np.concatenate([block.rows for block in blocks]), np.arange(100))
    assert set(part.reads.values()) == {1} and len(part.reads) == 10
    reader.close()


@pytest.mark.parametrize("keep_all", [False, True])
def test_the_newest_units_are_kept_or_all(keep_all):
    part = SpyPart(1000)
    reader = UnitReader([part], keep_all=keep_all)
    for start in range(0, 100, 10):
        reader.block(ref(start, start + 5))
    reader.block(ref(90, 95))
    reader.block(ref(70, 75))
    reader.block(ref(0, 5))
    assert part.reads[90, 100] == part.reads[70, 80] == 1
    assert part.reads[0, 10] == (1 if keep_all else 2)
    assert len(reader._units) == (10 if keep_all else 3)
    reader.close()


def test_what_was_read_ahead_stays_until_it_is_used():
    part = SpyPart(1000)
    reader = UnitReader([part])
    for start in range(0, 100, 10):
        reader.prefetch(ref(start, start + 5).unit)
    for start in range(0, 100, 10):
        assert reader.block(ref(start, start + 5)).n_docs == 5
    assert set(part.reads.values()) == {1}
    reader.prefetch(ref(100, 105).unit)
    assert len(reader._units) == 3
    reader.close()


def test_a_failure_in_the_background_is_raised_where_the_unit_is_needed():
    reader = UnitReader([SpyPart(100, damaged=(20,))])
    reader.prefetch(ref(20, 25).unit)
    reader.prefetch(ref(30, 35).unit)
    assert reader.block(ref(30, 35)).n_docs == 5
    with pytest.raises(CorpusDamaged, match="unit 20"):
        reader.block(ref(20, 25))
    reader.close()


def test_a_reader_without_a_background_reads_when_asked():
    part = SpyPart(100)
    reader = UnitReader([part], ahead=0)
    reader.prefetch(ref(0, 5).unit)
    assert not part.reads
    assert reader.block(ref(0, 5)).n_docs == 5
    reader.close()

"""Read blocks of the corpus are read once, a little ahead, by any number of threads."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from bigtopic.errors import CorpusDamaged
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import SliceRef
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
            raise CorpusDamaged(f"read block {start}")
        rows = np.arange(start, stop)
        indptr = np.arange(stop - start + 1)
        return Block(indptr, rows.astype(np.int32), np.ones(len(rows), np.float32), rows)


def ref(start: int, stop: int, read_block: int = 10, part: int = 0) -> SliceRef:
    first = start // read_block * read_block
    return SliceRef(part, start, stop, first, first + read_block)


def test_a_slice_is_its_own_documents():
    reader = BlockReader([SpyPart(100)])
    np.testing.assert_array_equal(reader.block(ref(23, 27)).rows, [23, 24, 25, 26])
    reader.close()


def test_threads_share_one_reading_of_a_read_block():
    part = SpyPart(100, seconds=0.005)
    reader = BlockReader([part])
    slices = [ref(start, start + 1) for start in range(100)]
    with ThreadPoolExecutor(8) as pool:
        for read_block in {one.read_block for one in slices}:
            pool.submit(reader.prefetch, read_block)
        blocks = list(pool.map(reader.block, slices))
    np.testing.assert_array_equal(np.concatenate([block.rows for block in blocks]), np.arange(100))
    assert set(part.reads.values()) == {1} and len(part.reads) == 10
    reader.close()


@pytest.mark.parametrize("keep_all", [False, True])
def test_the_newest_read_blocks_are_kept_or_all(keep_all):
    part = SpyPart(1000)
    reader = BlockReader([part], keep_all=keep_all)
    for start in range(0, 100, 10):
        reader.block(ref(start, start + 5))
    reader.block(ref(90, 95))
    reader.block(ref(70, 75))
    reader.block(ref(0, 5))
    assert part.reads[90, 100] == part.reads[70, 80] == 1
    assert part.reads[0, 10] == (1 if keep_all else 2)
    assert len(reader._read_blocks) == (10 if keep_all else 3)
    reader.close()


def test_what_was_read_ahead_stays_until_it_is_used():
    part = SpyPart(1000)
    reader = BlockReader([part])
    for start in range(0, 100, 10):
        reader.prefetch(ref(start, start + 5).read_block)
    for start in range(0, 100, 10):
        assert reader.block(ref(start, start + 5)).n_docs == 5
    assert set(part.reads.values()) == {1}
    reader.prefetch(ref(100, 105).read_block)
    assert len(reader._read_blocks) == 3
    reader.close()


def test_a_failure_in_the_background_is_raised_where_the_read_block_is_needed():
    reader = BlockReader([SpyPart(100, damaged=(20,))])
    reader.prefetch(ref(20, 25).read_block)
    reader.prefetch(ref(30, 35).read_block)
    assert reader.block(ref(30, 35)).n_docs == 5
    with pytest.raises(CorpusDamaged, match="read block 20"):
        reader.block(ref(20, 25))
    reader.close()


def test_where_no_thread_can_be_had_nobody_waits_for_ever(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    reader = BlockReader([SpyPart(100)])
    monkeypatch.setattr(reader._pool, "submit", refuse)
    with pytest.raises(RuntimeError):
        reader.prefetch(ref(20, 25).read_block)
    future, _ = reader._claim(ref(20, 25).read_block)
    assert isinstance(future.exception(timeout=0), RuntimeError)
    reader.close()


def test_ctrl_c_after_the_background_has_read_is_raised(monkeypatch):
    reader = BlockReader([SpyPart(10)])
    assert reader._pool is not None
    submit = reader._pool.submit

    def interrupted(*args: Any) -> None:
        submit(*args).result()
        raise KeyboardInterrupt

    monkeypatch.setattr(reader._pool, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reader.prefetch((0, 0, 10))
    np.testing.assert_array_equal(reader.block(ref(2, 4)).rows, [2, 3])
    reader.close()


def test_a_reader_without_a_background_reads_when_asked():
    part = SpyPart(100)
    reader = BlockReader([part], ahead=0)
    reader.prefetch(ref(0, 5).read_block)
    assert not part.reads
    assert reader.block(ref(0, 5)).n_docs == 5
    reader.close()

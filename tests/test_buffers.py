"""Memory is used again only when nobody refers to it."""

from __future__ import annotations

import mmap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bigtopic import buffers


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_memory_in_use_is_not_handed_out():
    first = buffers.empty((1000, 100), np.float32)
    first[:] = 7
    second = buffers.empty((1000, 100), np.float32)
    second[:] = 8
    assert not np.shares_memory(first, second)
    assert (first == 7).all()


def test_a_view_keeps_its_memory():
    buffers.clear()
    array = buffers.empty((1000, 100), np.float32)
    where = address(array)
    view = array[3:, ::2].T
    del array
    assert address(buffers.empty((1000, 100), np.float32)) != where
    del view
    assert address(buffers.empty((900, 110), np.float32)) == where


def test_rows_begin_at_cache_lines_and_shapes_are_those_asked_for():
    array = buffers.zeros((777, 48), np.float64)
    assert array.shape == (777, 48) and array.dtype == np.float64 and array.flags.c_contiguous
    assert address(array) % 64 == 0 and not array.any()
    assert buffers.empty(5, np.int32).shape == (5,)
    assert buffers.zeros((0, 16), np.float32).shape == (0, 16)


def test_numbers_of_numpy_do_not_overflow_in_a_shape():
    shape = (np.int8(100), np.int8(100))
    assert buffers.empty(shape, np.float32).shape == (100, 100)


def test_zeros_are_zeros_in_used_memory():
    buffers.clear()
    array = buffers.empty(100_000, np.float32)
    array[:] = 1
    where = address(array)
    del array
    again = buffers.zeros(100_000, np.float32)
    assert address(again) == where and not again.any()


def test_small_needs_do_not_pin_large_memory():
    large = buffers.empty(10_000_000, np.uint8)
    where = address(large)
    del large
    assert address(buffers.empty(100_000, np.uint8)) != where
    buffers.clear()


def test_memory_that_another_thread_uses_is_not_handed_out():
    here = address(buffers.empty(100_000, np.uint8))
    there: list[int] = []
    kept: list[np.ndarray] = [buffers.empty(100_000, np.uint8)]

    def work() -> None:
        kept.append(buffers.empty(100_000, np.uint8))
        there.append(address(kept[1]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert address(kept[0]) == here != there[0]
    kept[1][:] = 1  # lives on when its thread is gone


def test_memory_that_another_thread_does_not_use_is_handed_out():
    buffers.clear()
    array = buffers.empty(3_000_000, np.uint8)
    where = address(array)
    del array
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(buffers.empty, 3_000_000, np.uint8).result()
        assert address(there) == where
        assert address(buffers.empty(3_000_000, np.uint8)) != where


def test_threads_that_find_the_same_memory_get_different_memory(monkeypatch):
    buffers.clear()
    buffers.empty(3_000_000, np.uint8)
    both_found = threading.Barrier(2, timeout=60)

    def unused(memory: np.ndarray) -> int:
        both_found.wait()
        return buffers.UNUSED

    monkeypatch.setattr(buffers, "sys", SimpleNamespace(getrefcount=unused))
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(buffers.empty, [3_000_000] * 2, [np.uint8] * 2)
    assert not np.shares_memory(one, other)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads how much memory the process has")
def test_memory_that_is_not_kept_goes_back_to_the_system():
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    before = resident()
    array = buffers.empty((5, 1 << 20), np.float32, kept=False)
    array[:] = 1
    assert array.ctypes.data % buffers.LINE == 0
    assert resident() - before > 0.9 * array.nbytes
    del array
    assert resident() - before < 0.1 * (20 << 20)
    assert buffers.empty((0, 3), np.float64, kept=False).shape == (0, 3)

"""Memory is used again only when nobody refers to it."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bigtopic.support import buffers


@pytest.fixture(autouse=True)
def no_memory_of_other_tests(monkeypatch):
    buffers._collect()
    monkeypatch.setattr(buffers, "_unused", [])
    monkeypatch.setattr(buffers, "_resting", [])


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
    array = buffers.empty((1000, 100), np.float32)
    where = address(array)
    view = array[3:, ::2].T
    del array
    assert address(buffers.empty((1000, 100), np.float32)) != where
    del view
    assert address(buffers.empty((900, 110), np.float32)) == where


@pytest.mark.parametrize(
    "view", [np.asarray, np.transpose, lambda array: array[3:][::2], lambda array: memoryview(array)[1:]]
)
def test_whatever_refers_to_an_array_keeps_its_memory(view):
    array = buffers.empty((1000, 100), np.float32)
    where, kept = address(array), view(view(array))
    del array
    assert address(buffers.empty((1000, 100), np.float32)) != where
    del kept
    assert address(buffers.empty((1000, 100), np.float32)) == where


def test_a_view_of_a_lease_does_not_end_it():
    array = buffers.empty((1000, 100), np.float32)
    where = address(array)
    assert len(array.base[1:].copy()) and not array.base.max() < 0
    assert address(buffers.empty((1000, 100), np.float32)) != where


def test_arrays_that_outlive_the_package_end_quietly():
    code = (
        "import builtins; from bigtopic.support import buffers; builtins.kept = buffers.empty((1000, 100), 'f4'); "
        "import sys; [setattr(sys.modules['bigtopic.support.buffers'], n, None) for n in ('_ended', '_Piece')]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stderr


def test_unused_memory_is_given_back_where_there_is_no_other(monkeypatch):
    arrays = [buffers.empty(n, np.uint8) for n in (1_000_000, 6_000_000)]
    del arrays
    aligned, asked = buffers._aligned, []

    def scarce(size: int) -> np.ndarray:
        asked.append(len(buffers._unused))
        if asked[-1]:
            raise MemoryError
        return aligned(size)

    monkeypatch.setattr(buffers, "_aligned", scarce)
    assert buffers.empty(20_000_000 * 2, np.uint8).nbytes and asked == [2, 0]


def test_arrays_are_plain():
    array = buffers.zeros((1000, 100), np.float32)
    assert type(array) is np.ndarray and type(array[3:]) is np.ndarray and type(array + 1) is np.ndarray
    assert type(buffers.empty(3, np.float32)) is np.ndarray


def test_there_are_no_more_pieces_than_were_in_use_at_once():
    rng = np.random.default_rng(0)
    for _ in range(300):
        arrays = [buffers.empty(int(n), np.uint8) for n in rng.integers(100_000, 200_000, 3)]
        del arrays
    buffers._collect()
    assert len(buffers._unused) <= 2 * 3  # of the smaller, which do not have room for the larger


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
    array = buffers.empty(3_000_000, np.uint8)
    where = address(array)
    del array
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(buffers.empty, 3_000_000, np.uint8).result()
        assert address(there) == where
        assert address(buffers.empty(3_000_000, np.uint8)) != where


def test_memory_rests_for_the_next_run_whichever_thread_had_it():
    array = buffers.empty(3_000_000, np.uint8)
    where = address(array)
    with ThreadPoolExecutor(1) as pool:
        there = address(pool.submit(buffers.empty, 2_000_000, np.uint8).result())
        del array
        buffers.rest()
    again = [buffers.empty(n, np.uint8) for n in (3_000_000, 2_000_000)]
    assert [address(array) for array in again] == [where, there]


def test_memory_in_use_does_not_rest():
    array = buffers.empty(3_000_000, np.uint8)
    buffers.rest()
    assert not np.shares_memory(array, buffers.empty(3_000_000, np.uint8))


def test_what_rests_is_the_largest_that_there_is_room_for(monkeypatch):
    monkeypatch.setattr(buffers, "RESTING", 9_900_000)
    arrays = [buffers.empty(n, np.uint8) for n in (1_000_000, 8_500_000, 5_000_000, 2_000_000)]
    del arrays
    buffers.rest()
    assert resting() == [pytest.approx(1.25 * n, abs=100) for n in (2_000_000, 5_000_000)]


def test_fresh_memory_takes_the_place_of_what_rests():
    arrays = [buffers.empty(n, np.uint8) for n in (1_000_000, 2_000_000, 3_000_000)]
    del arrays
    buffers.rest()
    large = buffers.empty(2_600_000 * 4, np.uint8)
    assert resting() == [] and large.nbytes == 10_400_000


def resting() -> list[int]:
    return [piece.nbytes for piece in buffers._resting]


def test_threads_at_work_never_have_the_same_memory():
    def work(number: int) -> bool:
        same = True
        for i in range(300):
            mine = [buffers.empty(100_000 + 1000 * (i % 7), np.uint8) for _ in range(3)]
            for array in mine:
                array[:: 1 << 10] = number
            same &= all((array[:: 1 << 10] == number).all() for array in mine)
        return same

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(4)))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_process_that_is_forked_while_a_thread_looks_for_memory_finds_some():
    with buffers._looking:
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            buffers.empty(3_000_000, np.uint8)
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


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

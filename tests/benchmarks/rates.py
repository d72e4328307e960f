"""What this machine does at most: nanoseconds per multiply-add, random number, choice of a topic and streamed number.

Each function returns one that measures once more; the smallest of its figures counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from bigtopic.kernels.support.lanes import is_reached, n_reached, running
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import SHIFT
from bigtopic.kernels.support.vector import LANES, load, spread, store, total

STEP = np.uint64(LANES)
CHAINS = 6  # of vectors of 16, so 12 of 8


@njit(nogil=True)
def _multiply_adds(start, repeats):
    a, b, c = load(start, 0), load(start, LANES), load(start, 2 * LANES)
    d, e, f = load(start, 3 * LANES), load(start, 4 * LANES), load(start, 5 * LANES)
    by, more = spread(start[0]), spread(start[1])
    for _ in range(repeats):
        a, b, c = a * by + more, b * by + more, c * by + more
        d, e, f = d * by + more, e * by + more, f * by + more
    return total(a + b + c + d + e + f)


@njit(nogil=True)
def _read(numbers, repeats):
    a = b = c = d = spread(numbers[0])
    for _ in range(repeats):
        for k in range(0, numbers.shape[0], 4 * LANES):
            a, b = a + load(numbers, k), b + load(numbers, k + LANES)
            c, d = c + load(numbers, k + 2 * LANES), d + load(numbers, k + 3 * LANES)
    return total(a + b + c + d)


@njit(nogil=True)
def _read_and_write(numbers, factor, repeats):
    by = spread(factor)
    for _ in range(repeats):
        for k in range(0, numbers.shape[0], 2 * LANES):
            store(numbers, k, by * load(numbers, k))
            store(numbers, k + LANES, by * load(numbers, k + LANES))


@njit(nogil=True)
def _uniforms(seed, repeats):
    total_of_numbers, row_key = 0.0, key(seed, 0)
    for draw in range(repeats):
        total_of_numbers += uniform(row_key, draw)
    return total_of_numbers


@njit(nogil=True)
def _choices(sums, ends, weights, seed, repeats, waits):
    n_columns, row_key = np.uint64(sums.shape[0]), key(seed, 0)
    chosen, changed = np.uint64(0), np.float32(0)
    for draw in range(repeats):
        up_to = running(load(sums, n_columns - STEP))
        store(ends, STEP, up_to)
        rest = np.float32(uniform(row_key, draw)) * (ends[2 * LANES - 1] + changed)
        lane = np.uint64(min(n_reached(up_to, rest), LANES - 1))
        rest -= ends[lane + STEP - np.uint64(1)]
        k = lane
        for j in range(np.uint64(0), n_columns - STEP, STEP):
            k += is_reached(load(sums, j), rest, lane) << SHIFT
        changed = weights[k] / (np.float32(1) + weights[k]) if waits else changed
        chosen += k
    return chosen


def choices(n_components: int, *, waits: bool) -> Callable[[], float]:
    """Measures nanoseconds per choice of a topic; one that `waits` begins when the weight of the last one is known."""
    n_columns, repeats = -(-n_components // LANES) * LANES, 20_000
    sums = np.repeat(np.arange(1, 1 + n_columns // LANES), LANES).astype(np.float32)
    ends, weights = np.zeros(2 * LANES, np.float32), np.full(n_columns, 1e-6, np.float32)
    _choices(sums, ends, weights, 0, 1, waits)
    return lambda: seconds(lambda: _choices(sums, ends, weights, 0, repeats, waits)) * 1e9 / repeats


def random_numbers() -> Callable[[], float]:
    """Measures nanoseconds per random number."""
    repeats = 100_000
    _uniforms(0, 1)
    return lambda: seconds(lambda: _uniforms(0, repeats)) * 1e9 / repeats


def multiply_add() -> Callable[[], float]:
    """Measures nanoseconds per multiply-add."""
    start, repeats = np.linspace(0.5, 1, CHAINS * LANES, dtype=np.float32), 100_000
    _multiply_adds(start, 1)
    (code,) = _multiply_adds.inspect_asm().values()
    wide = [line for line in code.splitlines() if "vfmadd" in line and ("ymm" in line or "zmm" in line)]
    if len(wide) < CHAINS:
        print("warning: the multiply-adds were not compiled to vectors of 8 or 16", file=sys.stderr)
    return lambda: seconds(lambda: _multiply_adds(start, repeats)) * 1e9 / (repeats * CHAINS * LANES)


def stream(n_bytes: int, *, write: bool) -> Callable[[], float]:
    """Measures nanoseconds per float32 of a stream over an array of this size."""
    n = n_bytes // 4 // (4 * LANES) * (4 * LANES)
    numbers = np.ones(n + LANES, np.float32)
    numbers = numbers[-numbers.ctypes.data % 64 // 4 :][:n]
    repeats, one = max(1, 2_000_000 // n), np.float32(1)
    run = (lambda: _read_and_write(numbers, one, repeats)) if write else (lambda: _read(numbers, repeats))
    run()
    return lambda: seconds(run) * 1e9 / (repeats * n)


def seconds(run: Callable[[], object]) -> float:
    """Of this thread, so that others who work on the machine do not count."""
    start = time.thread_time()
    run()
    return time.thread_time() - start

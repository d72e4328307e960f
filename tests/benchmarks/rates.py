"""What this machine does at most: nanoseconds per operation of each precision, random number, choice and streamed byte.

Each function returns one that measures once more; the smallest of its figures counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.support.draw import n_reached, running
from bigtopic.kernels.support.math import fast_exp, fast_log
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import SHIFT
from bigtopic.kernels.support.vector import LANES, load, spread, store, total

STEP = np.uint64(LANES)
CHAINS = {"float32": 6, "float64": 3}  # of vectors of 16, so 12 of those of a processor with 8 or 4
IN_CACHE = 512  # numbers of which none waits for another


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
def _double_multiply_adds(start, repeats):
    a, b, c = load(start, 0), load(start, LANES), load(start, 2 * LANES)
    by, more = spread(start[0]), spread(start[1])
    for _ in range(repeats):
        a, b, c = a * by + more, b * by + more, c * by + more
    return total(a + b + c)


@njit(nogil=True, error_model="numpy")
def _divisions(numbers, out, repeats):
    for _ in range(repeats):
        for k in range(out.shape[0]):
            out[k] = numbers[k] / numbers[k + IN_CACHE]


@njit(nogil=True)
def _exponentials(numbers, out, repeats):
    for _ in range(repeats):
        for k in range(out.shape[0]):
            out[k] = fast_exp(numbers[k])


@njit(nogil=True)
def _logarithms(numbers, out, repeats):
    for _ in range(repeats):
        for k in range(out.shape[0]):
            out[k] = fast_log(numbers[k])


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
def _copy(numbers, out, factor, repeats):
    by = spread(factor)
    for _ in range(repeats):
        for k in range(0, numbers.shape[0], 2 * LANES):
            store(out, k, by * load(numbers, k))
            store(out, k + LANES, by * load(numbers, k + LANES))


@njit(nogil=True)
def _uniforms(seed, repeats):
    total_of_numbers, row_key = 0.0, key(seed, 0)
    for draw in range(repeats):
        total_of_numbers += uniform(row_key, draw)
    return total_of_numbers


@njit(nogil=True)
def _choices(sums, ends, seed, repeats):
    n_columns, row_key, chosen = np.uint64(sums.shape[0]), key(seed, 0), np.uint64(0)
    for draw in range(repeats):
        chosen += _choice(sums, ends, uniform(row_key, draw), sums.dtype.type(0), n_columns)
    return chosen


@njit(nogil=True, error_model="numpy")
def _choices_that_wait(sums, ends, labels, counts, totals, factors, seed, repeats):
    n_columns, row_key, gained = np.uint64(sums.shape[0]), key(seed, 0), sums.dtype.type(0)
    for draw in range(repeats):
        token = draw % labels.shape[0]
        k = labels[token]
        counts[k] -= 1.0
        totals[k] -= 1.0
        factors[k] = counts[k] / totals[k]
        k = _choice(sums, ends, uniform(row_key, draw), gained, n_columns)
        counts[k] += 1.0
        totals[k] += 1.0
        labels[token], factors[k] = k, counts[k] / totals[k]
        gained = factors[k]


@njit(nogil=True)
def _choice(sums, ends, u, gained, n_columns):
    up_to = running(load(sums, n_columns - STEP))
    store(ends, STEP, up_to)
    rest = sums.dtype.type(u) * (ends[2 * LANES - 1] + gained)
    lane = np.uint64(min(n_reached(up_to, rest), LANES - 1))
    rest -= ends[lane + STEP - np.uint64(1)]
    k = lane
    for j in range(np.uint64(0), n_columns - STEP, STEP):
        k += np.uint64(sums[j + lane] <= rest) << SHIFT
    return k


def choices(n: int, dtype: str, *, waits: bool) -> Callable[[], float]:
    """Measures nanoseconds per choice among `n`.

    One that `waits` begins when what was chosen before has gained its weight: a count and its total are one more, and
    one is divided by the other. What the token had chosen was taken out in the same way.
    """
    n_columns, repeats = -(-n // LANES) * LANES, 20_000
    sums = np.repeat(np.arange(1, 1 + n_columns // LANES), LANES).astype(dtype)
    ends = np.zeros(2 * LANES, dtype)
    if not waits:
        return _of_repeats(lambda n: _choices(sums, ends, 0, n), repeats)
    labels = np.random.default_rng(0).integers(n_columns, size=1000).astype(np.uint64)
    counts, totals, factors = np.full(n_columns, 1e3), np.full(n_columns, 1e9), np.empty(n_columns, dtype)
    return _of_repeats(
        lambda n: _choices_that_wait(sums, ends, labels, counts, totals, factors, 0, n), repeats
    )


def _of_repeats(run: Callable[[int], object], repeats: int) -> Callable[[], float]:
    run(1)
    return lambda: seconds(lambda: run(repeats)) * 1e9 / repeats


def random_numbers() -> Callable[[], float]:
    """Measures nanoseconds per random number."""
    return _of_repeats(lambda n: _uniforms(0, n), 100_000)


def multiply_add(dtype: str) -> Callable[[], float]:
    """Measures nanoseconds per multiply-add."""
    function, repeats = _double_multiply_adds if dtype == "float64" else _multiply_adds, 50_000
    start = np.linspace(0.5, 1, CHAINS[dtype] * LANES, dtype=dtype)
    function(start, 1)
    _warn_unless_wide(function, "vfmadd", CHAINS[dtype])
    return lambda: seconds(lambda: function(start, repeats)) * 1e9 / (repeats * len(start))


def division(dtype: str) -> Callable[[], float]:
    """Measures nanoseconds per division."""
    return _of_each(_divisions, "vdivp", dtype)


def exponential(dtype: str) -> Callable[[], float]:
    """Measures nanoseconds per exponential."""
    return _of_each(_exponentials, "vfmadd", dtype)


def logarithm(dtype: str) -> Callable[[], float]:
    """Measures nanoseconds per logarithm."""
    return _of_each(_logarithms, "vfmadd", dtype)


def _of_each(function: Any, instruction: str, dtype: str) -> Callable[[], float]:
    numbers, out, repeats = np.linspace(0.5, 1, 2 * IN_CACHE, dtype=dtype), np.empty(IN_CACHE, dtype), 500
    function(numbers, out, 1)
    _warn_unless_wide(function, instruction, 1)
    return lambda: seconds(lambda: function(numbers, out, repeats)) * 1e9 / (repeats * IN_CACHE)


def _warn_unless_wide(function: Any, instruction: str, n: int) -> None:
    """Where a bound would be that of scalar code."""
    for code in function.inspect_asm().values():
        found = [
            line for line in code.splitlines() if instruction in line and ("ymm" in line or "zmm" in line)
        ]
        if len(found) < n:
            print(f"warning: {function.__name__} was not compiled to whole vectors", file=sys.stderr)


def stream(n_bytes: int, kind: str) -> Callable[[], float]:
    """Measures nanoseconds per byte of a stream over an array of this size: "read", "write" (and read), or "copy"."""
    n = n_bytes // 4 // (4 * LANES) * (4 * LANES)
    numbers, out = _aligned(n), _aligned(n if kind == "copy" else 0)
    repeats, one = max(1, 2_000_000 // n), np.float32(1)
    runs = {
        "read": lambda: _read(numbers, repeats),
        "write": lambda: _read_and_write(numbers, one, repeats),
        "copy": lambda: _copy(numbers, out, one, repeats),
    }
    runs[kind]()
    return lambda: seconds(runs[kind]) * 1e9 / (repeats * numbers.nbytes)


def _aligned(n: int) -> np.ndarray:
    numbers = np.ones(n + LANES, np.float32)
    return numbers[-numbers.ctypes.data % 64 // 4 :][:n]


def seconds(run: Callable[[], object]) -> float:
    """Of this thread, so that others who work on the machine do not count."""
    start = time.thread_time()
    run()
    return time.thread_time() - start

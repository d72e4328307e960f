"""Vectors of columns against NumPy, in both precisions."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from bigtopic.kernels.support.vector import (
    HALF,
    LANES,
    QUARTER,
    double,
    larger,
    largest,
    like,
    load,
    load_double,
    load_part,
    n_lanes,
    product,
    quarter,
    single,
    spread,
    store,
    store_double,
    store_part,
    total,
    totals,
)


@njit
def _each(a, b, out, sums, peaks):
    for k in range(0, a.shape[0], LANES):
        x, y = load(a, k), load(b, k)
        for i, value in enumerate((x + y, x - y, x * y, larger(x, y), spread(a[3]) * y)):
            store(out, (i, k), value)
        sums[k // LANES], peaks[k // LANES] = total(x), largest(x)


@njit
def _deep(cube, out):
    for j in range(cube.shape[1]):
        store(out, 1, load(out, 1) + load(cube, (1, j, np.uint64(0))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operations(dtype):
    a, b = np.random.default_rng(0).normal(size=(2, 3 * LANES)).astype(dtype)
    out, sums, peaks = np.empty((5, len(a)), dtype), np.empty(3, dtype), np.empty(3, dtype)
    _each(a, b, out, sums, peaks)
    np.testing.assert_array_equal(out, [a + b, a - b, a * b, np.maximum(a, b), a[3] * b])
    np.testing.assert_array_equal(peaks, a.reshape(3, LANES).max(axis=1))
    np.testing.assert_allclose(sums, a.reshape(3, LANES).sum(axis=1), rtol=100 * np.finfo(dtype).eps)


def test_arrays_of_any_number_of_axes_and_columns_that_are_not_aligned():
    cube = np.arange(2.0 * 3 * LANES).reshape(2, 3, LANES)
    out = np.zeros(LANES + 2)
    _deep(cube, out)
    np.testing.assert_array_equal(out[1:-1], cube[1].sum(axis=0))
    assert out[0] == out[-1] == 0


@njit
def _convert(values, rounded, wide):
    store(rounded, 0, single(load(values, 0)))
    store(wide, 0, double(load(rounded, 0)))


def test_precisions():
    values = np.random.default_rng(0).normal(size=LANES)
    rounded, wide = np.empty(LANES, np.float32), np.empty(LANES)
    _convert(values, rounded, wide)
    np.testing.assert_array_equal(rounded, values.astype(np.float32))
    np.testing.assert_array_equal(wide, rounded.astype(np.float64))


@njit
def _parts(values, out):
    for n in range(out.shape[0]):
        store(out, (n, 0), load_part(values, (1, 3), n - 1))


@pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.float64])
def test_part_of_a_vector(dtype):
    values = (1000 * np.random.default_rng(0).random((2, 3 + LANES))).astype(dtype)
    out = np.empty((19, LANES), dtype)
    _parts(values, out)
    for n, part in enumerate(out, start=-1):
        np.testing.assert_array_equal(part, np.where(np.arange(LANES) < n, values[1, 3:], 0))


@njit
def _put_parts(values, out):
    for n in range(out.shape[0]):
        store_part(out, (n, 2), n - 1, load(values, 1))


@pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.float64])
def test_a_part_of_a_vector_leaves_what_is_beyond(dtype):
    values = (1000 * np.random.default_rng(0).random(1 + LANES)).astype(dtype)
    out = np.ones((19, 3 + LANES), dtype)
    _put_parts(values, out)
    for n, part in enumerate(out, start=-1):
        np.testing.assert_array_equal(part[2:-1], np.where(np.arange(LANES) < n, values[1:], 1))
    assert (out[:, :2] == 1).all() and (out[:, -1] == 1).all()


@njit
def _keep(values, kept, wide):
    store(kept, 0, like(kept, load(values, 0)))
    store(wide, 0, double(load(kept, 0)))


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_numbers_like_those_of_an_array(dtype):
    """Whole ones are rounded down, and use all bits."""
    values = np.concatenate([[65535.4, 0.9, 32768.5], np.random.default_rng(0).random(LANES - 3)])
    kept, wide = np.empty(LANES, dtype), np.empty(LANES)
    _keep(values, kept, wide)
    np.testing.assert_array_equal(kept, values.astype(dtype))
    np.testing.assert_array_equal(wide, kept.astype(np.float64))


@njit
def _less_products(a, b, products, out):
    store(out, 0, load(products, 0) - product(load(a, 0), load(b, 0)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_a_product_taken_out_nothing_is_left(dtype):
    a, b = np.random.default_rng(0).random((2, LANES)).astype(dtype)
    out = np.ones(LANES, dtype)
    _less_products(a, b, a * b, out)
    assert not out.any()


@njit
def _copy_as_double(numbers, wide, out):
    vector = load_double(numbers, (1, 2))
    store(wide, 0, vector)
    store_double(out, (1, 2), vector)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_numbers_of_other_types_as_double(dtype):
    numbers = np.random.default_rng(0).integers(-1000, 1000, size=(2, 3 + LANES)).astype(dtype)
    wide, out = np.empty(LANES), np.zeros((2, 3 + LANES), np.float64 if dtype == np.float32 else dtype)
    _copy_as_double(numbers, wide, out)
    np.testing.assert_array_equal(wide, numbers[1, 2:-1])
    np.testing.assert_array_equal(out[1, 2:-1], numbers[1, 2:-1])
    assert not out[0].any() and not out[1, :2].any() and out[1, -1] == 0


@njit
def _rows(values, parts, sums):
    for k in range(values.shape[0]):
        store(parts, (k, 0), quarter(load(values, (k, 0))))
    a, b = load(parts, (0, 0), QUARTER), load(parts, (1, 0), QUARTER)
    store(sums, 1, totals(a, b, load(parts, (2, 0), QUARTER), load(parts, (3, 0), QUARTER)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_rows(dtype):
    values = np.random.default_rng(0).integers(100, size=(4, LANES)).astype(dtype)
    parts, sums = np.empty((4, QUARTER), dtype), np.zeros(2 + QUARTER, dtype)
    _rows(values, parts, sums)
    np.testing.assert_array_equal(parts, values.reshape(4, 4, QUARTER).sum(axis=1))
    np.testing.assert_array_equal(sums, [0, *values.sum(axis=1), 0])


@njit
def _shorter(values, out):
    store(out, (0, 0), load(values, 1, HALF))
    store(out, (1, 0), load_part(values, 1, 3, HALF))
    store(out, (2, 0), spread(values[1], HALF))
    store(out, (3, 0), double(single(load(values, 1, HALF))))
    out[4, 0] = total(load(values, 1, HALF))


def test_shorter_vectors():
    values, out = np.random.default_rng(0).normal(size=2 + HALF), np.zeros((5, LANES))
    _shorter(values, out)
    own = values[1 : 1 + HALF]
    part = np.where(np.arange(HALF) < 3, own, 0.0)
    expected = [own, part, np.full(HALF, own[0]), own.astype(np.float32)]
    np.testing.assert_array_equal(out[:4, :HALF], expected)
    np.testing.assert_allclose(out[4, 0], own.sum(), rtol=1e-13)
    assert not out[:4, HALF:].any()


@njit
def _as_long_as(like, values, out):
    step = n_lanes(like)
    for k in range(np.uint64(0), np.uint64(values.shape[0]), step):
        store(
            out,
            k,
            load(values, k, like) + spread(1.0, like) + load_part(values, k, step - np.uint64(1), like),
        )
    return step


@njit
def _of_two_lengths(values, halves, wholes):
    return _as_long_as(spread(0.0, HALF), values, halves), _as_long_as(spread(0.0), values, wholes)


def test_a_vector_says_how_long_others_are():
    values = np.arange(2.0 * LANES)
    halves, wholes = np.empty((2, 2 * LANES))
    assert _of_two_lengths(values, halves, wholes) == (HALF, LANES)
    for lanes, found in ((HALF, halves), (LANES, wholes)):
        expected = 1 + 2 * values.reshape(-1, lanes)
        expected[:, -1] -= values[lanes - 1 :: lanes]
        np.testing.assert_array_equal(found, expected.reshape(-1))

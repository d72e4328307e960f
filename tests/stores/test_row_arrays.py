"""Rows of arrays on disk: any range is found again, by us and by Zarr, whoever wrote it and in which pieces."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import zarr

from bigtopic.errors import CorpusDamaged, StoreError
from bigtopic.storage import row_arrays
from bigtopic.storage.place import Place
from bigtopic.storage.row_arrays import RowArray

N_ROWS = 103


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Chunks of 32 bytes, so that ranges cross them."""
    monkeypatch.setattr(row_arrays, "CHUNK_BYTES", 32)


def make(folder, dtype="int16", row_shape=(), **settings) -> tuple[RowArray, np.ndarray]:
    array = RowArray(Place.of(folder) / "labels", N_ROWS, dtype, row_shape, **settings)
    array.create()
    rng = np.random.default_rng(0)
    return array, (rng.random((N_ROWS, *row_shape)) * 100).astype(dtype)


KINDS = [
    ("int16", ()),
    ("int8", ()),
    ("uint32", ()),
    ("float32", (3,)),
    ("float64", (2, 3)),
    ("float32", (0,)),
]


@pytest.mark.parametrize(("dtype", "row_shape"), KINDS)
def test_ranges_are_found_in_other_pieces_and_by_zarr(tmp_path, dtype, row_shape):
    array, values = make(tmp_path, dtype, row_shape)
    for start, stop in ((40, 77), (0, 1), (77, 103), (1, 40), (40, 40)):
        array.write(start, values[start:stop])
    for start in range(0, N_ROWS, 9):
        found = array.read(start, min(N_ROWS, start + 20))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, values[start : start + 20])
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "labels", mode="r")[...], values)


def test_an_array_without_rows_is_an_array(tmp_path):
    array = RowArray(Place.of(tmp_path) / "none", 0, "int16")
    array.create()
    array.write(0, np.zeros(0, np.int16))
    assert array.read(0, 0).shape == (0,) and array.nbytes == 0
    assert zarr.open_array(tmp_path / "none", mode="r").shape == (0,)


def test_a_reader_finds_the_fill_value_where_nobody_wrote(tmp_path):
    array, values = make(tmp_path, fill=-1)
    array.write(0, values[:16])
    np.testing.assert_array_equal(
        zarr.open_array(tmp_path / "labels", mode="r")[...], [*values[:16], *[-1] * 87]
    )


def test_threads_write_neighbouring_rows_of_one_file(tmp_path):
    array, values = make(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: array.write(i, values[i : i + 1]), range(N_ROWS)))
    np.testing.assert_array_equal(array.read(0, N_ROWS), values)


def test_bytes_are_those_of_the_files(tmp_path):
    array, values = make(tmp_path)
    array.write(0, values)
    files = (tmp_path / "labels").glob("c.*")
    assert array.nbytes == sum(path.stat().st_size for path in files)


def test_a_chunk_that_is_missing_or_short_is_named(tmp_path):
    array, values = make(tmp_path, remedy="fit again")
    array.write(0, values)
    os.truncate(tmp_path / "labels/c.1", 20)
    np.testing.assert_array_equal(array.read(0, 26), values[:26])
    with pytest.raises(CorpusDamaged, match=r"labels/c.1 is cut short; fit again"):
        array.read(0, 27)
    (tmp_path / "labels/c.0").unlink()
    with pytest.raises(CorpusDamaged, match=r"labels/c.0 is missing; fit again"):
        array.read(0, 1)


def test_nothing_is_written_through_links_or_into_pipes(tmp_path):
    array, values = make(tmp_path)
    (tmp_path / "labels/c").mkdir()
    (tmp_path / "elsewhere").write_bytes(b"kept")
    (tmp_path / "labels/c.0").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="symbolic link"):
        array.write(0, values[:3])
    assert (tmp_path / "elsewhere").read_bytes() == b"kept"
    os.mkfifo(tmp_path / "labels/c.1")
    for use in (lambda: array.write(16, values[:3]), lambda: array.read(16, 19)):
        with pytest.raises(StoreError, match=r"labels/c.1 cannot be"):
            use()


def test_a_full_disk_is_named_with_the_remedy(tmp_path, monkeypatch):
    array, values = make(tmp_path)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StoreError, match=r"labels/c.0 cannot be written: the disk is full; free space"):
        array.write(0, values)


def test_a_write_that_takes_less_than_all_goes_on(tmp_path, monkeypatch):
    array, values = make(tmp_path)
    pwrite, preadv = os.pwrite, os.preadv
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: pwrite(file, data[:5], at))
    monkeypatch.setattr(os, "preadv", lambda file, views, at: preadv(file, [views[0][:3]], at))
    array.write(0, values)
    np.testing.assert_array_equal(array.read(0, N_ROWS), values)

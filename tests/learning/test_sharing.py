"""Params in a mapped file are the params, overlays included."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from bigtopic.learning import sharing
from bigtopic.state.lazy_array import LazyArray, padded
from bigtopic.state.params import Params
from bigtopic.state.sparse import _kernels
from bigtopic.state.sparse.array import SparseArray
from bigtopic.state.views import take_view
from bigtopic.storage import private_folders
from bigtopic.types import AxisStats

IDS = {"word": np.array([5, 0, 11], np.int32)}


@pytest.fixture(autouse=True)
def all_in_files(monkeypatch):
    """As large arrays are."""
    monkeypatch.setattr(sharing, "SMALL_BYTES", 0)


def params() -> Params:
    array = LazyArray.zeros(12, 3, axis="word", prior=np.linspace(0.1, 1, 12))
    values = np.zeros((12, 16), np.float32)
    values[:, :3] = np.random.default_rng(0).random((12, 3))
    array.add(AxisStats(None, values))
    array.add(AxisStats(np.array([2], np.int32), values[:1]), decay=0.3)
    return Params({"a": array, "b": array.copy()})


def sparse_params() -> Params:
    array = SparseArray.zeros(12, 30, axis="word", prior=0.01)
    array.add(counts(range(12), 0))
    array.add(counts([2, 5], 1), decay=0.3)
    return Params({"a": array})


def counts(ids, seed: int) -> AxisStats:
    """Statistics of these rows; each has about half of the topics."""
    values = random_array((len(ids), 30), density=0.5, dtype=np.float32, rng=seed, format="csr")
    values.resize(len(ids), padded(30))
    return AxisStats(np.array(ids, np.int32), values)


def same(found: LazyArray, expected: LazyArray) -> None:
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found.gather(None), expected.gather(None))
    np.testing.assert_array_equal(found.weight_totals(), expected.weight_totals())


def test_a_mapped_version_is_the_same_as_the_arrays():
    arrays = params().overlay(["b"])
    arrays["b"].add(AxisStats(np.array([5], np.int32), np.ones((1, 16), np.float32)), decay=0.5)
    shared = sharing.publish(arrays)
    kinds = {"a": "mean", "b": "expected_log"}
    expected = take_view(arrays, kinds, IDS)
    found = take_view(sharing.load_arrays(pickle.loads(pickle.dumps(shared))), kinds, IDS)
    for name, rows in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], rows)
    folder = Path(shared.folder)
    assert folder.exists()
    shared.remove()
    assert not folder.exists()


def test_what_travels_does_not_hold_the_axis():
    big = Params({"a": LazyArray.zeros(20_000, 16, axis="word", prior=np.full((16, 20_000), 0.1))})
    shared = sharing.publish(big.arrays)
    assert len(pickle.dumps(shared)) < 5000
    shared.remove()


def test_a_worker_keeps_two_versions_mapped():
    versions = [sharing.publish(params().arrays) for _ in range(4)]
    for shared in versions:
        first = sharing.load_arrays(shared)
        assert sharing.load_arrays(shared) is first
    assert len(sharing._mapped) == 2
    for shared in versions:
        shared.remove()


def test_arrays_that_were_sent_are_taken_as_they_are():
    arrays = params().arrays
    assert sharing.load_arrays(arrays) is arrays


def test_returned_arrays_can_be_claimed_again_and_only_once():
    shared = sharing.publish(params().arrays)
    mine = sharing.claim_arrays(shared)
    with pytest.raises(sharing.AlreadyClaimed):
        sharing.claim_arrays(shared)
    mine["a"].add(AxisStats(np.array([2], np.int32), np.ones((1, 16), np.float32)), decay=0.5)
    returned = pickle.loads(pickle.dumps(sharing.return_arrays(shared, mine)))
    for arrays in (sharing.claim_arrays(returned), sharing.read_arrays(returned, params().arrays)):
        for name, array in mine.items():
            np.testing.assert_array_equal(arrays[name].gather(None), array.gather(None))
            np.testing.assert_array_equal(arrays[name].weight_totals(), array.weight_totals())
    with pytest.raises(sharing.AlreadyClaimed):
        sharing.claim_arrays(returned)
    shared.remove()


@pytest.mark.parametrize("small_bytes", [0, 200, 1 << 14], ids=["all in files", "some", "none"])
def test_sparse_rows_are_mapped_claimed_and_returned(small_bytes, monkeypatch):
    """Also where they have become longer."""
    monkeypatch.setattr(sharing, "SMALL_BYTES", small_bytes)
    before = sparse_params()
    shared = pickle.loads(pickle.dumps(sharing.publish(before.arrays)))
    try:
        same(sharing.load_arrays(shared)["a"], before["a"])
        for seed in (2, 3):
            mine = sharing.claim_arrays(shared)
            mine["a"].add(counts([0, 2, 11], seed), decay=0.5)
            n_values = mine["a"].raw.nnz
            assert n_values > before["a"].raw.nnz
            shared = pickle.loads(pickle.dumps(sharing.return_arrays(shared, mine)))
            before = Params(sharing.read_arrays(shared, before.arrays))
            same(before["a"], mine["a"])
            assert before["a"].dropped == mine["a"].dropped and before["a"].raw.nnz == n_values
    finally:
        shared.remove()


def test_loops_over_sparse_rows_compile_once_for_mapped_claimed_and_sent_rows():
    before = sparse_params()
    loops = [_kernels.add_rows, _kernels.fill_rows, _kernels.fold_rows, _kernels.copy_rows]

    def use(array: LazyArray) -> int:
        array.add(counts([1, 4], 5), decay=0.5)
        array.local(np.arange(3, dtype=np.int32)).gather(None)
        array.fold()
        return sum(len(loop.signatures) for loop in loops)

    n_signatures = use(before["a"].copy())
    shared = sharing.publish(before.arrays)
    try:
        for arrays in (
            sharing.load_arrays(shared),
            sharing.claim_arrays(shared),
            sharing.read_arrays(shared, before.arrays),
            pickle.loads(pickle.dumps(before.arrays)),
        ):
            assert use(arrays["a"]) == n_signatures
    finally:
        shared.remove()


def test_sparse_rows_travel_without_the_room_at_the_end_of_their_pool():
    array = SparseArray.zeros(12, 1 << 16, axis="word", prior=0.01)
    array.add(counts_of_one_topic(1 << 16))
    assert array.raw.nbytes > 1 << 20
    assert len(pickle.dumps(array.raw)) < 2000
    same(pickle.loads(pickle.dumps(array)), array)


def counts_of_one_topic(n_columns: int) -> AxisStats:
    """A token of the last topic in the first row."""
    return AxisStats(
        np.zeros(1, np.int32), csr_array(([np.float32(1)], ([0], [n_columns - 1])), (1, n_columns))
    )


def test_arrays_that_have_outgrown_their_files_are_returned_as_they_are(monkeypatch):
    shared = sharing.publish(sparse_params().arrays)
    try:
        mine = sharing.claim_arrays(shared)

        def full(file, values):
            raise OSError("no space left on device")

        monkeypatch.setattr(sharing.np, "save", full)
        assert sharing.return_arrays(shared, mine) is mine
    finally:
        shared.remove()


def test_a_prior_in_column_order_reaches_workers_as_it_is():
    array = LazyArray.zeros(12, 3, axis="word")
    array.set_prior(np.random.default_rng(0).random((3, 12)).T)
    shared = sharing.publish({"a": array})
    try:
        same(sharing.load_arrays(shared)["a"], array)
        same(sharing.claim_arrays(shared)["a"], array)
    finally:
        shared.remove()


LEFT_BEHIND = """
import os, signal
from bigtopic.learning import sharing
from bigtopic.state.lazy_array import LazyArray
print(sharing.publish({"a": LazyArray.zeros(12, 3, axis="word")}).folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(private_folders.fcntl is None, reason="files are not locked here")
def test_what_a_killed_driver_left_is_removed_by_the_next_and_nothing_else():
    mine = sharing.publish(params().arrays)
    killed = subprocess.run([sys.executable, "-c", LEFT_BEHIND], capture_output=True, text=True, check=False)
    left = Path(killed.stdout.strip())
    assert killed.returncode == -signal.SIGKILL and left.exists()
    private_folders._sweep.cache_clear()
    other = sharing.publish(params().arrays)
    assert not left.exists() and Path(mine.folder).exists() and Path(other.folder).exists()
    for shared in (mine, other):
        shared.remove()
        assert not Path(shared.folder).exists()


def test_a_version_that_cannot_be_written_leaves_nothing(monkeypatch, tmp_path):
    def full(path, array):
        Path(path).touch()
        raise OSError("no space left on device")

    monkeypatch.setattr(sharing, "IN_MEMORY", tmp_path)
    monkeypatch.setattr(sharing.np, "save", full)
    monkeypatch.setattr(sharing.tempfile, "tempdir", str(tmp_path))
    assert sharing.publish(params().arrays) is None
    assert not list(tmp_path.iterdir())


def test_a_small_array_travels_with_the_version(monkeypatch):
    monkeypatch.setattr(sharing, "SMALL_BYTES", 1 << 14)
    before = params()
    shared = sharing.publish(before.arrays)
    try:
        assert not list(Path(shared.folder).glob("*.npy"))
        mine = sharing.claim_arrays(pickle.loads(pickle.dumps(shared)))
        mine["a"].add(AxisStats(None, np.ones((12, 16), np.float32)))
        mine["a"].set_prior(np.full((1, 1), 9.0))
        returned = pickle.loads(pickle.dumps(sharing.return_arrays(shared, mine)))
        found = sharing.read_arrays(returned, before.arrays)["a"]
        np.testing.assert_array_equal(found.gather(None), mine["a"].gather(None))
        assert not np.array_equal(found.gather(None), before["a"].gather(None))
    finally:
        shared.remove()


@pytest.mark.parametrize("per_row", [False, True])
def test_a_prior_that_was_replaced_comes_back(per_row):
    before = params()
    shared = sharing.publish(before.arrays)
    try:
        mine = sharing.claim_arrays(shared)
        mine["a"].set_prior(np.linspace(2, 3, 12)[:, None] if per_row else np.full((1, 1), 9.0))
        returned = sharing.return_arrays(shared, mine)
        found = sharing.read_arrays(returned, before.arrays)["a"]
        np.testing.assert_array_equal(found.gather(None), mine["a"].gather(None))
        again = sharing.claim_arrays(returned)["a"]
        np.testing.assert_array_equal(again.gather(None), mine["a"].gather(None))
        np.testing.assert_array_equal(found.weight_totals(), mine["a"].weight_totals())
    finally:
        shared.remove()

"""Params in a mapped file are the params, overlays included."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic.learning import sharing
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
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

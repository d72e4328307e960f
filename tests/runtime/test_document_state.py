"""State of documents: what was written at an epoch is read at it, and gone when it is dropped."""

from __future__ import annotations

import numpy as np

from bigtopic.runtime import document_state
from bigtopic.runtime.slices import SliceRef

REF, OTHER = SliceRef(0, 5, 9, 0, 20), SliceRef(1, 5, 9, 0, 20)


def test_state_comes_back_with_its_dtypes(tmp_path):
    state = {"labels": np.array([3, 1, 2], np.int16), "none": np.zeros(0), "r": np.ones((2, 3), np.float32)}
    document_state.write(str(tmp_path), "epoch-1", REF, state)
    found = document_state.read(str(tmp_path), "epoch-1", REF)
    assert set(found) == set(state)
    for name, values in state.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values)


def test_other_slices_and_epochs_have_none(tmp_path):
    document_state.write(str(tmp_path), "epoch-1", REF, {"labels": np.ones(2)})
    assert document_state.read(str(tmp_path), "epoch-1", OTHER) is None
    assert document_state.read(str(tmp_path), "epoch-2", REF) is None


def test_a_task_that_runs_twice_writes_the_same(tmp_path):
    for _ in range(2):
        document_state.write(str(tmp_path), "epoch-1", REF, {"labels": np.arange(4)})
    np.testing.assert_array_equal(document_state.read(str(tmp_path), "epoch-1", REF)["labels"], np.arange(4))


def test_a_dropped_epoch_is_gone(tmp_path):
    for epoch in ("epoch-1", "epoch-2"):
        document_state.write(str(tmp_path), epoch, REF, {"labels": np.ones(2)})
    document_state.drop(str(tmp_path), "epoch-1")
    assert document_state.read(str(tmp_path), "epoch-1", REF) is None
    assert document_state.read(str(tmp_path), "epoch-2", REF) is not None

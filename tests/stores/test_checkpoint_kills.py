"""A run whose process is killed, or whose disk is full, at the n-th file operation of its work and its versions."""

import errno

import numpy as np
import pytest

import bigtopic as bt


def run(path, n_threads):
    """Two passes of three updates; a version after each."""
    counts = np.random.default_rng(0).poisson(0.5, (60, 40)) + np.eye(60, 40, dtype=int)
    corpus = bt.from_matrix(counts, random_state=0)
    settings = {"method": "streaming-vb", "batch_size": 20, "max_iter": 2, "client": False, "progress": False}
    checkpoint = None if path is None else bt.Checkpoint(path, rounds=1)
    model = bt.LDA(3, n_threads=n_threads, **settings)
    return model.fit(corpus, checkpoint=checkpoint, resume=path is not None).components_


@pytest.mark.parametrize("n_points", [2, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", ["kill_at", "fail_at"])
def test_a_run_goes_on_from_any_operation(what, n_points, folder, in_child):
    undisturbed = run(None, 1)
    n_operations = in_child(lambda: run(folder / "whole", 1)).n_operations
    for n in np.linspace(20, n_operations - 20, n_points).astype(int).tolist():
        path = folder / f"{what}-{n}"
        ended = in_child(lambda path=path: run(path, 1), **{what: n, "with_errno": errno.ENOSPC})
        assert ended.error in ("", "StoreError", "BigtopicWarning")  # after a commit it is only a warning
        assert ended.error == "" or "the disk is full" in ended.message
        np.testing.assert_array_equal(run(path, 2), undisturbed)
        assert len(list(path.glob("step-*/zarr.json"))) <= 2

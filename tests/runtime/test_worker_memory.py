"""What the workers of a Dask client cannot hold is refused before it begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.runtime import memory
from bigtopic.runtime.executors import choice

pytestmark = pytest.mark.distributed

COUNTS = sparse.csr_matrix(np.random.default_rng(0).poisson(0.0005, (600, 20_000)))
MEGABYTES = 60


@pytest.fixture(scope="module")
def small_worker() -> Iterator[Any]:
    """Client of a worker of two threads that may have so much memory, all of it this process'."""
    import dask
    from dask.distributed import Client, LocalCluster

    # Dask itself would wait until this process is small
    quiet = {f"distributed.worker.memory.{what}": False for what in ("target", "spill", "pause", "terminate")}
    settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with (
        dask.config.set(quiet),
        LocalCluster(**settings, memory_limit=MEGABYTES * 10**6) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def fit(client: Any, n_components: int, **settings: Any) -> LDA:
    return LDA(n_components, max_iter=1, client=client, **settings).fit(COUNTS)


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["graphs", "whole"])
def test_what_a_worker_cannot_hold_names_what_to_change(small_worker, monkeypatch, seconds):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", seconds)
    said = (
        rf"worker inproc://.* has {MEGABYTES / 1e3:.2f} GB, and .* need about 0\.\d\d GB; choose a smaller "
        r"batch_size .now 600. or slice_size .now 300., fewer topics .now 1000., .* threads .now 2."
    )
    with pytest.raises(SettingError, match=said):
        fit(small_worker, 1000, method="vb")


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["graphs", "whole"])
def test_what_a_worker_can_hold_is_learnt(small_worker, monkeypatch, seconds):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", seconds)
    there = fit(small_worker, 5, method="vb")
    np.testing.assert_array_equal(there.components_, fit(False, 5, method="vb").components_)


def test_the_named_setting_makes_it_fit(small_worker, monkeypatch):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", 0.0)
    with pytest.raises(SettingError, match=r"smaller batch_size .now 600."):
        fit(small_worker, 1000, method="online-vb", batch_size=600)
    fit(small_worker, 1000, method="online-vb", batch_size=60)


def test_the_limit_is_that_of_each_worker(small_worker, monkeypatch):
    """A run is refused for the one that has too little, however large the others are."""
    limits = {"tcp://large": (1, 10**12), "tcp://small": (1, 10**4)}
    monkeypatch.setattr(memory.cluster, "memory_limits", lambda client: limits)
    with pytest.raises(SettingError, match="tcp://small"):
        fit(small_worker, 4)

"""What the workers of a Dask client cannot hold is refused before it begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bigtopic.errors import BigtopicWarning, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning.executors import choice
from bigtopic.learning.memory import estimate as memory

pytestmark = pytest.mark.distributed

COUNTS = sparse.csr_matrix(np.random.default_rng(0).poisson(0.0005, (600, 20_000)))
MEGABYTES = 60  # besides what the process of a worker holds


@pytest.fixture(scope="module")
def small_worker() -> Iterator[Any]:
    """Client of a worker of two threads, in this process, that may take so much more memory."""
    import dask
    from dask.distributed import Client, LocalCluster

    # Dask itself would wait until this process is small
    quiet = {f"distributed.worker.memory.{what}": False for what in ("target", "spill", "pause", "terminate")}
    settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with (
        dask.config.set(quiet),
        LocalCluster(**settings, memory_limit=10**12) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.MonkeyPatch.context() as patch,
    ):
        measured = memory.memory_of_workers

        def small(client: Any, known: Any) -> Any:
            return {
                w: one._replace(limit=one.held + MEGABYTES * 10**6)
                for w, one in measured(client, known).items()
            }

        patch.setattr(memory, "memory_of_workers", small)
        yield client


def fit(client: Any, n_components: int, **settings: Any) -> LDA:
    settings = {"method": "online-cvb0", "max_iter": 1, "client": client, **settings}
    return LDA(n_components, **settings).fit(COUNTS)


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["graphs", "whole"])
def test_what_a_worker_cannot_hold_names_what_to_change(small_worker, monkeypatch, seconds):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", seconds)
    said = (
        r"worker inproc://.* has .*, of which it uses 100% before Dask pauses it: its process holds .* need "
        r"about 0\.\d\d GB; choose a smaller batch_size .now 600. or slice_size .now 300., fewer topics .now "
        r"1000., .* threads .now 2. or a larger memory_limit .\d\.\d\d GB or more."
    )
    with pytest.raises(SettingError, match=said):
        fit(small_worker, 1000, method="vb")


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["graphs", "whole"])
def test_what_a_worker_can_hold_is_learnt(small_worker, monkeypatch, seconds):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", seconds)
    there = fit(small_worker, 5, method="vb")
    np.testing.assert_array_equal(there.components_, fit(False, 5, method="vb").components_)


@pytest.mark.slow
def test_the_named_setting_makes_it_fit(small_worker, monkeypatch):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", 0.0)
    with pytest.raises(SettingError, match=r"smaller batch_size .now 600."):
        fit(small_worker, 1000, method="online-vb", batch_size=600)
    fit(small_worker, 1000, method="online-vb", batch_size=60)


@pytest.fixture
def two_workers() -> Iterator[tuple[Any, str, str]]:
    """Client of two workers of this process, and their addresses."""
    from dask.distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=2, **settings) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        large, small = client.nthreads()
        yield client, large, small


def limit(monkeypatch: Any, limits: dict[str, int]) -> None:
    """Let the workers say that they have so many bytes."""
    have = {worker: memory.Memory(1, n_bytes, 0.8, 0) for worker, n_bytes in limits.items()}
    monkeypatch.setattr(memory, "memory_of_workers", lambda client, known: have)


def tasks_done(client: Any, worker: str) -> int:
    found = client.run(lambda dask_worker: dask_worker.state.executed_count, workers=[worker])
    return int(found[worker])


def test_a_worker_that_is_too_small_is_named_where_all_get_tasks(two_workers, monkeypatch):
    client, large, small = two_workers
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", 0.0)
    limit(monkeypatch, {small: 10**4, large: 10**12})
    with pytest.raises(SettingError, match=f"worker {small} has .*or connect without this worker"):
        fit(client, 4, method="vb")


def test_one_worker_that_is_large_enough_does_rounds_that_run_whole(two_workers, monkeypatch):
    client, large, small = two_workers
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", 1e9)
    limit(monkeypatch, {small: 10**4, large: 10**12})
    before = [tasks_done(client, worker) for worker in (large, small)]
    for _ in range(3):
        there = fit(client, 4, method="online-vb", batch_size=100)
    done = [tasks_done(client, worker) for worker in (large, small)]
    assert done[0] > before[0] and done[1] == before[1]
    here = fit(False, 4, method="online-vb", batch_size=100)
    np.testing.assert_array_equal(there.components_, here.components_)
    limit(monkeypatch, {small: 10**4, large: 10**4 + 1})
    with pytest.raises(SettingError, match=f"worker {large} has .*or add a larger worker"):
        fit(client, 4, method="online-vb", batch_size=100)


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["graphs", "whole"])
def test_a_worker_that_joins_later_is_looked_at(two_workers, monkeypatch, seconds):
    client, large, small = two_workers
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", seconds)
    limit(monkeypatch, {large: 10**12})

    def join(event: Any) -> None:
        if event.kind == "pass":
            limit(monkeypatch, {large: 10**12, small: 10**4})

    model = LDA(4, method="vb", max_iter=3, random_state=0, client=client, callbacks=[join])
    said = pytest.warns(BigtopicWarning, match=f"worker {small} has") if seconds == 0 else nullcontext()
    with said as found:
        model.fit(COUNTS)
    assert found is None or len(found) == 1
    alone = LDA(4, method="vb", max_iter=3, random_state=0, client=False).fit(COUNTS)
    np.testing.assert_array_equal(model.components_, alone.components_)

"""What sgs.py learns on worker processes for figure 4.

Scores, staleness and bytes are of real processes of one thread each, whatever the number of processors. Seconds are
measured with one and two workers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import bigtopic as bt

PROCESS_BYTES = 200 << 20  # of a worker process
PRELOADED = [
    "bigtopic.learning.executors.asynchronous",
    "bigtopic.estimators.lda",
    "bigtopic.kernels.sampling.sgs",
]


class Place:
    """Where models learn: worker processes, or threads of this one.

    Parameters
    ----------
    cluster : a `dask.distributed.LocalCluster` that grows, and its client; None for threads
    most : processes that there is memory for
    """

    def __init__(self, cluster: Any = None, client: Any = None, most: int = 0) -> None:
        self._cluster, self._client, self._most = cluster, client, most

    def settings(self, n_workers: int) -> dict[str, Any]:
        """Of a model that learns on so many workers, at least as many as before."""
        if n_workers > self._most:
            return {"client": False, "n_threads": n_workers}
        self._cluster.scale(n_workers)
        self._client.wait_for_workers(n_workers, timeout=120)
        return {"client": self._client}

    def kind(self, n_workers: int) -> str:
        """Processes or threads, for tables."""
        return "threads" if n_workers > self._most else "processes"


@contextmanager
def processes() -> Iterator[Place]:
    """Worker processes, as many as are asked for; threads beyond those that memory has room for."""
    import dask
    import psutil
    from dask.distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    most = psutil.virtual_memory().available // PROCESS_BYTES
    # Processes that are forked from one that has imported what they need: they start in less time and memory
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(PRELOADED)
        settings = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
        with LocalCluster(**settings) as cluster, Client(cluster, set_as_default=False) as client:
            # Workers that share processors are slow now and then, and are named
            warnings.filterwarnings("ignore", "worker .* takes", bt.errors.BigtopicWarning)
            yield Place(cluster, client, most)


@dataclass(frozen=True)
class Measured:
    """A fit.

    passes : rows of its history
    n_pushes : minibatches of a pass
    driver : processor seconds of this process for a push, the scheduler's included
    """

    passes: list[dict[str, Any]]
    n_pushes: int
    driver: float

    @property
    def seconds(self) -> float:
        """Of the last pass."""
        return float(np.diff([0.0, *(row["seconds"] for row in self.passes)])[-1])

    @property
    def speed(self) -> float:
        """Tokens a second, in the last pass."""
        return float(self.passes[0]["n_tokens"]) / self.seconds


def measured(model: Any, train: bt.Corpus) -> Measured:
    """Fit a model."""
    begun = time.process_time()
    model.fit(train)
    driver = (time.process_time() - begun) / model.n_batch_iter_
    return Measured(model.history_, model.n_batch_iter_ // len(model.history_), driver)


def figures(fits: Sequence[Measured]) -> dict[str, float]:
    """Columns of a table, of fits in one pass."""
    rows = [fit.passes[0] for fit in fits]
    return {
        "staleness": float(np.mean([row["staleness"]["mean"] for row in rows])),
        "largest": max(row["staleness"]["largest"] for row in rows),
        "stale": float(np.mean([row["staleness"]["stale"] for row in rows])),
        "kB a push": float(np.mean([row["bytes"] for row in rows])) / 1e3,
    }


def times(fits: Sequence[Measured]) -> dict[str, float]:
    """Columns of a table, medians of fits: seconds and speed of the last pass, and seconds for a push, of all and of
    the driver."""
    return {
        "seconds": float(np.median([fit.seconds for fit in fits])),
        "tokens a second": float(np.median([fit.speed for fit in fits])),
        "ms a push": 1e3 * float(np.median([fit.seconds / fit.n_pushes for fit in fits])),
        "driver, ms a push": 1e3 * float(np.median([fit.driver for fit in fits])),
    }

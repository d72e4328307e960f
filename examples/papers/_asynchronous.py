"""What sgs.py learns on worker processes for figure 4, and how long that would take with a processor for each worker.

Scores, staleness and bytes are of real processes of one thread each, whatever the number of processors. Only time is
modelled: a worker takes c seconds for a push, and the driver d, one push after the other. The first updates wait for
each other, a pass waits for the one before, and twice as many minibatches as workers are on their way at most. c and d
are measured with one worker. Where workers and driver share P processors, n pushes take at least n (c + d) / P.
"""

from __future__ import annotations

import heapq
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import bigtopic as bt

PROMPT = 8  # first updates, one after the other
SLACK = 0.1  # of seconds that the model may be wrong
NETWORK = 1.25e9  # bytes a second to the driver and back, of the modelled cluster
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
        return float(self.passes[-1]["seconds"])

    @property
    def speed(self) -> float:
        """Tokens a second."""
        return float(self.passes[-1]["tokens_per_second"])

    @property
    def tokens(self) -> float:
        """Of a push."""
        return float(self.passes[0]["n_tokens"]) / self.n_pushes

    @property
    def n_bytes(self) -> float:
        """Of a pull and its push."""
        return float(np.mean([row["bytes"] for row in self.passes]))

    @property
    def compute(self) -> float:
        """Seconds of a worker for a push."""
        took = np.diff([0.0, *(row["seconds"] for row in self.passes)])
        busy = [sum(1 - idle for idle in row["idle"].values()) for row in self.passes]
        return float(took @ busy) / (len(self.passes) * self.n_pushes)


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
        "idle": float(np.mean([np.mean([*row["idle"].values()]) for row in rows])),
        "kB a push": float(np.mean([fit.n_bytes for fit in fits])) / 1e3,
        "tokens a second": float(np.median([fit.speed for fit in fits])),
    }


def modelled(
    compute: float,
    driver: float,
    n_pushes: int,
    n_workers: int,
    n_passes: int = 1,
    processors: float = math.inf,
) -> float:
    """Seconds of passes of so many pushes."""
    workers, landed = [0.0] * n_workers, [0.0]  # when each is free; when each push has moved the topics
    for push in range(n_passes * n_pushes):
        waits = landed[max(min(push, PROMPT), push - push % n_pushes, push - 2 * n_workers + 1)]
        done = max(heapq.heappop(workers), waits) + compute
        heapq.heappush(workers, done)
        landed.append(max(landed[-1], done) + driver)
    return max(landed[-1], n_passes * n_pushes * (compute + driver) / processors)


def speed(one: Measured, n_workers: int, n_pushes: int = 1000) -> float:
    """Tokens a second of a long pass, with a processor for each worker, one for the driver, and a network."""
    driver = max(one.driver, one.n_bytes / NETWORK)
    return n_pushes * one.tokens / modelled(one.compute, driver, n_pushes, n_workers)


def predictions(name: str, fits: dict[int, list[Measured]], processors: int) -> list[dict[str, Any]]:
    """Seconds of fits by the model, whose c and d are those of the first one with one worker, next to the median of the
    others; prints a line where they differ by more than 10 %. `fits` : by workers."""
    first, rows = fits[1][0], []
    for n_workers, found in fits.items():
        others = found[1:] if n_workers == 1 and len(found) > 1 else found
        took = float(np.median([one.seconds for one in others]))
        sizes = first.n_pushes, n_workers, len(first.passes), processors
        predicted = modelled(first.compute, first.driver, *sizes)
        right = abs(predicted / took - 1) <= SLACK
        rows.append(
            {"method": name, "workers": n_workers, "seconds": took, "modelled": predicted, "right": right}
        )
        if not right:
            print(
                f"the model of time is wrong for {name} with {n_workers} workers: {predicted:.2f} seconds, measured "
                f"{took:.2f}; its dashed curve means nothing on this machine",
                file=sys.stderr,
            )
    return rows

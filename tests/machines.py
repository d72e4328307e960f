"""Clusters of hosts with networks, memory and temporary files of their own, which may be killed, and what they learn.

The hosts share one folder, as those of a cluster do whose methods remember documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import hosts

from bigtopic import methods
from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.datasets.synthetic import lda_corpus
from bigtopic.methods import Method
from bigtopic.state.model import TopicModel

N_HOSTS = 4
PATHS = os.pathsep.join(str(hosts.REPOSITORY / folder) for folder in ("", "tests/integration"))  # for toys
N_TOPICS = 20
# Batches, short rounds, state of documents for a round and for a run, and replicas that have it: the method, its
# settings, and where its rounds run.
KINDS: Mapping[str, tuple[Method, dict[str, Any], str]] = {
    "batches": (methods.get("vb"), {}, "graphs"),
    "short rounds": (methods.get("online-cvb0"), {"batch_size": 50}, "whole"),
    "state of a round": (
        replace(methods.get("v-oem++"), inner=4),
        {"batch_size": 500, "slice_size": 60},
        "graphs",
    ),
    "state of a run": (methods.get("cgs"), {"batch_size": 500, "slice_size": 60}, "graphs"),
    "state of a run, whole": (methods.get("cgs"), {"batch_size": 50}, "whole"),
    "replicas": (methods.get("cgs"), {"batch_size": 50, "replicas": 4, "replica_updates": 4}, "graphs"),
}


@cache
def documents() -> Corpus:
    """So many that a round takes some tenths of a second, or a pass does."""
    counts = lda_corpus(3000, 800, N_TOPICS, mean_length=80.0, random_state=1).counts
    return from_matrix(counts, [f"w{i}" for i in range(800)], random_state=0)


def bits(model: TopicModel) -> dict[str, bytes]:
    """All that the params are made of."""
    parts = ("raw", "scale", "sums", "prior")
    arrays = model.params.arrays.items()
    return {f"{name}.{part}": getattr(array, part).tobytes() for name, array in arrays for part in parts}


class Machines:
    """Workers of a cluster, one on each host; a worker that was killed can be started again.

    Parameters
    ----------
    client : of the cluster
    there : its hosts
    shared : the folder that all see
    """

    def __init__(self, client: Any, there: list[hosts.Host], shared: Path) -> None:
        self.client, self.hosts, self.shared = client, there, shared
        self.running: dict[hosts.Host, ExitStack] = {}

    def start(self, host: hosts.Host) -> None:
        stack = self.running[host] = ExitStack()
        where: dict[str, Any] = {"host": host.address, "network": host.network, "kept": [self.shared]}
        stack.enter_context(hosts.worker(self.client, private_files=True, PYTHONPATH=PATHS, **where))

    def kill(self, host: hosts.Host) -> None:
        self.running.pop(host).close()


@contextmanager
def cluster(shared: Path) -> Iterator[Machines]:
    """A cluster that has no worker yet."""
    with hosts.private_networks(N_HOSTS) as (here, there), hosts.scheduler(here) as client:
        machines = Machines(client, there, shared)
        try:
            yield machines
        finally:
            for host in list(machines.running):
                machines.kill(host)

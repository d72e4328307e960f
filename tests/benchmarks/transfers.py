"""Bytes that travel on a cluster whose workers share no files: in rounds of `vb`, and in exchanges of replicas.

As multiples of P, the bytes of the params: what the driver sends and gets through the scheduler, and what the workers
send, on average. Both are measured with copies of the params on the workers, and as graphs, with the params sent each
time, as it is where a worker loses its copy. Documents are those of `replicas`; they are stored, so they do not travel.

    python -m tests.benchmarks transfers [--workers 2,3,4] [--docs 30000] [--topics 16] [--replicas 12x4] [--updates 6]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import results
from replicas import stored

HEAD = ("workers", "what", "driver sends", "driver gets", "each worker sends", "P, MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", default="2,3,4")
    parser.add_argument("--docs", type=int, default=30_000)
    parser.add_argument("--topics", type=int, default=16)
    parser.add_argument("--replicas", default="12x4", help="replicas x updates of an exchange")
    parser.add_argument("--batch-size", type=int, default=50, help="of replicas")
    parser.add_argument(
        "--updates", type=int, default=6, help="rounds, and exchanges; the first two do not count"
    )
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    results.add_option(parser)
    given = parser.parse_args()
    corpus = stored(given.folder, given.docs)
    rows: list[tuple[str, ...]] = []
    for n_workers in map(int, given.workers.split(",")):
        for what, settings in kinds(given).items():
            found = np.array(list(measured(corpus, given, n_workers, *settings)))[2:]
            print(n_workers, what, found.round(2).tolist(), flush=True)
            means = (f"{mean:.2f} P" for mean in found.mean(axis=0)[:3])
            rows.append((f"{n_workers}", what, *means, f"{found[0, 3]:.1f}"))
    n_replicas, n_updates = given.replicas.split("x")
    caption = (
        f"{corpus.n_docs:,} documents, {corpus.n_words:,} words, {corpus.n_tokens:,.0f} tokens; {given.topics} "
        f"topics; {n_replicas} replicas of {n_updates} minibatches of {given.batch_size} documents"
    )
    results.report(given, "transfers", caption, [HEAD, *rows], {"rows": rows})


def kinds(given: argparse.Namespace) -> dict[str, tuple[str, dict[str, Any], dict[str, Any], bool]]:
    """{what is measured: method, sizes of minibatches and slices, numbers of replicas and updates, whether workers keep
    copies of the params}"""
    n_replicas, n_updates = map(int, given.replicas.split("x"))
    sizes = {"batch_size": given.batch_size, "slice_size": None}
    replicas = {"replicas": n_replicas, "replica_updates": n_updates}
    batch = {"batch_size": None, "slice_size": -(-given.docs // 512)}
    return {
        "round of vb": ("vb", batch, {}, True),
        "round of vb, params sent": ("vb", batch, {}, False),
        "exchange": ("online-cvb0", sizes, replicas, True),
        "exchange, params sent": ("online-cvb0", sizes, replicas, False),
    }


def measured(
    corpus: Any,
    given: argparse.Namespace,
    n_workers: int,
    method: str,
    sizes: Any,
    replicas: Any,
    copies: bool,
) -> Iterator[tuple[float, ...]]:
    """For each update or exchange: what the driver sends, gets, and each worker sends, in P; and P in megabytes."""
    from bigtopic import methods
    from bigtopic.learning.executors.graphs import GraphExecutor
    from bigtopic.learning.new_run import make_run
    from bigtopic.plan.cursor import Cursor
    from bigtopic.state.new_model import new_model

    model = new_model(methods.get(method), given.topics, corpus.vocabulary, n_tokens=corpus.n_tokens)
    params, cursor = model.params, Cursor(10, 0, 10_000 if replicas else 10)  # where exchanges have grown
    model.cursor = cursor
    run = make_run(model, corpus, order="shuffled", **sizes, **replicas)
    with cluster(n_workers) as client, GraphExecutor(run, client) as executor:
        executor._among_workers._copies._useful = copies
        for _ in range(given.updates):
            before = written(client)
            for updated, reports in executor.advance(params, cursor, max_rounds=1):
                params, cursor = updated, cursor.after(reports)
            if cursor.round == run.plan.n_rounds:
                cursor = cursor.next_pass()
            yield *((written(client) - before) / params.nbytes), params.nbytes / 1e6


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """Client of processes of one thread that are given no common files, and count what they write."""
    from dask.distributed import Client, LocalCluster

    from bigtopic.learning.executors import sending

    usual, sending.shares_files = sending.shares_files, lambda *_: False
    settings = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    try:
        with LocalCluster(**settings) as made, Client(made, set_as_default=False) as client:
            count_written()
            client.run(count_written)
            yield client
    finally:
        sending.shares_files = usual


def count_written() -> None:
    """Count the bytes that this process writes to TCP, by address."""
    from collections import Counter

    from distributed.comm.tcp import TCP

    if hasattr(TCP, "written"):
        TCP.written.clear()
        return
    usual, TCP.written = TCP.write, Counter()

    async def write(self: Any, *arguments: Any, **settings: Any) -> Any:
        n_bytes = await usual(self, *arguments, **settings)
        TCP.written[self.peer_address] += n_bytes
        return n_bytes

    TCP.write = write


def written(client: Any) -> np.ndarray:
    """Bytes that the driver, the scheduler to the driver, and the workers on average, have written."""
    from distributed.comm.tcp import TCP

    def here() -> int:
        from distributed.comm.tcp import TCP

        return sum(TCP.written.values())

    by_workers = client.run(here)
    there = {client.scheduler.address, *by_workers}
    to_driver = sum(n for address, n in TCP.written.items() if address not in there)
    return np.array([TCP.written[client.scheduler.address], to_driver, np.mean(list(by_workers.values()))])


if __name__ == "__main__":
    main()

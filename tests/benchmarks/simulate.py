"""What more threads, or workers, than this machine has processors would gain: simulated.

A task sleeps for the seconds that such tasks took, and returns what one of them computed. All else is real: Python and
its lock, sums, steps, Dask's scheduler and its messages. It shares the processors that the machine has, which as many
threads or workers would not have to, so the gains are lower bounds. Documents are drawn from the known LDA of
`replicas`, and are in memory.

    python -m tests.benchmarks simulate [--docs 1000000] [--topics 100,1000] [--threads 8,16,32]
    python -m tests.benchmarks simulate --workers 8,32 [--method vb] [--replicas 32 --updates 8]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import replicas
import results

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.learning.tasks import ShareTask, SliceTask
from bigtopic.plan.cursor import RoundReport

MEASURED = 64  # tasks
HEAD = "what", "K", "tasks", "task, ms", "at once", "seconds", "gain", "efficiency"


class Measured:
    """The seconds of tasks of a kind, and what one of them computed."""

    def __init__(self, kind: type[SliceTask] | type[ShareTask]) -> None:
        self.kind = kind
        self.seconds: list[float] = []
        self.result: Any = None

    def measure(self) -> None:
        """Note what the tasks of this process take from now on."""
        compute = self.kind.compute

        def timed(task: Any, place: Any, arrays: Any) -> Any:
            begun = time.thread_time()
            self.result = compute(task, place, arrays)
            self.seconds.append(time.thread_time() - begun)
            return self.result

        self.kind.compute = timed  # type: ignore[method-assign]
        self.restore = lambda: setattr(self.kind, "compute", compute)


def sleep(kind: Any, seconds: float, result: Any) -> None:
    """Let the tasks of this process sleep."""

    def compute(task: Any, place: Any, arrays: Any) -> Any:
        time.sleep(seconds)
        if isinstance(task, SliceTask):
            return result
        share, numbers = task.share, (result.reports[0].n_docs, result.reports[0].n_tokens, {})
        return replace(result, reports=tuple(RoundReport(cursor, *numbers) for cursor in share.cursors))

    kind.compute = compute


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--topics", default="100")
    parser.add_argument("--method", default="online-cvb0")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--updates", type=int, default=8, help="of a replica in an exchange, at most")
    parser.add_argument("--threads", default="8,16,32")
    parser.add_argument("--workers", help="of a local cluster, in place of threads")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    results.add_option(parser)
    given = parser.parse_args()
    corpus = from_matrix(replicas.stored(given.folder, given.docs).to_scipy())
    rows: list[tuple[str, ...]] = [HEAD]
    for topics in map(int, given.topics.split(",")):
        for row in simulated(given, corpus, topics):
            rows.append(row)
            print(*row, flush=True)
    what = given.method if given.replicas == 1 else f"{given.method}, {given.replicas} x {given.updates}"
    caption = (
        f"Simulated: {given.docs:,} documents, {what}; tasks sleep, and share this machine's processors."
    )
    results.report(given, "simulate", caption, rows, {})


def simulated(given: argparse.Namespace, corpus: Corpus, topics: int) -> list[tuple[str, ...]]:
    """A row for each number of threads or workers."""
    kind = ShareTask if given.replicas > 1 else SliceTask
    measured = Measured(kind)
    measured.measure()
    try:
        fit(given, corpus, topics, n_threads=1, client=False)
    finally:
        measured.restore()
    seconds, n_tasks = float(np.mean(measured.seconds[-MEASURED:])), len(measured.seconds)
    compute, rows = kind.compute, []
    what = "workers" if given.workers else "threads"
    for n in map(int, (given.workers or given.threads).split(",")):
        with ExitStack() as stack:
            where: dict[str, Any] = {"n_threads": n, "client": False}
            if given.workers:
                where = {"client": stack.enter_context(cluster(n))}
                where["client"].run(sleep, kind, seconds, measured.result)
            else:
                stack.callback(setattr, kind, "compute", compute)
                sleep(kind, seconds, measured.result)
            took = fit(given, corpus, topics, **where)
        alone = n_tasks * seconds
        cells = f"{n_tasks:,}", f"{1e3 * seconds:.2f}", f"{n}", f"{took:.2f}", f"{alone / took:.1f}"
        rows.append((what, f"{topics}", *cells, f"{alone / took / n:.0%}"))
    return rows


def cluster(n_workers: int) -> Any:
    """Client of worker processes of one thread."""
    from dask.distributed import Client

    return Client(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=None)


def fit(given: argparse.Namespace, corpus: Corpus, topics: int, **where: Any) -> float:
    """Seconds of a pass."""
    from bigtopic.estimators.lda import LDA

    sizes = {"replicas": given.replicas, "replica_updates": given.updates}
    model = LDA(topics, method=given.method, max_iter=1, progress=False, random_state=0, **sizes, **where)
    begun = time.perf_counter()
    model.fit(corpus)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()

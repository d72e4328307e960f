"""What a second thread is worth, and what a local Dask client costs.

A fit of `online-cvb0` with minibatches of 500: on one thread, on two, on a local Dask cluster with default
settings, and as two independent one-thread processes at the same time. What two processes gain together over one
alone is what the machine's second processor can give; the gain of two threads is compared with that.

    python -m tests.benchmarks threads [--corpora demo,scale,drawn] [--topics 100,1000] [--runs 7]
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import corpora
import results
from timing import Timer, Timing

BATCH_SIZE = 500
DRAWN = 250_000  # documents
HEAD = (
    "corpus",
    "K",
    "one thread, s",
    "two threads gain",
    "two processes gain",
    "share of that",
    "Dask / two threads",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpora",
        default="demo,scale,drawn",
        help="demo; scale: 82,000 documents of PubMed's shape; drawn: 250,000 of a known LDA",
    )
    parser.add_argument("--topics", default="100")
    parser.add_argument("--passes", type=int, default=None, help="default: the method's")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    results.add_option(parser)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    rows: list[tuple[str, ...]] = [HEAD]
    figures = {}
    for name, n_components in product(given.corpora.split(","), topics(given)):
        store = str(stored(name, given.folder))
        times, timer = measure(store, n_components, given)
        seconds = {label: timing.seconds.tolist() for label, timing in times.items()}
        figures[f"{name}, {n_components}"] = seconds
        rows.append((name, str(n_components), *cells(times)))
        print(f"{name}, K = {n_components}: {timer!r}", flush=True)
    passes = "The method's passes" if given.passes is None else f"Passes: {given.passes}"
    caption = f"{passes}, minibatches of {BATCH_SIZE}; medians of {given.runs} alternating runs."
    results.report(given, "threads", caption, rows, figures)


def topics(given: argparse.Namespace) -> list[int]:
    """The numbers of topics."""
    return [int(n) for n in given.topics.split(",")]


def stored(name: str, folder: Path) -> Path:
    """The store of a corpus."""
    if name == "scale":
        import scale

        return scale.stored(folder, 82_000, 2)
    if name == "drawn":
        import replicas

        replicas.stored(folder, DRAWN)
        return folder / f"replicas-{DRAWN}.zarr"
    corpora.load(name, Path(), folder)
    return folder / f"{name}.zarr"


def measure(store: str, n_components: int, given: argparse.Namespace) -> tuple[dict[str, Timing], Timer]:
    """Threads and processes in turn; then threads and a Dask client, which would work beside the others."""
    from dask.distributed import Client

    def two() -> None:
        fit(store, n_components, given.passes, n_threads=2, client=False)

    timer = Timer(2)
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(store, n_components, given.passes)) for _ in range(2)]
        alone: dict[str, Callable[[], Any]] = {
            "one": lambda: fit(store, n_components, given.passes, n_threads=1, client=False),
            "two": two,
            "process": lambda: together(workers[:1]),
            "processes": lambda: together(workers),
        }
        times = timer.alternate(alone, given.runs)
    with Client(dashboard_address=None) as client:
        beside = {
            "two beside": two,
            "dask": lambda: fit(store, n_components, given.passes, client=client),
        }
        return times | timer.alternate(beside, given.runs), timer


def cells(times: dict[str, Timing]) -> tuple[str, ...]:
    """The figures of a row."""
    one, two, process, processes, beside, dask = (
        times[k].median for k in ("one", "two", "process", "processes", "two beside", "dask")
    )
    threads_gain, processes_gain = one / two, 2 * process / processes
    return (
        results.with_spread(times["one"].seconds.tolist()),
        f"{threads_gain:.2f}",
        f"{processes_gain:.2f}",
        f"{threads_gain / processes_gain:.0%}",
        f"{dask / beside:.2f}",
    )


def fit(store: str, n_components: int, passes: int | None, **where: Any) -> None:
    """What is timed, with opening the store."""
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.lda import LDA

    settings = {"method": "online-cvb0", "batch_size": BATCH_SIZE, "max_iter": passes, "progress": False}
    LDA(n_components, **settings, **where).fit(open_corpus(store))


class Worker:
    """A process that fits on one thread whenever it is told to."""

    def __init__(self, *arguments: Any) -> None:
        from threads import serve  # by its module's name, which the new process can import

        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, *arguments), daemon=True)

    def __enter__(self) -> Worker:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.pipe.send(False)
        self._process.join()


def serve(pipe: Any, store: str, n_components: int, passes: int | None) -> None:
    """The loop of a worker process."""
    while pipe.recv():
        fit(store, n_components, passes, n_threads=1, client=False)
        pipe.send(True)


def together(workers: list[Worker]) -> None:
    """All of them at the same time."""
    for worker in workers:
        worker.pipe.send(True)
    for worker in workers:
        worker.pipe.recv()


if __name__ == "__main__":
    main()

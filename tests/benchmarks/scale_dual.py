"""Seconds and memory of the dual topic model on up to the records of Last.fm, 145 million.

Records are drawn from a known dual model, block by block, and stored once: 404 for each row, and 4 columns for each 9
rows, as in Last.fm's 360 000 users by 160 000 artists. Each method then makes its passes in a process of its own.
Memory is that of the process and all it started, from its start on; disk is what it may take at most for what it
remembers of records. The score is the perplexity of other records of the same rows, p(column | row), and the share of
the gap that is closed, in nats, between the columns' shares of all records (0 %) and the model that the records are
drawn from (100 %).

    python -m tests.benchmarks scale_dual                                      a million records, and five
    python -m tests.benchmarks scale_dual --records 145534518                  Last.fm's size
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import results
from sampling import run_watched

from bigtopic.datasets import KnownDual

RECORDS_OF_A_ROW, COLUMNS_OF_ROWS = 404, 4 / 9
PRIORS = {"row_topic_prior": 0.5, "column_topic_prior": 0.05, "joint_prior": 0.3}
N_HELD_OUT = 200_000
METHODS = ("dual-mf", "dual-cgs", "dual-online")
HEAD = (
    "method", "records", "rows x columns", "entries", "passes", "seconds", "M records/s", "peak MB", "on disk GB",
    "perplexity", "of the gap closed",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--topics", type=int, default=10, help="of rows, and of columns")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--slice-size", type=int, help="rows of a kernel call; default the method's")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        return CHILDREN[given.child[0]](*given.child[1:])
    given.folder.mkdir(exist_ok=True)
    stores = [stored(given, n_records) for n_records in given.records]
    found = [measured(given, store, method) for store in stores for method in given.methods.split(",")]
    caption = (
        f"{given.topics} x {given.topics} topics, {given.passes} passes on {given.threads} threads. Perplexity by the "
        f"columns' shares {found[-1]['unigram']:,.0f}, of the true model {found[-1]['truth']:,.0f} (most records)"
    )
    results.report(given, "scale-dual", caption, [HEAD, *map(row, found)], found)


def truth(n_records: int, n_topics: int) -> KnownDual:
    """What so many records are drawn from."""
    n_rows = -(-n_records // RECORDS_OF_A_ROW)
    return KnownDual(n_rows, round(COLUMNS_OF_ROWS * n_rows), n_topics, n_topics, **PRIORS)


def stored(given: argparse.Namespace, n_records: int) -> Path:
    """The corpus, made in a process of its own unless it is there."""
    from bigtopic.corpus.store import open_corpus
    from bigtopic.errors import CorpusVersionError

    store = given.folder / f"dual-{n_records}-{given.topics}.zarr"
    try:
        open_corpus(store)
    except CorpusVersionError:
        line, peak = run("make", store, n_records, given.topics, given.threads)
        print(f"{line}, peak {peak / 1e6:.0f} MB", flush=True)
    return store


def make(store: str, n_records: str, n_topics: str, n_threads: str) -> None:
    """The process that makes a corpus."""
    from bigtopic.ingestion.ingest import ingest

    begun, array = time.perf_counter(), truth(int(n_records), int(n_topics)).dask_array(int(n_records))
    corpus = ingest(array, store, client=False, n_threads=int(n_threads), progress=False)
    print(f"{corpus!r}: {time.perf_counter() - begun:.0f} s")


def measured(given: argparse.Namespace, store: Path, method: str) -> dict[str, Any]:
    """Train in a process of its own, score here."""
    from bigtopic.corpus.store import open_corpus

    url = given.folder / "dual-model.zarr"
    settings = method, given.topics, given.passes, given.threads, given.slice_size or 0
    line, peak = run("train", store, url, *settings)
    seconds, disk = map(float, line.split())
    corpus = open_corpus(store)
    figures = {
        "method": method,
        "n_records": round(corpus.n_tokens),
        "n_rows": corpus.n_docs,
        "n_columns": corpus.n_words,
        "nnz": corpus.nnz,
        "passes": given.passes,
        "seconds": seconds,
        "peak": peak,
        "disk": disk,
        **scores(url, corpus, truth(round(corpus.n_tokens), given.topics)),
    }
    print(*(f"{head}: {cell}" for head, cell in zip(HEAD, row(figures), strict=True)), sep="; ", flush=True)
    return figures


def scores(url: Path, corpus: Any, known: KnownDual) -> dict[str, float]:
    """Perplexity of other records given their rows: by the model, by the columns' shares, and by `known`."""
    import numpy as np

    from bigtopic.corpus.memory import from_matrix
    from bigtopic.estimators.persistence import load_model
    from bigtopic.evaluation import log_records

    other = known.records(N_HELD_OUT, random_state=1)
    score = log_records(load_model(url), from_matrix(other, shuffle=False), client=False)
    cells = other.tocoo()
    rows, columns = cells.coords
    of_rows = known.row_topics_ @ known.joint_.sum(axis=1)
    true = np.log(known.joint_probability(rows, columns) / of_rows[rows])
    counts = corpus.vocabulary.counted[1] + 1.0
    shares = np.log(counts / counts.sum())[columns]
    perplexities = {
        name: float(np.exp(-(cells.data @ logs) / cells.data.sum()))
        for name, logs in (("unigram", shares), ("truth", true))
    }
    return {"perplexity": score.perplexity, **perplexities}


def train(store: str, url: str, method: str, *numbers: str) -> None:
    """The measured process: prints its seconds, and the bytes that it remembers of records, on disk."""
    from bigtopic.corpus.memory import from_matrix
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.dual_topic import DualTopicModel

    n_topics, n_passes, n_threads, slice_size = map(int, numbers)
    settings: dict[str, Any] = {"method": method, "slice_size": slice_size or None, "n_threads": n_threads}
    settings |= {"tol": 0.0, "client": False, "progress": False}

    def look(event: Any) -> None:
        if event.kind == "start":
            disk.append(event.disk_bytes or 0)

    # compiled code is loaded
    small = truth(10_000, n_topics).records(10_000)
    DualTopicModel(n_topics, n_topics, max_iter=2, **settings).fit(from_matrix(small))
    corpus, disk = open_corpus(store), []
    learner = DualTopicModel(n_topics, n_topics, max_iter=n_passes, callbacks=[look], **settings)
    begun = time.perf_counter()
    learner.fit(corpus)
    print(time.perf_counter() - begun, disk[0], flush=True)  # memory is no longer watched
    learner.save(url, overwrite=True)


CHILDREN = {"make": make, "train": train}


def run(child: str, *arguments: Any) -> tuple[str, int]:
    """One of `CHILDREN` in a process of its own: the line it prints when it is done, and its peak memory in bytes."""
    return run_watched([sys.executable, __file__, "--child", child, *map(str, arguments)])


def row(figures: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table."""
    closed = math.log(figures["unigram"] / figures["perplexity"]) / math.log(
        figures["unigram"] / figures["truth"]
    )
    return (
        figures["method"],
        f"{figures['n_records']:,}",
        f"{figures['n_rows']:,} x {figures['n_columns']:,}",
        f"{figures['nnz']:,}",
        str(figures["passes"]),
        results.figure(figures["seconds"], 3),
        results.figure(figures["passes"] * figures["n_records"] / figures["seconds"] / 1e6, 3),
        f"{figures['peak'] / 1e6:.0f}",
        f"{figures['disk'] / 1e9:.2f}",
        f"{figures['perplexity']:,.1f}",
        f"{closed:.1%}",
    )


if __name__ == "__main__":
    main()

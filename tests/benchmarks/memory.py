"""Peak memory of one pass over a corpus that is larger than it, against a corpus a tenth of its size.

Draws documents from a known LDA, ingests them, and trains for one pass in processes of their own: on two threads, and
on a local Dask cluster of two workers. Memory is that of the process and all it started, summed; pages that processes
share are divided among them.

    python -m tests.benchmarks memory [--docs 2000000] [--words 100000] [--topics 100] [--length 100] [--folder DIR]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from sampling import run_watched


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=2_000_000)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--length", type=float, default=100.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(*given.child, given.topics)
    given.folder.mkdir(exist_ok=True)
    peaks: dict[tuple[str, int], int] = {}
    for n_docs in (given.docs // 10, given.docs):
        store = make(given.folder, n_docs, given.words, given.topics, given.length)
        for mode in ("threads", "dask"):
            command = [sys.executable, __file__, "--topics", str(given.topics), "--child", mode, str(store)]
            output, peak = run_watched(command)
            peaks[mode, n_docs] = peak
            print(f"{n_docs:>10,} documents, {mode:8s} peak {peak / 1e6:7.0f} MB   {output}", flush=True)
    for mode in ("threads", "dask"):
        print(
            f"{mode}: {peaks[mode, given.docs] / peaks[mode, given.docs // 10]:.3f} times the peak of a tenth"
        )


def make(folder: Path, n_docs: int, n_words: int, n_components: int, length: float) -> Path:
    """The corpus, drawn and ingested once."""
    from bigtopic.datasets import KnownLDA, write_bag_of_words
    from bigtopic.runtime.ingest import ingest

    store = folder / f"lda-{n_docs}x{n_words}x{length:g}.zarr"
    if not store.exists():
        source = folder / "docword.lda.txt"
        begun = time.perf_counter()
        write_bag_of_words(source, KnownLDA(n_words, n_components, mean_length=length), n_docs)
        drawn = time.perf_counter()
        corpus = ingest(source, store)
        print(
            f"{corpus!r}: {corpus.nnz * 8 / 1e9:.2f} GB as CSR in memory; drawn in {drawn - begun:.0f} s, ingested in "
            f"{time.perf_counter() - drawn:.0f} s"
        )
        source.unlink()
    return store


def child(mode: str, store: str, n_components: int) -> None:
    """The measured process."""
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.lda import LDA

    corpus = open_corpus(store)
    if mode == "threads":
        fit(LDA(n_components, max_iter=1, client=False, n_threads=2, progress=False), corpus)
        return
    from dask.distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        fit(LDA(n_components, max_iter=1, client=client, progress=False), corpus)


def fit(model: object, corpus: object) -> None:
    begun = time.perf_counter()
    model.fit(corpus)  # type: ignore[attr-defined]
    seconds = time.perf_counter() - begun
    print(f"{seconds:.1f} s, {corpus.n_tokens / seconds / 1e6:.2f} M tokens/s")  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()

"""How fast, and in how much memory, a bag-of-words file becomes a corpus.

Writes a file of random documents once (kept beside for the next run), ingests it in a process of its own, and prints
entries per second and that process's peak memory, with the rate of a plain `cat` of the file for comparison.

    python tests/benchmarks/ingest.py [--docs 1000000] [--words 100000] [--entries 100] [--threads 2] [--folder DIR]
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

_BATCH = 20_000


def write_source(path: Path, n_docs: int, n_words: int, n_entries: int) -> int:
    """A UCI bag-of-words file with word frequencies like those of text; returns its entries."""
    import pandas

    rng = np.random.default_rng(0)
    weights = 1.0 / np.arange(10, n_words + 10)
    # a table of words by quantile: drawing is one look-up
    table = np.searchsorted(np.cumsum(weights) / weights.sum(), (np.arange(1 << 22) + 0.5) / (1 << 22))
    total = 0
    body = path.with_suffix(".body")
    with body.open("w") as file:
        for start in range(0, n_docs, _BATCH):
            size = min(_BATCH, n_docs - start)
            words = table[rng.integers(0, 1 << 22, (size, int(n_entries * 1.25)))]
            keys = np.unique(words + (np.arange(size) + start)[:, None] * n_words)
            counts = 1 + rng.geometric(0.6, len(keys)) // 2
            frame = {"d": keys // n_words + 1, "w": keys % n_words + 1, "n": counts}
            pandas.DataFrame(frame).to_csv(file, sep=" ", header=False, index=False)
            total += len(keys)
    with path.open("wb") as out, body.open("rb") as rows:
        out.write(f"{n_docs}\n{n_words}\n{total}\n".encode())
        shutil.copyfileobj(rows, out, 1 << 24)
    body.unlink()
    return total


def run(source: Path, store: Path, n_threads: int) -> None:
    """The measured process."""
    from bigtopic.runtime.ingest import ingest

    warm = source.with_name("warm.txt")
    warm.write_text("1\n2\n2\n1 1 1\n1 2 1\n")
    ingest(warm, "memory://warm.zarr", client=False)  # imports and compiled parsers
    before = time.perf_counter()
    corpus = ingest(source, store, client=False, n_threads=n_threads, overwrite=True)
    seconds = time.perf_counter() - before
    used = resource.getrusage(resource.RUSAGE_SELF)
    rate, size = corpus.nnz / seconds / 1e6, corpus.n_bytes / 2**20
    print(
        f"{corpus.n_docs:,} documents, {corpus.nnz:,} entries, {len(corpus.parts)} parts, {n_threads} threads"
    )
    print(
        f"{seconds:.1f} s, {rate:.2f} M entries/s, peak memory {used.ru_maxrss / 1024:.0f} MiB, stored {size:.0f} MiB"
    )
    print(
        f"processor time {(used.ru_utime + used.ru_stime) / corpus.nnz * 1e9:.0f} ns an entry, start included"
    )
    before = time.perf_counter()
    total = sum(len(block.words) for block in corpus.blocks())
    seconds = time.perf_counter() - before
    print(f"read back on one thread: {total / seconds / 1e6:.0f} M entries/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return run(*given.child, given.threads)
    given.folder.mkdir(exist_ok=True)
    source = given.folder / f"docword.{given.docs}x{given.words}x{given.entries}.txt"
    if not source.exists():
        write_source(source, given.docs, given.words, given.entries)
    before = time.perf_counter()
    with source.open("rb") as file:
        while file.read(1 << 24):
            pass
    print(f"{source.stat().st_size / 2**20:.0f} MiB; reading it alone: {time.perf_counter() - before:.1f} s")
    command = [sys.executable, __file__, "--threads", str(given.threads)]
    subprocess.run([*command, "--child", str(source), str(given.folder / "store.zarr")], check=True)
    shutil.rmtree(given.folder / "store.zarr")


if __name__ == "__main__":
    main()

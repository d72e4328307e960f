"""How fast, and in how much memory, bag-of-words files become a corpus, next to what bounds it.

Writes files of random documents once (kept for the next run) and ingests them in a process of its own. The bounds are
taken in the same run: reading the files, decompressing them with zlib in one thread, and parsing chunks that are in
memory already in one thread. The table gives each as text per second; ingest cannot be faster than the slowest of
reading, decompressing (on as many threads as there are files), and parsing on all threads.

    python -m tests.benchmarks ingest
    python -m tests.benchmarks ingest --docs 100000 --threads 1 --gzip --named
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import results

_BATCH = 20_000
_PARSED = 1 << 28  # bytes of text parsed to know the parser's rate
HEAD = ("step", "seconds", "MB/s of text", "M entries/s", "processor time, ns/entry")


# ---------------------------------------------------------------------- the source


def sources(given: argparse.Namespace) -> list[Path]:
    """The files, written if they are not there."""
    given.folder.mkdir(exist_ok=True)
    n_docs = given.docs // given.files
    paths = []
    for i in range(given.files):
        part = f".{i}of{given.files}" if given.files > 1 else ""
        path = given.folder / f"docword.{n_docs}x{given.words}x{given.entries}{part}.txt"
        if not path.exists():
            write_source(path, n_docs, given.words, given.entries, seed=i)
        if given.gzip:
            path = compressed(path)
        paths.append(path)
    return paths


def write_source(path: Path, n_docs: int, n_words: int, n_entries: int, seed: int) -> None:
    """A UCI bag-of-words file with word frequencies like those of text."""
    import pandas

    rng = np.random.default_rng(seed)
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


def compressed(path: Path) -> Path:
    target = path.with_suffix(".txt.gz")
    if not target.exists():
        with path.open("rb") as text, gzip.open(target, "wb", compresslevel=6) as out:
            shutil.copyfileobj(text, out, 1 << 24)
    return target


# ---------------------------------------------------------------------- what is measured


class Measured:
    """Seconds and processor seconds, of this process, inside `with`."""

    seconds = processor = 0.0

    def __enter__(self) -> Measured:
        self._begun = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._begun[0]
        self.processor += time.process_time() - self._begun[1]

    def figures(self, n_bytes: float, nnz: float) -> dict[str, float]:
        return {"seconds": self.seconds, "processor": self.processor, "bytes": n_bytes, "entries": nnz}


def read(paths: Sequence[Path]) -> Measured:
    """Reading the files, as they are stored."""
    with Measured() as measured:
        for path in paths:
            with path.open("rb") as file:
                while file.read(1 << 20):
                    pass
    return measured


def decompress(paths: Sequence[Path]) -> Measured:
    """Reading and decompressing them, with nothing but zlib."""
    import zlib

    with Measured() as measured:
        for path in paths:
            inflate = zlib.decompressobj(31)
            with path.open("rb") as file:
                while part := file.read(1 << 16):
                    inflate.decompress(part)
    return measured


def chunks_in_memory(reader: Any) -> Iterator[Any]:
    """The first chunks of a source with their bytes."""
    from bigtopic.corpus.readers.containers.files import File
    from bigtopic.corpus.readers.containers.pieces import chunk_bytes

    n_bytes = 0
    for stream in reader.streams():
        for chunk in stream.chunks():
            yield replace(chunk, data=chunk_bytes(chunk, File(chunk.name)))
            n_bytes += chunk.stop - chunk.start
            if n_bytes >= _PARSED:
                return


def measure(paths: Sequence[Path], store: Path, given: argparse.Namespace) -> dict[str, Any]:
    """The measured process: parsing alone, ingest, reading back."""
    from bigtopic.corpus.readers import open_source
    from bigtopic.ingestion.ingest import ingest

    vocabulary = [f"w{i}" for i in range(given.words)] if given.named else None
    warm = store.with_name("warm.txt")
    warm.write_text("1\n2\n2\n1 1 1\n1 2 1\n")
    ingest(warm, "memory://warm.zarr", client=False)  # imports and compiled parsers
    before = resource.getrusage(resource.RUSAGE_SELF)
    with Measured() as ingested:
        corpus = ingest(
            [str(path) for path in paths],
            store,
            vocabulary=vocabulary,
            client=False,
            n_threads=given.threads,
            overwrite=True,
        )
    after = resource.getrusage(resource.RUSAGE_SELF)
    reader, parsed = open_source([str(path) for path in paths]), Measured()
    n_bytes = nnz = 0
    for chunk in chunks_in_memory(reader):
        with parsed:
            nnz += len(reader.parse(chunk).words)
        n_bytes += len(chunk.data)
    with Measured() as back:
        for block in corpus.blocks():
            assert len(block.words)
    return {
        "ingest": ingested.figures(0, corpus.nnz),
        "kernel": after.ru_stime - before.ru_stime,
        "parsing": parsed.figures(n_bytes, nnz),
        "reading back": back.figures(0, corpus.nnz),
        "n_docs": corpus.n_docs,
        "n_parts": len(corpus.parts),
        "peak": after.ru_maxrss * 1024,
        "stored": corpus.n_bytes,
    }


# ---------------------------------------------------------------------- what is reported


def row(step: str, figures: dict[str, float], text: float) -> tuple[str, ...]:
    """One line of the table; `text`: bytes of text of the whole source, for figures that know entries only."""
    seconds, processor, n_bytes, nnz = figures.values()
    shown = [f"{(n_bytes or text) / seconds / 1e6:,.0f}", results.figure(nnz / seconds / 1e6)]
    return (step, results.figure(seconds), *shown, results.figure(processor / nnz * 1e9))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=100, help="of a document")
    parser.add_argument("--files", type=int, default=1, help="the documents are in so many files")
    parser.add_argument("--gzip", action="store_true", help="files are compressed")
    parser.add_argument("--named", action="store_true", help="words have names, so that their ids change")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--child", nargs="+", type=Path, help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    store = given.folder / "store.zarr"
    if given.child:
        print(json.dumps(measure(given.child, store, given)))
        return
    paths = sources(given)
    command = [sys.executable, __file__, *sys.argv[1:], "--child", *map(str, paths)]
    read(paths)  # into the system's cache, for all that follows
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    shutil.rmtree(store)
    text = sum(path.with_suffix("").stat().st_size if given.gzip else path.stat().st_size for path in paths)
    nnz = found["ingest"]["entries"]
    steps = {"reading": read(paths).figures(text, nnz)}
    if given.gzip:
        steps["decompressing"] = decompress(paths).figures(text, nnz)
    steps["parsing"] = found["parsing"]
    rates = {name: step["bytes"] / step["seconds"] for name, step in steps.items()}
    rates["parsing"] *= given.threads
    if given.gzip:
        rates["decompressing"] *= min(given.files, given.threads)
    slowest = min(rates, key=rates.__getitem__)
    found["share"] = text / found["ingest"]["seconds"] / rates[slowest]
    n_threads = f"{given.threads} thread{'s' * (given.threads > 1)}"
    rows = [
        HEAD,
        *(row(f"{name} alone, one thread", step, text) for name, step in steps.items()),
        row(f"ingest, {n_threads}", found["ingest"], text),
        row("reading the corpus back, one thread", found["reading back"], text),
    ]
    caption = (
        f"{found['n_docs']:,} documents, {nnz / 1e6:,.1f} million entries, {text / 1e6:,.0f} MB of text in "
        f"{given.files} {'gzip ' * given.gzip}file{'s' * (given.files > 1)}; stored in {found['n_parts']} parts, "
        f"{found['stored'] / 1e6:,.0f} MB; peak memory {found['peak'] / 1e6:,.0f} MB. Ingest runs at "
        f"{found['share']:.0%} of the bound, which is {slowest}."
    )
    results.report(given, "ingest", caption, rows, {**found, "steps": steps})


if __name__ == "__main__":
    main()

"""How fast files of every format with lines become a corpus, with ids, authors, a date and numbers of each document.

Writes a file of half the size and one of the full size in each format, and ingests each in a process of its own. Times
that grow faster than the files would show here.

    python -m tests.benchmarks ingest_lines
    python -m tests.benchmarks ingest_lines --size 40 --threads 1 csv.csv
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import results

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.lined_sources import WRITERS

HEAD = ("file", "documents", "half of it, s", "all of it, s", "MB/s", "processor s", "peak memory, MB")


def measure(folder: Path, name: str, threads: int) -> dict[str, Any]:
    """The measured process."""
    from bigtopic.ingestion.ingest import ingest

    given = pickle.loads((folder / "given").read_bytes())
    ingest(["a cat", "a dog"], "memory://warm.zarr", client=False)  # imports and compiled parsers
    begun = time.perf_counter(), time.process_time()
    corpus = ingest(
        folder / name, folder / "store.zarr", **given, client=False, n_threads=threads, overwrite=True
    )
    seconds, processor = time.perf_counter() - begun[0], time.process_time() - begun[1]
    status = (
        Path("/proc/self/status").read_text().split()
    )  # not ru_maxrss: it begins with the peak of who forked this
    peak = int(status[status.index("VmHWM:") + 1]) * 1024
    # That of getrusage also counts the process that started this one
    peak = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) * 1024
    return {"seconds": seconds, "processor": processor, "peak": peak, "n_docs": corpus.n_docs}


def run(folder: Path, name: str, n_docs: int, threads: int) -> dict[str, Any]:
    given = WRITERS[name](folder / name, n_docs)
    (folder / "given").write_bytes(pickle.dumps(given))
    command = [sys.executable, __file__, name, "--threads", str(threads), "--child", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {**json.loads(done.stdout), "bytes": (folder / name).stat().st_size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(WRITERS), metavar="FILE", help=", ".join(WRITERS))
    parser.add_argument("--size", type=float, default=40, help="of a file, in MB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.child, given.names[0], given.threads)))
        return
    rows, found = [HEAD], {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in given.names:
            WRITERS[name](folder / name, 500)
            n_docs = int(given.size * 1e6 * 500 / (folder / name).stat().st_size)
            half, whole = (run(folder, name, n, given.threads) for n in (n_docs // 2, n_docs))
            found[name] = {"half": half, "whole": whole}
            figures = [half["seconds"], whole["seconds"], whole["bytes"] / whole["seconds"] / 1e6]
            rows.append(
                (
                    name,
                    f"{whole['n_docs']:,}",
                    *map(results.figure, figures),
                    results.figure(whole["processor"]),
                    f"{whole['peak'] / 1e6:,.0f}",
                )
            )
    caption = (
        f"Files of {given.size:g} MB, {given.threads} thread{'s' * (given.threads > 1)}; each document has an id, "
        "two authors, a date and two numbers, in the file or beside it."
    )
    results.report(given, "ingest_lines", caption, rows, found)


if __name__ == "__main__":
    main()

"""Megabytes of text a second that become bags of words, next to scikit-learn's tokens of the same text.

The documentation strings of Python and of what is installed, repeated; once as they are, and once with accents on two
of the commonest vowels. Ours splits, numbers and counts the words, in memory, in chunks as large as an ingest's; the
analyzer of scikit-learn's CountVectorizer splits them. The last column is a whole ingest, to a corpus on disk.

    python -m tests.benchmarks text [--megabytes 50] [--runs 7]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import results
from sklearn.feature_extraction.text import CountVectorizer
from timing import Timer

from bigtopic.corpus.readers.base import CHUNK_DOCS
from bigtopic.corpus.text.tokenizer import Tokenizer
from bigtopic.datasets import docstrings
from bigtopic.ingestion.ingest import ingest

HEAD = (
    "text",
    "one thread, MB/s",
    "two threads, MB/s",
    "scikit-learn's analyzer, MB/s",
    "times faster on one",
    "ingest, two threads, MB/s",
)
_SHARE = 10  # of the text is enough for the analyzer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--runs", type=int, default=7)
    results.add_option(parser)
    given = parser.parse_args()
    texts = repeated([" ".join(record["text"].split()) for record in docstrings()], given.megabytes)
    accented = [text.translate(str.maketrans("eo", "éö")) for text in texts]
    timer = Timer(2)
    rows: list[tuple[str, ...]] = [HEAD]
    figures: dict[str, Any] = {}
    for name, some in (("documentation", texts), ("the same, accented", accented)):
        rates = measure(some, timer, given.runs)
        faster = rates["one thread"] / np.median(rates["scikit-learn"])
        cells = [results.with_spread(rate) for rate in rates.values()]
        rows.append((name, *cells[:3], results.with_spread(faster), cells[3]))
        figures[name] = {label: rate.tolist() for label, rate in rates.items()}
    n_bytes = n_megabytes(texts)
    caption = (
        f"{n_bytes:.0f} MB of ASCII but for few characters, {len(texts):,} documents; median [quartiles]."
    )
    results.report(given, "text", caption, rows, figures)
    print(f"\n{timer}")


def repeated(texts: list[str], megabytes: float) -> list[str]:
    """The texts again and again, until there are so many megabytes of them."""
    out, left = [], megabytes * 1e6
    for text in cycle(texts):
        if left <= 0:
            return out
        out.append(text)
        left -= len(text)
    return out


def n_megabytes(texts: list[str]) -> float:
    """Of UTF-8."""
    return sum(len(text.encode()) for text in texts) / 1e6


def measure(texts: list[str], timer: Timer, runs: int) -> dict[str, np.ndarray]:
    """Megabytes a second, of each run of each."""
    count = Tokenizer().counts
    analyze = CountVectorizer().build_analyzer()
    chunks = [texts[i : i + CHUNK_DOCS] for i in range(0, len(texts), CHUNK_DOCS)]
    few = texts[: len(texts) // _SHARE]
    with ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "texts.txt")
        source.write_text("\n".join(texts), encoding="utf-8")
        store = Path(folder, "texts.zarr")
        candidates: dict[str, Callable[[], Any]] = {
            "one thread": lambda: [len(count(chunk).words) for chunk in chunks],
            "two threads": lambda: list(pool.map(lambda chunk: len(count(chunk).words), chunks)),
            "scikit-learn": lambda: [len(analyze(text)) for text in few],
            "ingest": partial(
                ingest, source, store, client=False, n_threads=2, overwrite=True, progress=False
            ),
        }
        times = timer.alternate(candidates, runs)
    sizes = dict.fromkeys(candidates, n_megabytes(texts)) | {"scikit-learn": n_megabytes(few)}
    return {label: sizes[label] / timing.seconds for label, timing in times.items()}


if __name__ == "__main__":
    main()

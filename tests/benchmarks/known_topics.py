"""Thousands of known topics, in the shape of PubMed's abstracts: what a pass finds of them.

Documents of 89 tokens on average, of 141,000 words, are drawn from LDA. A document has about five topics, of which the
three largest have nine tenths of the tokens. Models learn from them in one pass on one thread, each in a process of its
own. Their distance is the L1 distance, from 0 to 2, of each known topic to the learned one that is most like it,
without the prior.

    python -m tests.benchmarks known_topics --documents 500000 --known 10000 --topics 1000,10000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
from numba import njit
from scipy import sparse

import bigtopic as bt
from bigtopic.datasets import KnownLDA
from bigtopic.datasets.synthetic import _topic
from bigtopic.evaluation import log_predictive

N_WORDS, MEAN_LENGTH, LENGTH_SPREAD = 141_000, 89, 0.8
BLOCK = 12_000  # documents
LEAST = 1e-8  # of a word of a known topic
TEST = 1000  # documents
HEAD = (
    "topics",
    "processor seconds",
    "times the first",
    "peak MB",
    "model MB",
    "nats per token",
    "L1 distance",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--known", type=int, default=10_000, help="topics that documents are drawn from")
    parser.add_argument("--topics", default="1000,10000", help="topics that are learned")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("known-topics"))
    parser.add_argument("--one", action="store_true", help="learn so many topics, in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(_measured(given)))
        return
    _make(given)
    print("| " + " | ".join(HEAD) + " |\n|---:|---:|---:|---:|---:|---:|---:|")
    usual = None
    for n in given.topics.split(","):
        command = [sys.executable, "-m", "tests.benchmarks", "known_topics", "--one", "--topics", n]
        command += ["--documents", str(given.documents), "--known", str(given.known)]
        command += ["--passes", str(given.passes), "--folder", str(given.folder)]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        usual = usual or found["seconds"]
        print(
            f"| {n} | {found['seconds']:.1f} | {found['seconds'] / usual:.1f} | {found['peak']:.0f} "
            f"| {found['model']:.0f} | {found['score']:.4f} | {found['distance']:.3f} |",
            flush=True,
        )


def _paths(given: argparse.Namespace) -> tuple[Path, Path, Path]:
    """Of the known topics, the documents, and the held-out ones."""
    name = f"{given.known}-{given.documents}"
    return tuple(given.folder / f"{part}.{end}" for part, end in (  # type: ignore[return-value]
        (f"topics-{given.known}", "npz"), (name, "zarr"), (f"{name}-test", "zarr"),
    ))  # fmt: skip


def _make(given: argparse.Namespace) -> None:
    """Known topics and documents, unless they are there."""
    given.folder.mkdir(exist_ok=True, parents=True)
    at, *stores = _paths(given)
    if not at.exists():
        model = KnownLDA(N_WORDS, given.known, topic_word_prior=0.007, zipf_exponent=1.15)
        rows = (_topic(model, k).astype(np.float32) for k in range(given.known))
        sparse.save_npz(at, sparse.vstack([sparse.csr_matrix(np.where(row < LEAST, 0, row)) for row in rows]))
    topics = None
    for store, n_docs, first in zip(stores, (given.documents, TEST), (0, 1 << 40), strict=True):
        if not store.exists():
            topics = Drawing(at) if topics is None else topics
            sizes = [min(BLOCK, n_docs - start) for start in range(0, n_docs, BLOCK)]
            blocks = [dask.delayed(topics.block, pure=False)(first + i, size) for i, size in enumerate(sizes)]
            meta = sparse.csr_array((0, 0), dtype=np.float32)
            arrays = [
                dask.array.from_delayed(block, (size, N_WORDS), np.float32, meta)
                for block, size in zip(blocks, sizes, strict=True)
            ]
            with dask.config.set(scheduler="synchronous"):
                bt.ingest(dask.array.concatenate(arrays), store)


class Drawing:
    """Documents of known topics."""

    def __init__(self, at: Path) -> None:
        topics = sparse.csr_matrix(sparse.load_npz(at))
        topics.sort_indices()
        self._indptr, self._words = topics.indptr.astype(np.int64), topics.indices
        self._sums = np.concatenate(
            [
                np.cumsum(topics.data[a:b], dtype=float)
                for a, b in zip(self._indptr, self._indptr[1:], strict=False)
            ]
        ).astype(np.float32)

    def block(self, number: int, n_docs: int) -> sparse.csr_array:
        rng = np.random.default_rng([7, number])
        shape = 1 / LENGTH_SPREAD**2
        lengths = np.maximum(1, rng.poisson(rng.gamma(shape, MEAN_LENGTH / shape, n_docs)))
        words = _draw(lengths, self._indptr, self._words, self._sums, rng)
        counts = sparse.csr_array(
            (np.ones(len(words), np.float32), words, np.r_[0, np.cumsum(lengths)]), (n_docs, N_WORDS)
        )
        counts.sum_duplicates()
        return counts


@njit
def _draw(lengths: Any, indptr: Any, words: Any, sums: Any, rng: Any) -> Any:
    """Topics of tokens from the Polya urn of a document, whose prior is one token in all; words from their topics."""
    drawn, at = np.empty(lengths.sum(), np.int32), 0
    topics = np.empty(lengths.max(), np.int64)
    for d in range(len(lengths)):
        for i in range(lengths[d]):
            new = rng.random() * (i + 1) < 1
            topics[i] = rng.integers(0, len(indptr) - 1) if new else topics[rng.integers(0, i)]
            first, last = indptr[topics[i]], indptr[topics[i] + 1] - 1
            drawn[at] = words[first + np.searchsorted(sums[first:last], rng.random() * sums[last], "right")]
            at += 1
    return drawn


def _measured(given: argparse.Namespace) -> dict[str, float]:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import peaks

    at, *stores = _paths(given)
    corpus, test = map(bt.open_corpus, stores)
    settings: dict[str, Any] = {"method": "sparse-cvb0", "n_threads": 1, "random_state": 0, "progress": False}
    bt.LDA(int(given.topics), max_iter=1, **settings).fit(corpus[:1000])  # which may compile
    began = time.process_time()
    model = bt.LDA(int(given.topics), max_iter=given.passes, **settings).fit(corpus)
    seconds = time.process_time() - began
    peak = peaks.status("VmHWM") / 1e6
    score = log_predictive(model, test, random_state=0, train=corpus).value
    array = model._fitted().topic_words
    distance = _distance(sparse.csr_matrix(sparse.load_npz(at)), array)
    figures = {"seconds": seconds, "peak": peak, "model": array.nbytes / 1e6}
    return {**figures, "score": score, "distance": distance}


def _distance(known: sparse.csr_matrix, array: Any) -> float:
    """Mean L1 distance of known topics to learned ones without the prior, nearest by the overlap of their roots."""
    n = array.n_components
    if array.is_sparse:
        counts = sparse.vstack([block for _, block in array.raw.csr_blocks(1 << 22)])
    else:
        counts = sparse.csr_matrix(np.where(array.raw > 1e-6, array.raw, 0))
    known, learned = _shares(known), _shares(sparse.csr_matrix(counts.T.tocsr()[:n]))
    roots, overlaps = learned.sqrt().T.tocsr(), []
    for first in range(0, known.shape[0], 200):
        nearest = (known[first : first + 200].sqrt() @ roots).toarray().argmax(axis=1)
        overlaps += [known[first + row].minimum(learned[k]).sum() for row, k in enumerate(nearest)]
    return float(2 - 2 * np.mean(overlaps))


def _shares(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    totals = np.asarray(rows.sum(axis=1)).ravel()
    return sparse.csr_matrix(rows.multiply(1 / np.where(totals > 0, totals, 1)[:, None]))


if __name__ == "__main__":
    main()

"""What it costs to remember documents: a collapsed Gibbs sampler whose labels lie in files, or in memory.

The sampler is about the cheapest user of document state there is: a label for each entry, read and written once a
pass, and one sum over the topics in between. Passes of the same sampler with its labels in files and in a dictionary
take turns, on one thread and on two. A second table has the reading and writing of one slice's labels alone, beside
NumPy's files and Zarr's own arrays.

    python -m tests.benchmarks state [--topics 50] [--entries 60000] [--slices 40] [--runs 15]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import results
import zarr
from numba import njit
from scipy.sparse import coo_array
from timing import Timer, Timing

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.kernels.support.random import key, uniform
from bigtopic.learning.executors.base import Until
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.new_run import make_run
from bigtopic.learning.remembering import NoState
from bigtopic.learning.run import Iteration
from bigtopic.methods import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import SliceRef
from bigtopic.schemes.add import Add
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.documents.state_files import resolved
from bigtopic.state.new_model import new_model
from bigtopic.storage.place import Place
from bigtopic.storage.row_arrays import RowArray
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

N_WORDS = 20_000
ENTRIES_PER_DOCUMENT = 100
SLICES_PER_BATCH = 4
N_TIMES = 50  # one after the other, where a single time would be too short


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--entries", type=int, default=60_000, help="of a slice")
    parser.add_argument("--slices", type=int, default=40, help="of a pass")
    parser.add_argument("--runs", type=int, default=15)
    results.add_option(parser)
    given = parser.parse_args()
    passes(given)
    ranges(given)


# ---------------------------------------------------------------- the sampler


def sample(docs: Docs, view: View, hyper: Hyper, seed: int, state: Any) -> KernelResult:
    """One sweep; the entries of a slice see each other's labels, and those of other slices at the last update."""
    rows, totals = view.arrays[TOPIC_WORDS].copy(), view.totals[TOPIC_WORDS].copy()
    labels = np.full(len(docs.words), -1, np.int16) if state is None else state["labels"].copy()
    prior = hyper.doc_topic_prior
    _sweep(docs.indptr, docs.words, docs.counts, docs.rows, rows, totals, labels, prior, seed)
    topics = np.full((docs.n_docs, hyper.n_components), 1 / hyper.n_components, np.float32)
    return KernelResult({TOPIC_WORDS: rows - view.arrays[TOPIC_WORDS]}, topics, {"labels": labels}, {})


@njit(nogil=True, cache=True, fastmath=True)
def _sweep(indptr, words, counts, documents, rows, totals, labels, prior, seed):
    n = len(prior)
    own, sums = np.zeros(n, np.float32), np.zeros(n, np.float32)
    inverse, alpha = (1.0 / np.maximum(totals[:n], 1e-10)).astype(np.float32), prior.astype(np.float32)
    for d in range(len(indptr) - 1):
        own[:] = alpha
        for i in range(indptr[d], indptr[d + 1]):
            if labels[i] >= 0:
                own[labels[i]] += counts[i]
        draws = key(seed, documents[d])
        for i in range(indptr[d], indptr[d + 1]):
            row, count, k = rows[words[i]], counts[i], labels[i]
            if k >= 0:
                row[k] -= count
                own[k] -= count
            total = np.float32(0)
            for k in range(n):
                total += max(row[k], np.float32(0)) * own[k] * inverse[k]
                sums[k] = total
            k, wanted = 0, np.float32(uniform(draws, i - indptr[d])) * total
            while k < n - 1 and sums[k] < wanted:
                k += 1
            row[k] += count
            own[k] += count
            labels[i] = k


METHOD = Method(
    "sampler",
    Kernel(
        "sampler",
        sample,
        {TOPIC_WORDS: "counts"},
        {TOPIC_WORDS: "word"},
        interacts=True,
        state="run",
        remembers={"labels": StateSpec("entry", "int16", missing=-1)},
    ),
    {TOPIC_WORDS: Add()},
    init={TOPIC_WORDS: ("uniform", 0.0)},
)


# ---------------------------------------------------------------- passes


class InDictionary(NoState):
    """Labels in this process' memory: nothing could be faster."""

    def __init__(self) -> None:
        self._kept: dict[tuple[SliceRef, int], Any] = {}

    def read(self, ref: SliceRef, iteration: Iteration, kept: Any) -> Any:
        return self._kept.pop((ref, iteration.pass_number), None)

    def write(self, ref: SliceRef, iteration: Iteration, kept: Any, state: Any) -> None:
        self._kept[ref, iteration.pass_number + 1] = state


class Sampler:
    """A model that has seen the corpus once, and the threads that go on with it."""

    def __init__(self, corpus: Corpus, n_topics: int, slice_size: int, n_threads: int, files: bool) -> None:
        model = new_model(METHOD, n_topics, corpus.vocabulary, n_tokens=corpus.n_tokens)
        sizes = {"batch_size": SLICES_PER_BATCH * slice_size, "slice_size": slice_size}
        run = make_run(model, corpus, order="shuffled", **sizes)
        arrays = resolved(METHOD.load_kernel().remembers, {})
        self._state = DocumentState()
        self._cursor = self._state.begin(corpus.parts, corpus.vocabulary, run.plan, arrays, Cursor())
        self._params = model.params
        self._executor = ThreadExecutor(
            replace(run, work=replace(run.work, state=self._state.files)), n_threads
        )
        if not files:
            self._executor._remembering = InDictionary()
        self.one_pass()

    def one_pass(self) -> None:
        """Every document once."""
        step = self._cursor.step
        for _, reports in self._executor.advance(self._params, self._cursor, Until()):
            step += len(reports)
        self._cursor = Cursor(self._cursor.pass_number + 1, 0, step)
        self._state.end_pass(self._cursor.pass_number)


def passes(given: argparse.Namespace) -> None:
    """With files and without, on one thread and on two."""
    slice_size = given.entries // ENTRIES_PER_DOCUMENT
    corpus = documents(given.slices * slice_size)
    samplers = {
        (n_threads, files): Sampler(corpus, given.topics, slice_size, n_threads, files)
        for n_threads in (1, 2)
        for files in (False, True)
    }
    timer = Timer(2)
    times = timer.alternate({label: one.one_pass for label, one in samplers.items()}, given.runs)
    rows: list[tuple[str, ...]] = [("threads", "in memory, s", "in files, s", "files add", "gain by threads")]
    for n_threads in (1, 2):
        memory, files = times[n_threads, False], times[n_threads, True]
        added = f"{100 * (files.median / memory.median - 1):.1f} %"
        rows.append((str(n_threads), cell(memory), cell(files), added, f"{gain(times, n_threads):.2f}"))
    print(f"{timer!r}", flush=True)
    caption = (
        f"A pass of a collapsed sampler over {corpus.nnz:,} entries, K = {given.topics}, slices of about "
        f"{corpus.nnz // given.slices:,} entries; medians of {given.runs} alternating passes."
    )
    figures = {f"{n} threads, files {files}": t.seconds.tolist() for (n, files), t in times.items()}
    results.report(given, "state", caption, rows, figures)


def documents(n_docs: int) -> Corpus:
    """Documents of about `ENTRIES_PER_DOCUMENT` distinct words, drawn by rank."""
    rng = np.random.default_rng(0)
    weights = 1 / (10 + np.arange(N_WORDS))
    length = int(1.25 * ENTRIES_PER_DOCUMENT)
    words = rng.choice(N_WORDS, (n_docs, length), p=weights / weights.sum())
    places = np.repeat(np.arange(n_docs), length), words.ravel()
    return from_matrix(coo_array((np.ones(words.size, np.float32), places), shape=(n_docs, N_WORDS)).tocsr())


def gain(times: dict[Any, Timing], n_threads: int) -> float:
    """How much faster than one thread, with files."""
    return times[1, True].median / times[n_threads, True].median


def cell(timing: Timing) -> str:
    return results.with_spread(timing.seconds)


# ---------------------------------------------------------------- ranges


def ranges(given: argparse.Namespace) -> None:
    """One slice's labels, written and read."""
    labels = np.random.default_rng(0).integers(0, 50, given.entries).astype(np.int16)
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "rows of an array": in_rows(Path(folder), labels, given.slices),
            "a file of NumPy's": in_npy(Path(folder), labels),
            "a Zarr array": in_zarr(Path(folder), labels),
        }
        candidates = {(way, which): repeated(pair[which]) for way, pair in ways.items() for which in (0, 1)}
        times = Timer(1).alternate(candidates, given.runs)
    rows: list[tuple[str, ...]] = [("labels in", "write, ms", "read, ms")]
    for way in ways:
        each = [results.with_spread(1e3 / N_TIMES * times[way, which].seconds) for which in (0, 1)]
        rows.append((way, *each))
    caption = (
        f"{given.entries:,} labels of two bytes; medians of {given.runs} alternating runs of {N_TIMES} each."
    )
    figures = {f"{way}, {which}": times[way, which].seconds.tolist() for way, which in candidates}
    results.report(given, "state-ranges", caption, rows, figures)


def repeated(work: Callable[[], Any]) -> Callable[[], None]:
    """It is done `N_TIMES` times."""

    def often() -> None:
        for _ in range(N_TIMES):
            work()

    return often


Pair = tuple[Callable[[], Any], Callable[[], Any]]  # write and read


def in_rows(folder: Path, labels: np.ndarray, n_slices: int) -> Pair:
    array = RowArray(Place.of(folder) / "rows", n_slices * len(labels), "int16")
    array.create()
    start = n_slices // 2 * len(labels)
    return lambda: array.write(start, labels), lambda: array.read(start, start + len(labels))


def in_npy(folder: Path, labels: np.ndarray) -> Pair:
    path = folder / "labels.npy"
    return lambda: np.save(path, labels), lambda: np.load(path)


def in_zarr(folder: Path, labels: np.ndarray) -> Pair:
    path = folder / "labels.zarr"

    def write() -> None:
        array = zarr.create_array(path, shape=labels.shape, dtype=labels.dtype, overwrite=True)
        array[...] = labels

    return write, lambda: zarr.open_array(path, mode="r")[...]


if __name__ == "__main__":
    main()

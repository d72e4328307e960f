"""Nanoseconds that each kernel spends per entry (distinct word x topic x iteration), next to what the machine allows.

    python -m tests.benchmarks kernels [kernel ...]

The bound is the longest of four times, arithmetic, division, waiting and memory, for one run over the documents:

* arithmetic: the multiply-adds that the equations need, at the rate of chains of multiply-adds that stay in registers;
  exponentials, logarithms and random numbers, at the rate of those that do not wait for each other; and choices of a
  topic, likewise. A choice is a random number, the running sums of a vector, which of its lanes, and which of the sums
  of this lane;
* division: divisions that do not wait for each other, which the processor makes beside multiply-adds;
* waiting: where each label changes the weights of the next token, choices that begin when the weight of the topic
  chosen before is known, after a division of its counts;
* memory: the bytes that must pass, each at the rate of a stream over an array of the size that they live in. A
  document's own arrays are passed over in every iteration, the topics and the statistics of the slice's words, and what
  is remembered of the documents, once; in every iteration where documents interact. What is remembered from call to
  call is read from one array and written to another, because a kernel does not change what it is given.

Each operation is measured in the precision in which the algorithm needs it. The rates are measured by turns with the
kernels, and every figure is the best of all turns. What is counted is what the algorithm needs, not what the kernel
does; see `counts.py`. Kernels that remember documents have seen them once before, and what follows from documents alone
(`Kernel.derives`) is derived once, as for all passes over a small corpus. Those that sweep until they are at rest make
10 sweeps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import results
from counts import COUNTS, Work
from rates import (
    choices,
    division,
    exponential,
    logarithm,
    multiply_add,
    random_numbers,
    seconds,
    stream,
)

from bigtopic import kernels
from bigtopic.state.contract.kernels import statistics_dtype
from bigtopic.types import Docs, Hyper, Kernel, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case
from reference.dual import Chain

HEAD = (
    "kernel", "iterations", "took, ns", "arithmetic, ns", "division, ns", "waiting, ns", "memory, ns", "bound by",
    "share of bound", "µs a document",
)  # fmt: skip
N_WORDS, TURNS = 8000, 25
DOCUMENTS = {20: 500, 100: 250, 1000: 40}  # distinct words of a document: documents of a slice
# Sweeps after the first, and room for the authors that documents have.
OPTIONS = {"max_sweeps": 9, "patience": 10, "most_authors": 2}


def corpus(n_distinct: int, n_components: int) -> tuple[Docs, np.ndarray]:
    """Documents of `n_distinct` distinct words, in falling frequency as in text."""
    rng, n_docs = np.random.default_rng(0), DOCUMENTS[n_distinct]
    frequency = 1 / np.arange(1, N_WORDS + 1) ** 0.8
    frequency /= frequency.sum()
    words = [np.sort(rng.choice(N_WORDS, n_distinct, replace=False, p=frequency)) for _ in range(n_docs)]
    ids, words = np.unique(np.concatenate(words), return_inverse=True)
    counts = rng.geometric(0.6, len(words)).astype(np.float32)
    indptr = n_distinct * np.arange(n_docs + 1)
    docs = Docs(indptr, words.astype(np.int32), counts, np.arange(n_docs), len(ids))
    return docs, case.topics(N_WORDS, n_components, concentration=0.1)[ids]


def by_two_authors(docs: Docs) -> Docs:
    """The same documents, of two authors each, who have no other."""
    n = 2 * docs.n_docs
    authors = np.random.default_rng(1).permutation(n).astype(np.int32)
    return replace(docs, author_indptr=np.arange(0, n + 1, 2), authors=authors, n_authors=n)


class Call(NamedTuple):
    """What a kernel is given."""

    docs: Docs
    view: View
    hyper: Hyper
    state: Any

    def run(self, kernel: Kernel) -> Any:
        """The kernel's result."""
        return kernel.run(self.docs, self.view, self.hyper, 0, self.state)


def dual_call(kernel: Kernel, docs: Docs, n_components: int) -> Call:
    """Rows and columns that have been counted once. `n_components` is the number of pairs of topics, or of row topics
    where the kernel does not look at pairs."""
    width, of_pairs = 10 if n_components % 16 else 16, kernel.state == "run"
    shape = (n_components // width if of_pairs else n_components, width)
    chain = Chain(kernel if of_pairs else kernels.load("dual_mf"), docs, shape)
    chain.sweep()
    if of_pairs:
        return Call(docs, chain.view, chain.hyper, chain.state)
    rows = {name: chain.view.arrays[name] for name in kernel.views}
    weights = rows["column_topics"]
    rows["column_topics"] = (weights / weights.sum(axis=0).clip(1)).astype(np.float32)
    return Call(docs, View(rows, {}), chain.hyper._replace(options=dict(kernel.options)), None)


def call(kernel: Kernel, n_distinct: int, n_components: int) -> Call:
    """The documents as `corpus` makes them, seen once before if the kernel remembers them.

    Counts are those of as many tokens in each topic as the documents have, and of these where they are remembered.
    """
    docs, topic_words = corpus(n_distinct, n_components)
    if "column_topics" in kernel.views:
        return dual_call(kernel, docs, n_components)
    if "author_topics" in kernel.views:
        docs = by_two_authors(docs)
    if kernel.derives is not None:
        docs = replace(docs, derived=kernel.derives(docs))
    declared = statistics_dtype(kernel, kernel.options)
    rows = case.padded(topic_words, np.result_type(declared, np.float32))  # weights are no whole numbers
    counted = {"counts", "stored"} & set(kernel.views.values())
    rows = rows * docs.counts.sum() if counted else rows
    options = {name: value for name, value in OPTIONS.items() if name in kernel.options}
    prior = case.accepted(kernel, 1 / n_components) if kernel.statistics else 1 / n_components
    told = case.hyper(kernel, prior, n_components, **options)
    arrays = {name: rows[: docs.n_authors if name == "author_topics" else None] for name in kernel.views}
    view = View(arrays, dict.fromkeys(kernel.views, rows.sum(axis=0)))
    new = Call(docs, view, told, None)
    if kernel.state == "none":
        return new
    first = new.run(kernel)
    if kernel.changes:
        arrays = {name: array + first.stats[name] for name, array in arrays.items()}
    view = View(arrays, {name: array.sum(axis=0) for name, array in arrays.items()})
    return Call(docs, view, told._replace(iteration=2), first.state)


def passed(kernel: Kernel, given: Call, *, by_word: bool) -> float:
    """Bytes of the view in one visit: a word's rows for each document that has it, all others once for a document."""
    docs, arrays = given.docs, given.view.arrays
    visits = {"author": 0 if docs.authors is None else len(docs.authors), "row": docs.n_docs, "row_topic": 0}
    words = docs.n_words if by_word else len(docs.words)
    axes = {"author_topics": "author"} | dict(kernel.statistics)
    return sum(
        visits.get(axes.get(name, "word"), words) * array.nbytes / len(array)
        for name, array in arrays.items()
    )


class Rates:
    """The rates that a row of the table needs, each the best of all turns, in nanoseconds."""

    def __init__(self) -> None:
        self.figures: dict[str, Callable[[], float]] = {}
        self.best: dict[str, float] = {}

    def add(self, name: str, figure: Callable[[], float]) -> None:
        """A rate to be measured."""
        self.figures[name], self.best[name] = figure, np.inf

    def measure(self) -> None:
        """Once more, by turns."""
        self.best = {name: min(self.best[name], figure()) for name, figure in self.figures.items()}


OPERATIONS = {"multiply_adds": multiply_add, "exponentials": exponential, "logarithms": logarithm}


class Row:
    """One line of the table: a kernel, and what bounds it, on documents of one size."""

    def __init__(self, kernel: Kernel, n_distinct: int, n_components: int) -> None:
        given = call(kernel, n_distinct, n_components)
        self.name, self.n_docs = kernel.name, given.docs.n_docs
        self.n_distinct, self.n_components = n_distinct, n_components
        self.counts, n_entries = COUNTS[kernel.name], len(given.docs.words)
        info = given.run(kernel).info
        iterations = (
            info.get("iterations", self.n_docs) / self.n_docs + info.get("word_iterations", 0) / n_entries
        )
        self.visits = iterations if kernel.interacts else 1.0
        self.iterations = iterations * (given.docs.counts.sum() / n_entries if self.counts.draws else 1.0)
        made = self.counts.made * n_components * given.docs.n_words
        tables = int(2 * (made + sum(array.nbytes for array in given.view.arrays.values())))
        self.table = passed(kernel, given, by_word=self.counts.by_word) / (n_entries * n_components)
        self.table += self.counts.made
        self.rows = given.docs.n_words / n_entries
        own = int(n_distinct * n_components * max(4, self.counts.reads + self.counts.writes))
        kept = int(n_entries * n_components * max(4, self.counts.remembers))
        self.rates = Rates()
        self.rates.add("took", lambda: 1e9 * seconds(lambda: given.run(kernel)))
        self._add_operations()
        for name, size in (("own", own), ("far", tables)):
            for kind in ("read", "write"):
                self.rates.add(f"{kind} {name}", stream(size, kind))
        self.rates.add("keep", stream(kept, "write" if kernel.state == "none" else "copy"))

    def _add_operations(self) -> None:
        self.rates.add("number", random_numbers())
        n, dtype = self.counts.choices * self.n_components, self.counts.entry.dtype
        for name, waits in (("choice", False), ("waiting", True)):
            self.rates.add(name, choices(n, dtype, waits=waits))
        for dtype in {work.dtype for work in self.counts if isinstance(work, Work)}:
            self.rates.add(f"divisions {dtype}", division(dtype))
            for name, measured in OPERATIONS.items():
                self.rates.add(f"{name} {dtype}", measured(dtype))

    def measure(self) -> None:
        """Once more, by turns."""
        self.rates.measure()

    def times(self) -> dict[str, float]:
        """Nanoseconds for each entry and iteration that the algorithm needs, by what it needs them for."""
        counts, best, visits = self.counts, self.rates.best, self.visits / self.iterations
        parts = [
            (counts.entry, 1.0),
            (counts.topic, 1 / self.n_distinct),
            (counts.word, 1 / self.n_components),
            (counts.visit, visits),
            (counts.document, visits / self.n_distinct),
            (counts.table, self.rows * visits),
        ]
        arithmetic, divisions = (
            sum(
                often * getattr(work, name) * best[f"{name} {work.dtype}"]
                for work, often in parts
                for name in names
            )
            for names in (OPERATIONS, ("divisions",))
        )
        arithmetic += (
            best["number"] * counts.numbers * visits + best["choice"] * counts.draws / self.n_components
        )
        memory = counts.reads * best["read own"] + counts.writes * best["write own"]
        memory += visits * (
            self.table * (best["read far"] + best["write far"]) + counts.remembers * best["keep"]
        )
        waiting = best["waiting"] * counts.draws * counts.waits / self.n_components
        return {"arithmetic": arithmetic, "division": divisions, "waiting": waiting, "memory": memory}

    def cells(self) -> tuple[str, ...]:
        """The line."""
        n_entries, times = self.n_distinct * self.n_components, self.times()
        took = self.rates.best["took"] / (self.n_docs * self.iterations * n_entries)
        return (
            f"{self.name}, {self.n_distinct:,} words, K = {self.n_components}",
            f"{self.iterations:.1f}",
            f"{took:.3f}",
            *(f"{time:.3f}" for time in times.values()),
            max(times, key=times.__getitem__),
            f"{max(times.values()) / took:.0%}",
            f"{took * n_entries * self.iterations / 1e3:,.1f}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*", help="default all")
    results.add_option(parser)
    given = parser.parse_args()
    names = given.kernels or sorted(COUNTS)
    rows = [Row(kernels.load(name), n, k) for name in names for n in DOCUMENTS for k in (100, 128)]
    for _ in range(TURNS):
        for row in rows:
            row.measure()
    caption = "One thread; nanoseconds for each entry (distinct word x topic) and iteration."
    table = [HEAD, *(row.cells() for row in rows)]
    results.report(given, "kernels", caption, table, [list(line) for line in table])


if __name__ == "__main__":
    main()

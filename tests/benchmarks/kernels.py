"""Nanoseconds that each kernel spends per entry (distinct word x topic x iteration), next to what the machine allows.

    python -m tests.benchmarks kernels [kernel ...]

The bound is the longer of two times, arithmetic (with draws) and memory, for one run over the documents:

* arithmetic: the multiply-adds that the equations need, at the rate of chains of multiply-adds that stay in registers;
* draws, which add to arithmetic: a random number each, at the rate of numbers that do not wait for each other;
* memory: the bytes that must pass, each at the rate of a stream over an array of the size that they live in. A
  document's own arrays are passed over in every iteration, the topics and the statistics of the slice's words once.

The rates are measured by turns with the kernels, and every figure is the best of all turns. What is counted is what
the algorithm needs, not what the kernel does; see `COUNTS`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import results
from numba import njit

from bigtopic import kernels
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import LANES, load, spread, store, total
from bigtopic.types import Docs, Kernel, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case


class Counts(NamedTuple):
    """What an algorithm must do in float32.

    entry : multiply-adds per entry and iteration
    topic : multiply-adds per topic and iteration
    reads, writes : numbers that are only read, and that are read and written, per entry and iteration
    draws : random choices of a topic per token and iteration; where there are some, entries are of tokens, not of
        distinct words
    """

    entry: int
    topic: int
    reads: int
    writes: int
    draws: int = 0


COUNTS = {
    # less the old share, times the word; out with c old shares, in with c new ones. The word; the share
    "cvb0": Counts(entry=4, topic=0, reads=1, writes=1),
    # the product and the sum; the step. The word, once for both
    "map_em": Counts(entry=2, topic=1, reads=1, writes=0),
    # the gradient. The word
    "frank_wolfe": Counts(entry=1, topic=0, reads=1, writes=0),
    # the same
    "ope": Counts(entry=1, topic=0, reads=1, writes=0),
    # the product and the running sum. The word
    "gibbs": Counts(entry=1, topic=0, reads=1, writes=0, draws=1),
    "gibbs_expected_log": Counts(entry=1, topic=0, reads=1, writes=0, draws=1),
    # the product and the sum; exp psi: 2 divisions and two polynomials. The word, once for both
    "vb": Counts(entry=2, topic=28, reads=1, writes=0),
}
HEAD = (
    "kernel", "iterations", "took, ns", "arithmetic, ns", "memory, ns", "bound by", "share of bound", "µs a document",
)  # fmt: skip
CHAINS = 6  # of vectors of 16, so 12 of 8
N_WORDS, TURNS = 8000, 25
DOCUMENTS = {20: 500, 100: 250, 1000: 40}  # distinct words of a document: documents of a slice


@njit(nogil=True)
def _multiply_adds(start, repeats):
    a, b, c = load(start, 0), load(start, LANES), load(start, 2 * LANES)
    d, e, f = load(start, 3 * LANES), load(start, 4 * LANES), load(start, 5 * LANES)
    by, more = spread(start[0]), spread(start[1])
    for _ in range(repeats):
        a, b, c = a * by + more, b * by + more, c * by + more
        d, e, f = d * by + more, e * by + more, f * by + more
    return total(a + b + c + d + e + f)


@njit(nogil=True)
def _read(numbers, repeats):
    a = b = c = d = spread(numbers[0])
    for _ in range(repeats):
        for k in range(0, numbers.shape[0], 4 * LANES):
            a, b = a + load(numbers, k), b + load(numbers, k + LANES)
            c, d = c + load(numbers, k + 2 * LANES), d + load(numbers, k + 3 * LANES)
    return total(a + b + c + d)


@njit(nogil=True)
def _read_and_write(numbers, factor, repeats):
    by = spread(factor)
    for _ in range(repeats):
        for k in range(0, numbers.shape[0], 2 * LANES):
            store(numbers, k, by * load(numbers, k))
            store(numbers, k + LANES, by * load(numbers, k + LANES))


@njit(nogil=True)
def _uniforms(seed, repeats):
    total_of_numbers, row_key = 0.0, key(seed, 0)
    for draw in range(repeats):
        total_of_numbers += uniform(row_key, draw)
    return total_of_numbers


def draws() -> Callable[[], float]:
    """Measures nanoseconds per random number."""
    repeats = 100_000
    _uniforms(0, 1)
    return lambda: seconds(lambda: _uniforms(0, repeats)) * 1e9 / repeats


def multiply_add() -> Callable[[], float]:
    """Measures nanoseconds per multiply-add."""
    start, repeats = np.linspace(0.5, 1, CHAINS * LANES, dtype=np.float32), 100_000
    _multiply_adds(start, 1)
    (code,) = _multiply_adds.inspect_asm().values()
    if sum("vfmadd" in line and "ymm" in line for line in code.splitlines()) < 2 * CHAINS:
        print("warning: the multiply-adds were not compiled to vectors of 8", file=sys.stderr)
    return lambda: seconds(lambda: _multiply_adds(start, repeats)) * 1e9 / (repeats * CHAINS * LANES)


def stream(n_bytes: int, *, write: bool) -> Callable[[], float]:
    """Measures nanoseconds per float32 of a stream over an array of this size."""
    n = n_bytes // 4 // (4 * LANES) * (4 * LANES)
    numbers = np.ones(n + LANES, np.float32)
    numbers = numbers[-numbers.ctypes.data % 64 // 4 :][:n]
    repeats, one = max(1, 2_000_000 // n), np.float32(1)
    run = (lambda: _read_and_write(numbers, one, repeats)) if write else (lambda: _read(numbers, repeats))
    run()
    return lambda: seconds(run) * 1e9 / (repeats * n)


def seconds(run: Callable[[], object]) -> float:
    """Of this thread, so that others who work on the machine do not count."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


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


class Row:
    """One line of the table: a kernel, and what bounds it, on documents of one size."""

    def __init__(self, kernel: Kernel, n_distinct: int, n_components: int) -> None:
        docs, topic_words = corpus(n_distinct, n_components)
        view = View({"topic_words": case.padded(topic_words, np.float32)}, {})
        told = case.hyper(kernel, case.accepted(kernel, 1 / n_components), n_components)
        self.name, self.n_docs = kernel.name, docs.n_docs
        self.n_distinct, self.n_components = n_distinct, n_components
        self.iterations = kernel.run(docs, view, told, 0, None).info["iterations"] / docs.n_docs
        counts = COUNTS[kernel.name]
        if counts.draws:
            self.iterations *= docs.counts.sum() / len(docs.words)
        own = 4 * n_distinct * n_components * (counts.reads + counts.writes)
        table = 2 * view.arrays["topic_words"].nbytes
        self.measured = [
            lambda: seconds(lambda: kernel.run(docs, view, told, 0, None)),
            multiply_add(),
            draws(),
            *(stream(size, write=write) for size in (own, table) for write in (False, True)),
        ]
        self.best = [np.inf] * len(self.measured)

    def measure(self) -> None:
        """Once more, by turns."""
        self.best = [min(best, figure()) for best, figure in zip(self.best, self.measured, strict=True)]

    def cells(self) -> tuple[str, ...]:
        """The line."""
        counts, n_entries = COUNTS[self.name], self.n_distinct * self.n_components
        took, multiply, draw, read, write, read_far, write_far = self.best
        took *= 1e9 / (self.n_docs * self.iterations * n_entries)
        arithmetic = multiply * (counts.entry + counts.topic / self.n_distinct)
        arithmetic += counts.draws * draw / self.n_components
        memory = counts.reads * read + counts.writes * write + (read_far + write_far) / self.iterations
        bound = max(arithmetic, memory)
        return (
            f"{self.name}, {self.n_distinct:,} words, K = {self.n_components}",
            f"{self.iterations:.1f}",
            f"{took:.3f}",
            f"{arithmetic:.3f}",
            f"{memory:.3f}",
            "memory" if memory == bound else "arithmetic",
            f"{bound / took:.0%}",
            f"{took * n_entries * self.iterations / 1e3:,.1f}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*", help="default all")
    results.add_option(parser)
    given = parser.parse_args()
    names = given.kernels or kernels.names()
    rows = [Row(kernels.load(name), n, k) for name in names for n in DOCUMENTS for k in (100, 128)]
    for _ in range(TURNS):
        for row in rows:
            row.measure()
    caption = "One thread; nanoseconds for each entry (distinct word x topic) and iteration."
    table = [HEAD, *(row.cells() for row in rows)]
    results.report(given, "kernels", caption, table, [list(line) for line in table])


if __name__ == "__main__":
    main()

"""Nanoseconds that each kernel spends per entry (distinct word x topic x iteration), on one thread.

The bound is a product of a matrix that fits the first-level cache with a vector, measured in the same run: one
multiply-add for each number read. A kernel's share is the time its own multiply-adds would take at that rate.

    python tests/benchmarks/kernels.py [n_components]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit

from bigtopic import kernels
from bigtopic.types import Docs, Kernel

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

# per entry and iteration, counted in the equations; a kernel that is not listed counts one
MULTIPLY_ADDS = {"cvb0": 4, "ope": 1, "vb": 2}
N_DOCS, N_WORDS = 500, 8000


@njit(nogil=True, fastmath=True)
def products(matrix, vector, out, repeats):
    for _ in range(repeats):
        for i in range(matrix.shape[0]):
            total = vector.dtype.type(0)
            row = matrix[i]
            for k in range(vector.shape[0]):
                total += row[k] * vector[k]
            out[i] += total


def best_seconds(run: Callable[[], object], repeats: int = 15) -> float:
    """The fastest of some runs, after one that compiles."""
    run()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def bound() -> float:
    """Nanoseconds per multiply-add."""
    matrix, vector, out = np.ones((28, 256), np.float32), np.ones(256, np.float32), np.zeros(28, np.float32)
    return 1e9 * best_seconds(lambda: products(matrix, vector, out, 200)) / (200 * matrix.size)


def corpus(n_components: int) -> tuple[Docs, np.ndarray]:
    """Documents of about 70 distinct words, in falling frequency as in text."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, N_WORDS + 1) ** 0.8
    lengths = rng.integers(35, 106, N_DOCS)
    words = [np.sort(rng.choice(N_WORDS, n, replace=False, p=frequency / frequency.sum())) for n in lengths]
    counts = rng.geometric(0.6, lengths.sum()).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    docs = Docs(indptr, np.concatenate(words).astype(np.int32), counts, np.arange(N_DOCS), N_WORDS)
    return docs, case.topics(N_WORDS, n_components, concentration=0.1)


def measure(kernel: Kernel, n_components: int) -> tuple[float, float]:
    """Nanoseconds per entry and iteration, and iterations per document."""
    docs, topic_words = corpus(n_components)
    view = case.view(kernel, topic_words, np.float32)
    told = case.hyper(kernel, 1 / n_components, n_components, N_WORDS)
    iterations = kernel.run(docs, view, told, 0, None).info["iterations"] / N_DOCS
    seconds = best_seconds(lambda: kernel.run(docs, view, told, 0, None))
    return 1e9 * seconds / (len(docs.words) * n_components * iterations), iterations


def main() -> None:
    n_components = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    limit = bound()
    print(f"K = {n_components}, bound {limit:.3f} ns per multiply-add")
    for name in kernels.names():
        nanoseconds, iterations = measure(kernels.load(name), n_components)
        share = MULTIPLY_ADDS.get(name, 1) * limit / nanoseconds
        print(
            f"{name:8} {nanoseconds:.3f} ns per entry, {iterations:.1f} iterations, {share:.0%} of the bound"
        )


if __name__ == "__main__":
    main()

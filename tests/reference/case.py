"""Small documents, topics and views for tests of kernels, and the references by name."""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic import kernels, methods
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, Lists, View

__all__ = [
    "accepted",
    "dense_lists",
    "documents",
    "hyper",
    "infer",
    "localised",
    "methods_of_lda",
    "of_lda",
    "padded",
    "reference",
    "topics",
    "view",
]


def of_lda(names: list[str]) -> list[str]:
    """Those of these kernels that read the words of topics alone; the others have tests of their own."""
    known = {"topic_words", "topic_word_variances"}
    return [name for name in names if set(kernels.load(name).views) <= known]


def methods_of_lda() -> list[str]:
    """Names of the methods that learn one kind of topics, of the words of documents."""
    found = {name: methods.get(name).model for name in methods.names()}
    return [
        name
        for name, model in found.items()
        if model.components == ("topic",) and "author_topics" not in model.arrays
    ]


def topics(n_words: int, n_components: int, seed: int = 0, concentration: float = 0.3) -> np.ndarray:
    """p(word | topic), float64 (n_words, n_components), columns sum to 1."""
    draws = np.random.default_rng(seed).gamma(concentration, size=(n_words, n_components)) + 1e-6
    return draws / draws.sum(axis=0)


def documents(lengths: list[int], n_words: int, seed: int = 0, first_row: int = 0) -> Docs:
    """Documents with these numbers of distinct words (0 makes an empty one), counts from 1 upwards."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    chosen = [np.sort(rng.choice(n_words, n, replace=False)) for n in lengths]
    words = np.concatenate([np.empty(0, np.int32), *chosen]).astype(np.int32)
    counts = rng.geometric(0.5, len(words)).astype(np.float32)
    return Docs(indptr, words, counts, np.arange(first_row, first_row + len(lengths)), n_words)


def localised(docs: Docs, start: int, stop: int) -> tuple[Docs, np.ndarray]:
    """Documents start:stop with word ids of their own, and the ids they had."""
    first, last = docs.indptr[start], docs.indptr[stop]
    ids, words = np.unique(docs.words[first:last], return_inverse=True)
    indptr = docs.indptr[start : stop + 1] - first
    part = Docs(indptr, words.astype(np.int32), docs.counts[first:last], docs.rows[start:stop], len(ids))
    return part, ids


def padded(rows: np.ndarray, dtype: Any) -> np.ndarray:
    """Zero columns up to a multiple of 16."""
    out = np.zeros((len(rows), -(-rows.shape[1] // 16) * 16), dtype)
    out[:, : rows.shape[1]] = rows
    return out


def view(kernel: Kernel, topic_words: np.ndarray, dtype: Any = np.float64) -> View:
    """The same probabilities for every array that the kernel reads."""
    rows = padded(topic_words, dtype)
    return View(dict.fromkeys(kernel.views, rows), dict.fromkeys(kernel.views, rows.sum(axis=0)))


def dense_lists(lists: Lists) -> np.ndarray:
    """The rows that these lists stand for, float64 (n_rows, n_columns)."""
    rows = np.tile(lists.offset.astype(np.float64), (len(lists.starts), 1))
    for row, start, stop in zip(rows, lists.starts, lists.stops, strict=True):
        columns = lists.columns[start:stop]
        row[columns] += lists.values[start:stop].astype(np.float64) * lists.factor[columns]
    return rows


def accepted(kernel: Kernel, prior: Any) -> np.ndarray:
    """The prior, raised to the least that the kernel takes; its reference says that where it is not 0."""
    return np.maximum(prior, reference(kernel.name).get("LEAST_PRIOR", 0.0))


def hyper(kernel: Kernel, prior: Any, n_components: int, n_words: int = 1, **options: Any) -> Hyper:
    """The kernel's default options, changed by `options`; `prior` is a number or (n_components,)."""
    alpha = np.broadcast_to(np.asarray(prior, float), n_components).copy()
    return Hyper(
        alpha,
        n_components,
        {**kernel.options, **options},
        dict.fromkeys(kernel.views, 0.1),
        {"word": n_words},
    )


def infer(
    kernel: Kernel,
    docs: Docs,
    topic_words: np.ndarray,
    prior: Any,
    *,
    dtype: Any = np.float64,
    seed: int = 7,
    **options: Any,
) -> KernelResult:
    """Run the kernel on these topics."""
    told = hyper(kernel, prior, topic_words.shape[1], docs.n_words, **options)
    return kernel.run(docs, view(kernel, topic_words, dtype), told, seed, None)


@cache
def reference(name: str) -> Mapping[str, Any]:
    """What tests/reference/<name>.py defines; nothing if there is none yet."""
    path = Path(__file__).with_name(f"{name}.py")
    return runpy.run_path(str(path)) if path.exists() else {}

"""Small documents with authors, for tests of author-topic models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.types import Block, Docs, Hyper, Kernel, KernelResult, View

from . import case

__all__ = [
    "Truth",
    "corpus_of",
    "documents",
    "drawn",
    "hyper",
    "listed",
    "localised",
    "matched",
    "run",
    "shares",
    "view",
    "weights",
]


def documents(lengths: list[int], n_words: int, n_authors: int, most: int = 3, seed: int = 0) -> Docs:
    """Documents with these numbers of distinct words, each by one to `most` authors."""
    docs, rng = case.documents(lengths, n_words, seed), np.random.default_rng([seed, 1])
    chosen = [
        np.sort(rng.choice(n_authors, rng.integers(1, most + 1), replace=False)).astype(np.int32)
        for _ in lengths
    ]
    indptr = np.concatenate([[0], np.cumsum([len(who) for who in chosen])]).astype(np.int64)
    authors = np.concatenate([np.empty(0, np.int32), *chosen])
    return replace(docs, author_indptr=indptr, authors=authors, n_authors=n_authors)


def listed(docs: Docs) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(words, counts, authors) of each document, as the references take them."""
    words, counts = (np.split(a, docs.indptr[1:-1]) for a in (docs.words, docs.counts.astype(float)))
    return list(zip(words, counts, np.split(docs.authors, docs.author_indptr[1:-1]), strict=True))


def localised(docs: Docs, start: int, stop: int) -> tuple[Docs, np.ndarray, np.ndarray]:
    """Documents start:stop with ids of their own, and the ids of words and authors that they had."""
    part, words = case.localised(docs, start, stop)
    first, last = docs.author_indptr[start], docs.author_indptr[stop]
    ids, authors = np.unique(docs.authors[first:last], return_inverse=True)
    indptr = docs.author_indptr[start : stop + 1] - first
    part = replace(part, author_indptr=indptr, authors=authors.astype(np.int32), n_authors=len(ids))
    return part, words, ids


def view(kernel: Kernel, topic_words: np.ndarray, author_topics: np.ndarray, dtype: Any = np.float64) -> View:
    """What the kernel reads of these weights, (n_words, n_components) and (n_authors, n_components)."""
    from scipy.special import psi

    arrays, totals = {}, {}
    for name, weights, axis in (("topic_words", topic_words, 0), ("author_topics", author_topics, 1)):
        rows = np.asarray(weights, np.float64)
        if kernel.views[name] == "expected_log":
            logs = psi(rows) - psi(rows.sum(axis=axis, keepdims=True))
            arrays[f"{name}:shift"] = logs.max(axis=1)
            rows = np.exp(logs - logs.max(axis=1, keepdims=True))
        elif kernel.views[name] == "mean":
            rows = rows / rows.sum(axis=axis, keepdims=True)
        arrays[name] = case.padded(rows, dtype)
        totals[name] = case.padded(np.asarray(weights, float).sum(axis=0, keepdims=True), float)[0]
    return View(arrays, totals)


def hyper(kernel: Kernel, n_components: int, prior: Any = 0.1, **options: Any) -> Hyper:
    """The kernel's default options, changed by `options`; every statistic that it offers is wanted."""
    told = case.hyper(kernel, prior, n_components, **options)
    return told._replace(statistics=tuple({**kernel.statistics, **kernel.offers}))


def run(
    kernel: Kernel,
    docs: Docs,
    topic_words: np.ndarray,
    author_topics: np.ndarray,
    *,
    dtype: Any = np.float64,
    seed: int = 7,
    **options: Any,
) -> KernelResult:
    """Run the kernel on these weights."""
    told = hyper(kernel, topic_words.shape[1], **options)
    return kernel.run(docs, view(kernel, topic_words, author_topics, dtype), told, seed, None)


def corpus_of(docs: Docs, n_parts: int = 1) -> Corpus:
    """The documents as a corpus in memory, whose words are w0, w1, ... and whose authors a0, a1, ..."""
    block = Block(docs.indptr, docs.words, docs.counts, docs.rows, docs.author_indptr, docs.authors)
    cuts = np.linspace(0, docs.n_docs, n_parts + 1).astype(int)
    parts = [MemoryPart(f"part {i}", block[a:b]) for i, (a, b) in enumerate(pairwise(cuts))]
    words, authors = (
        [f"{kind}{i}" for i in range(n)] for kind, n in (("w", docs.n_words), ("a", docs.n_authors))
    )
    return Corpus(parts, Vocabulary(words), author_vocabulary=Vocabulary(authors))


class Truth(NamedTuple):
    """Documents drawn from an author-topic model, and what they were drawn from.

    docs : with authors
    topic_words : (n_words, n_components), columns sum to 1
    author_topics : (n_authors, n_components), rows sum to 1
    """

    docs: Docs
    topic_words: np.ndarray
    author_topics: np.ndarray


def drawn(
    n_docs: int,
    n_words: int,
    n_authors: int,
    n_components: int,
    length: int = 60,
    most: int = 3,
    seed: int = 0,
) -> Truth:
    """Documents by one to `most` authors; authors at the end of the list write few of them."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.05), n_components).T
    theta = rng.dirichlet(np.full(n_components, 0.2), n_authors)
    often = 1.0 / (1.0 + np.arange(n_authors))
    rows, who = [], []
    for _ in range(n_docs):
        own = np.sort(rng.choice(n_authors, rng.integers(1, most + 1), replace=False, p=often / often.sum()))
        rows.append(rng.multinomial(rng.poisson(length) + 1, topics @ theta[own].mean(axis=0)))
        who.append(own.astype(np.int32))
    counts = csr_array(np.array(rows, np.float32))
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in who])]).astype(np.int64)
    docs = Docs(
        counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data, np.arange(n_docs), n_words,
        indptr, np.concatenate(who), n_authors,
    )  # fmt: skip
    return Truth(docs, topics, theta)


def matched(model: Any, truth: Truth) -> np.ndarray:
    """The model's topics in the order of the true ones that they are most like."""
    apart = np.abs(model.get_topics()[:, :, None] - truth.topic_words[None]).sum(axis=1)
    own, true = linear_sum_assignment(apart)
    return own[np.argsort(true)]


def weights(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of the authors, (n_authors, n_components), and of the words, (n_words, n_components), float64."""
    n = model.n_components
    arrays = model.params["author_topics"], model.params["topic_words"]
    return tuple(array.gather(None)[:, :n].astype(float) for array in arrays)


def shares(docs: Docs, state: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What is remembered of each entry, (n_authors of its document, n_components); sums to 1."""
    n_authors = np.repeat(np.diff(docs.author_indptr), np.diff(docs.indptr))
    rows = state["shares"].astype(float)
    return [row[:n] / row[:n].sum() for row, n in zip(rows, n_authors, strict=True)]

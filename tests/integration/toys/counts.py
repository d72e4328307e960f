"""Whole tokens: each entry goes to the topic that has most of its word, and the params are integers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.methods import Method
from bigtopic.types import Kernel, KernelResult, Scratch


def run(docs, view, hyper, seed, state):
    n = hyper.n_components
    weights = view.arrays["topic_words"][docs.words, :n] / view.totals["topic_words"][:n]
    iteration = (
        docs.words + np.repeat(docs.rows, np.diff(docs.indptr))
    ) % n  # while there are no counts to go by
    known = view.arrays["topic_words"][docs.words, :n].max(axis=1) >= 1
    topic = np.where(known, weights.argmax(axis=1), iteration)
    stats = np.zeros_like(view.arrays["topic_words"])
    np.add.at(stats, (docs.words, topic), docs.counts)
    topics = np.zeros((docs.n_docs, n)) + hyper.doc_topic_prior
    np.add.at(topics, (np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), topic), docs.counts)
    return KernelResult({"topic_words": stats}, topics / topics.sum(axis=1, keepdims=True), None, {})


def scratch(size, options):
    """For each entry the row of its word, and that divided by the totals, in double precision."""
    return Scratch(transient=2 * 8 * size.n_entries * size.n_components)


@dataclass(frozen=True)
class Count:
    """counts <- counts + S"""

    dtype: ClassVar[str] = "int64"

    def step(self, array, stats, info):
        array.add(stats)


VIEWS, AXES = {"topic_words": "counts"}, {"topic_words": "word"}
METHOD = Method(
    "counts",
    Kernel("counts", run, VIEWS, AXES, scratch=scratch, dtype="float64"),
    {"topic_words": Count()},
    batch_size=70,
    slice_size=35,
    max_iter=2,
    init={"topic_words": ("uniform", 0.0)},
)

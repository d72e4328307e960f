"""Authors that write often move in smaller steps: each has its own count of updates beside its topics."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.types import AxisStats, Kernel, KernelResult, Scratch


def run(docs, view, hyper, seed, state):
    """p(author, topic | word) in proportion to p(topic | author) p(word | topic), summed over tokens."""
    words, authors = view.arrays["topic_words"], view.arrays["author_topics"]
    pairs = np.ones(len(docs.authors), words.dtype), docs.authors, docs.author_indptr
    wrote = csr_array(pairs, (docs.n_docs, docs.n_authors))
    topics = wrote @ authors
    expected = np.einsum("ek,ek->e", words[docs.words], topics.repeat(np.diff(docs.indptr), axis=0))
    ratios = csr_array((docs.counts / expected, docs.words, docs.indptr), (docs.n_docs, len(words)))
    by_author = authors * (wrote.T @ (ratios @ words))
    stats = {"topic_words": words * (ratios.T @ topics), "author_topics": by_author}
    topics = topics[:, : hyper.n_components]
    return KernelResult(stats, topics / topics.sum(axis=1, keepdims=True), None, {})


def scratch(size, options):
    """For each entry the row of its word and that of its document."""
    return Scratch(transient=2 * 4 * size.n_entries * size.columns["topic_words"])


@dataclass(frozen=True)
class ByRow:
    """weights <- (1 - rho_i) weights + rho_i S for row i, rho_i = (1 + updates of the row)^-0.6."""

    companions: ClassVar = {"steps": ArraySpec("", columns=1, dtype="int64")}

    def step(self, array, stats, info):
        steps = info.companions["steps"]
        rate = (2.0 + steps.gather(stats.ids)[:, 0]) ** -0.6
        array.add(stats, row_weight=rate, row_decay=1.0 - rate)
        steps.add(AxisStats(stats.ids, np.eye(1, steps.n_columns).repeat(len(rate), axis=0)))


START = {"start": ("uniform", None)}
ARRAYS = {
    "topic_words": ArraySpec("word", prior="topic_word_prior", **START),
    "author_topics": ArraySpec("author", prior="author_topic_prior", normalised_over="components", **START),
}
AXES = {name: spec.rows for name, spec in ARRAYS.items()}
KERNEL = Kernel("author-steps", run, dict.fromkeys(ARRAYS, "mean"), AXES, scratch=scratch)
SCHEMES = {"topic_words": Interpolate(), "author_topics": ByRow()}
MODEL = Model("author-steps", ARRAYS)
METHOD = Method("author-steps", KERNEL, SCHEMES, MODEL, batch_size=70, slice_size=35, max_iter=2)

"""Authors that write often move in smaller steps: each has its own count of updates beside its topics."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.types import AxisStats, Kernel, KernelResult, Scratch


def run(docs, view, hyper, seed, state):
    n = hyper.n_components
    words, authors = view.arrays["topic_words"], view.arrays["author_topics"]
    writer = np.repeat(np.arange(docs.n_docs), np.diff(docs.author_indptr))
    topics = np.zeros((docs.n_docs, n))
    np.add.at(topics, writer, authors[docs.authors, :n])
    entry = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    share = words[docs.words, :n] * topics[entry]
    share *= docs.counts[:, None] / share.sum(axis=1, keepdims=True)
    stats = {name: np.zeros_like(rows) for name, rows in view.arrays.items()}
    np.add.at(stats["topic_words"][:, :n], docs.words, share)
    mass = np.zeros_like(topics)
    np.add.at(mass, entry, share)
    np.add.at(stats["author_topics"][:, :n], docs.authors, mass[writer])
    return KernelResult(stats, topics / topics.sum(axis=1, keepdims=True), None, {})


def scratch(size, options):
    """For each entry the row of its word and its shares."""
    return Scratch(passing=(4 + 8) * size.n_entries * size.n_components)


@dataclass(frozen=True)
class ByRow:
    """weights <- (1 - rho_i) weights + rho_i S for row i, rho_i = (1 + updates of the row)^-decay."""

    learning_decay: float = 0.6
    companions: ClassVar = {"steps": ArraySpec("", columns=1, dtype="int64")}

    def step(self, array, stats, info):
        steps = info.companions["steps"]
        rate = (2.0 + steps.gather(stats.ids)[:, 0]) ** -self.learning_decay
        array.add(stats, row_weight=rate, row_decay=1.0 - rate)
        steps.add(AxisStats(stats.ids, np.eye(1, steps.n_columns).repeat(len(rate), axis=0)))


WORDS = ArraySpec("word", prior="topic_word_prior", start=("uniform", None))
AUTHORS = ArraySpec(
    "author", prior="author_topic_prior", normalised_over="components", start=("uniform", None)
)
ARRAYS = {"topic_words": WORDS, "author_topics": AUTHORS}
AXES = {name: spec.rows for name, spec in ARRAYS.items()}
METHOD = Method(
    "author-steps",
    Kernel("author-steps", run, dict.fromkeys(ARRAYS, "mean"), AXES, scratch=scratch),
    {"topic_words": Interpolate(), "author_topics": ByRow()},
    Model("author-steps", ARRAYS),
    batch_size=70,
    slice_size=35,
    max_iter=2,
)

"""Params on three axes (words, authors, none), a scheme for each."""

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.replace import Replace
from bigtopic.types import Kernel, KernelResult, Scratch


def ascribe(docs, view, hyper, seed, state):
    """A document's topics are the mean of its authors', times how common each topic is."""
    n = hyper.n_components
    words, authors = view.arrays[TOPIC_WORDS], view.arrays["author_topics"]
    writer = np.repeat(np.arange(docs.n_docs), np.diff(docs.author_indptr))
    n_writers = np.diff(docs.author_indptr)[:, None]
    topics = np.zeros((docs.n_docs, n))
    np.add.at(topics, writer, authors[docs.authors, :n])
    topics = (topics / n_writers + 1e-3) * view.arrays["commonness"][0, :n]
    entry = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    share = words[docs.words, :n] * topics[entry]
    share *= docs.counts[:, None] / share.sum(axis=1, keepdims=True)
    stats = {name: np.zeros_like(rows) for name, rows in view.arrays.items()}
    np.add.at(stats[TOPIC_WORDS][:, :n], docs.words, share)
    mass = np.zeros_like(topics)
    np.add.at(mass, entry, share)
    np.add.at(stats["author_topics"][:, :n], docs.authors, (mass / n_writers)[writer])
    stats["commonness"][0, :n] = mass.sum(axis=0)
    topics /= topics.sum(axis=1, keepdims=True)
    return KernelResult(stats, topics, None, {})


def scratch(size, options):
    """For each entry the row of its word and its shares."""
    return Scratch(passing=(4 + 8) * size.n_entries * size.n_components)


START = {"normalised_over": "components", "start": ("uniform", None)}
ARRAYS = {
    TOPIC_WORDS: ArraySpec("word", prior="topic_word_prior", start=("uniform", None)),
    "author_topics": ArraySpec("author", prior="author_topic_prior", **START),
    "commonness": ArraySpec("none", prior="commonness_prior", **START),
}
AXES = {name: spec.rows for name, spec in ARRAYS.items()}
METHOD = Method(
    "authors",
    Kernel("authors", ascribe, dict.fromkeys(ARRAYS, "mean"), AXES, scratch=scratch),
    {TOPIC_WORDS: Interpolate(), "author_topics": Add(), "commonness": Replace()},
    Model("authors", ARRAYS),
    batch_size=70,
    slice_size=35,
    max_iter=2,
)

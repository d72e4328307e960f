"""Params on three axes (words, authors, none), a scheme for each."""

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.replace import Replace
from bigtopic.types import Kernel, KernelResult


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


_UNIFORM = ("uniform", None)
METHOD = Method(
    "authors",
    Kernel(
        "authors",
        ascribe,
        {TOPIC_WORDS: "mean", "author_topics": "mean", "commonness": "mean"},
        {TOPIC_WORDS: "word", "author_topics": "author", "commonness": "none"},
    ),
    {TOPIC_WORDS: Interpolate(), "author_topics": Add(), "commonness": Replace()},
    Model(
        "authors",
        {
            TOPIC_WORDS: ArraySpec("word", prior="topic_word_prior", start=_UNIFORM),
            "author_topics": ArraySpec(
                "author", prior="author_topic_prior", normalised_over="components", start=_UNIFORM
            ),
            "commonness": ArraySpec(
                "none", prior="commonness_prior", normalised_over="components", start=_UNIFORM
            ),
        },
    ),
    batch_size=70,
    slice_size=35,
    max_iter=2,
)

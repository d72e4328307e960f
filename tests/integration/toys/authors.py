"""Params on three axes (words, authors, none), a scheme for each."""

import numpy as np
from scipy.sparse import csr_array

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.replace import Replace
from bigtopic.types import Kernel, KernelResult, Scratch


def ascribe(docs, view, hyper, seed, state):
    """A document's topics are the mean of its authors', times how common each topic is."""
    words, authors, commonness = (view.arrays[name] for name in ARRAYS)
    n_writers = np.diff(docs.author_indptr)
    pairs = 1 / n_writers.repeat(n_writers), docs.authors, docs.author_indptr
    mean = csr_array(pairs, (docs.n_docs, docs.n_authors))
    topics = ((mean @ authors + 1e-3) * commonness).astype(words.dtype)
    expected = np.einsum("ek,ek->e", words[docs.words], topics.repeat(np.diff(docs.indptr), axis=0))
    ratios = csr_array((docs.counts / expected, docs.words, docs.indptr), (docs.n_docs, len(words)))
    mass = topics * (ratios @ words)
    stats = words * (ratios.T @ topics), mean.T @ mass, mass.sum(axis=0, keepdims=True)
    topics = topics[:, : hyper.n_components]
    topics /= topics.sum(axis=1, keepdims=True)
    return KernelResult(dict(zip(ARRAYS, stats, strict=True)), topics, None, {})


def scratch(size, options):
    """For each entry the row of its word and that of its document."""
    return Scratch(transient=2 * 4 * size.n_entries * size.columns["topic_words"])


START = {"normalised_over": "components", "start": ("uniform", None)}
ARRAYS = {
    "topic_words": ArraySpec("word", prior="topic_word_prior", start=("uniform", None)),
    "author_topics": ArraySpec("author", prior="author_topic_prior", **START),
    "commonness": ArraySpec("none", prior="commonness_prior", **START),
}
AXES = {name: spec.rows for name, spec in ARRAYS.items()}
KERNEL = Kernel("authors", ascribe, dict.fromkeys(ARRAYS, "mean"), AXES, scratch=scratch)
SCHEMES = {"topic_words": Interpolate(), "author_topics": Add(), "commonness": Replace()}
METHOD = Method(
    "authors", KERNEL, SCHEMES, Model("authors", ARRAYS), batch_size=70, slice_size=35, max_iter=2
)

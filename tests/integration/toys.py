"""Three toy methods that ask of the runtime what later methods need, each about twenty lines of NumPy.

* `LABELS`: documents of a slice interact and keep a label per entry from pass to pass (as collapsed Gibbs does).
* `INNER`, `STOPPING`: a round repeats over provisional params; documents remember their topics within the round.
* `AUTHORS`: params on three axes (words, authors, none), a scheme for each.
"""

from __future__ import annotations

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.replace import Replace
from bigtopic.types import Kernel, KernelResult, StateSpec


def document_of_entry(indptr):
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


# ------------------------------------------------- documents interact, labels live as long as the run


def label(docs, view, hyper, seed, state):
    """Each entry takes the topic that has most of its word and document, and the next entry sees it."""
    rows = view.arrays[TOPIC_WORDS].astype(np.float64)  # a copy: this slice changes it as it goes
    before, topics = rows.copy(), np.zeros((docs.n_docs, hyper.n_components))
    labels = np.full(len(docs.words), -1) if state is None else state["labels"].astype(np.int64)
    for d in range(docs.n_docs):
        own = range(docs.indptr[d], docs.indptr[d + 1])
        for i in own:
            if labels[i] >= 0:
                topics[d, labels[i]] += docs.counts[i]
        draw = np.random.default_rng([seed, docs.rows[d]])
        for i in own:
            word, count = docs.words[i], docs.counts[i]
            if labels[i] >= 0:
                rows[word, labels[i]] -= count
                topics[d, labels[i]] -= count
            share = (topics[d] + hyper.doc_topic_prior) * rows[word, : hyper.n_components]
            labels[i] = draw.choice(hyper.n_components, p=share / share.sum())
            rows[word, labels[i]] += count
            topics[d, labels[i]] += count
    stats = {TOPIC_WORDS: np.round(rows - before).astype(np.float32)}
    topics = topics + hyper.doc_topic_prior
    topics /= topics.sum(axis=1, keepdims=True)
    return KernelResult(stats, topics, {"labels": labels.astype(np.int16)}, {})


LABELS = Method(
    "labels",
    Kernel(
        "labels",
        label,
        {TOPIC_WORDS: "counts"},
        {TOPIC_WORDS: "word"},
        interacts=True,
        state="run",
        remembers={"labels": StateSpec("entry", "int16", missing=-1)},
    ),
    {TOPIC_WORDS: Add()},
    batch_size=70,
    slice_size=35,
    max_iter=3,
    init={TOPIC_WORDS: ("uniform", 0.0)},  # nothing: every token is counted when it gets its first label
)


# ------------------------------------------------- inner rounds over provisional params


def expect(docs, view, hyper, seed, state):
    """One step of EM for the topics of each document, from where the last turn of this round left them."""
    words, entry = view.arrays[TOPIC_WORDS][docs.words, : hyper.n_components], document_of_entry(docs.indptr)
    start = np.full((docs.n_docs, hyper.n_components), 1 / hyper.n_components)
    topics = start if state is None else state["topics"]
    share = words * topics[entry]
    share *= docs.counts[:, None] / share.sum(axis=1, keepdims=True)
    stats = np.zeros_like(view.arrays[TOPIC_WORDS])
    np.add.at(stats[:, : hyper.n_components], docs.words, share)
    mass = hyper.doc_topic_prior + np.zeros_like(start)
    np.add.at(mass, entry, share)
    mass /= mass.sum(axis=1, keepdims=True)
    return KernelResult(
        {TOPIC_WORDS: stats}, mass, {"topics": mass}, {"moved": float(np.abs(mass - topics).sum())}
    )


def not_at_rest(turn, info):
    """A stopping rule: until topics move by less than 2 (all documents of the minibatch), at most 9 turns."""
    return turn < 9 and info["moved"] > 2


REMEMBERED = {"topics": StateSpec("document", "float64", ("n_components",))}
EXPECT = Kernel(
    "expect", expect, {TOPIC_WORDS: "mean"}, {TOPIC_WORDS: "word"}, state="round", remembers=REMEMBERED
)
INNER = Method(
    "inner", EXPECT, {TOPIC_WORDS: Interpolate()}, batch_size=70, slice_size=35, inner=3, max_iter=2
)
STOPPING = Method(
    "stopping",
    EXPECT,
    {TOPIC_WORDS: Interpolate()},
    batch_size=70,
    slice_size=35,
    inner=not_at_rest,
    max_iter=2,
)


# ------------------------------------------------- params on several axes


def ascribe(docs, view, hyper, seed, state):
    """A document's topics are the mean of its authors', times how common each topic is."""
    n = hyper.n_components
    words, authors = view.arrays[TOPIC_WORDS], view.arrays["author_topics"]
    writer = document_of_entry(docs.author_indptr)
    n_writers = np.diff(docs.author_indptr)[:, None]
    topics = np.zeros((docs.n_docs, n))
    np.add.at(topics, writer, authors[docs.authors, :n])
    topics = (topics / n_writers + 1e-3) * view.arrays["commonness"][0, :n]
    entry = document_of_entry(docs.indptr)
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
AUTHORS = Method(
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

METHODS = {method.name: method for method in (LABELS, INNER, STOPPING, AUTHORS)}

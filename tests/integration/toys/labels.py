"""Documents of a slice interact and keep a label per entry from pass to pass, as in collapsed Gibbs sampling."""

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.types import Kernel, KernelResult, Scratch, StateSpec


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


def scratch(size, options):
    """Rows of the slice in double precision: as they came, as they are, and what is between them, twice."""
    return Scratch(passing=4 * 8 * size.rows[TOPIC_WORDS] * size.columns[TOPIC_WORDS])


METHOD = Method(
    "labels",
    Kernel(
        "labels",
        label,
        {TOPIC_WORDS: "counts"},
        {TOPIC_WORDS: "word"},
        scratch=scratch,
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

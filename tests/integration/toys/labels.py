"""Documents of a slice interact and keep a label per entry from pass to pass, as in collapsed Gibbs sampling."""

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.types import Kernel, KernelResult, Scratch, StateSpec


def label(docs, view, hyper, seed, state):
    """Each entry draws a topic, likely one that has much of its word and document, and the next entry sees it."""
    rows, n = view.arrays[TOPIC_WORDS].astype(np.float64), hyper.n_components  # this slice changes the copy
    before, topics = rows.copy(), np.zeros((docs.n_docs, n))
    labels = np.full(len(docs.words), -1) if state is None else state["labels"].astype(np.int64)
    counted = docs.counts * (labels >= 0)  # in the rows already
    np.add.at(topics, (np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), labels), counted)
    for d in range(docs.n_docs):
        entries = range(docs.indptr[d], docs.indptr[d + 1])
        draws = np.random.default_rng([seed, docs.rows[d]]).random(len(entries))
        for i, draw in zip(entries, draws, strict=True):
            of_word, of_doc = rows[docs.words[i], :n], topics[d]
            of_word[labels[i]] -= counted[i]
            of_doc[labels[i]] -= counted[i]
            shares = ((of_doc + hyper.doc_topic_prior) * of_word).cumsum()
            labels[i] = shares.searchsorted(draw * shares[-1], "right")  # choice() checks them each time
            of_word[labels[i]] += docs.counts[i]
            of_doc[labels[i]] += docs.counts[i]
    stats = {TOPIC_WORDS: np.round(rows - before).astype(np.float32)}
    topics += hyper.doc_topic_prior
    topics /= topics.sum(axis=1, keepdims=True)
    return KernelResult(stats, topics, {"labels": labels.astype(np.int16)}, {})


def scratch(size, options):
    """Rows of the slice in double precision: as they came, as they are, and what is between them, twice."""
    return Scratch(transient=4 * 8 * size.rows[TOPIC_WORDS] * size.columns[TOPIC_WORDS])


REMEMBERED = {"labels": StateSpec("entry", "int16", missing=-1)}
VIEWS, AXES, START = {TOPIC_WORDS: "counts"}, {TOPIC_WORDS: "word"}, {TOPIC_WORDS: ("uniform", 0.0)}
KERNEL = Kernel(
    "labels", label, VIEWS, AXES, scratch=scratch, interacts=True, state="run", remembers=REMEMBERED
)
# nothing: every token is counted when it gets its first label
METHOD = Method("labels", KERNEL, {TOPIC_WORDS: Add()}, batch_size=70, slice_size=35, max_iter=3, init=START)

"""A round repeats over provisional params, three times or until a rule ends it; documents remember topics in it."""

from dataclasses import replace

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.types import Kernel, KernelResult, Scratch, StateSpec


def expect(docs, view, hyper, seed, state):
    """One step of EM for the topics of each document, from where the last inner iteration of this round left them."""
    words = view.arrays[TOPIC_WORDS][docs.words, : hyper.n_components]
    entry = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    start = np.full((docs.n_docs, hyper.n_components), 1 / hyper.n_components)
    topics = start if state is None else state["topics"]
    share = words * topics[entry]
    share *= docs.counts[:, None] / share.sum(axis=1, keepdims=True)
    stats = np.zeros_like(view.arrays[TOPIC_WORDS])
    np.add.at(stats[:, : hyper.n_components], docs.words, share)
    mass = hyper.doc_topic_prior + np.zeros_like(start)
    np.add.at(mass, entry, share)
    mass /= mass.sum(axis=1, keepdims=True)
    moved = float(np.abs(mass - topics).sum())
    return KernelResult({TOPIC_WORDS: stats}, mass, {"topics": mass}, {"moved": moved})


def scratch(size, options):
    """For each entry the row of its word, the topics of its document, and its shares."""
    return Scratch(transient=(4 + 8 + 8) * size.n_entries * size.n_components)


def not_at_rest(iteration, info):
    """A stopping rule: until topics move by less than 2 (all documents of the minibatch), at most 9 inner
    iterations."""
    return iteration < 9 and info["moved"] > 2


REMEMBERED = {"topics": StateSpec("document", "float64", ("n_components",))}
VIEWS, AXES = {TOPIC_WORDS: "mean"}, {TOPIC_WORDS: "word"}
EXPECT = Kernel("expect", expect, VIEWS, AXES, scratch=scratch, state="round", remembers=REMEMBERED)
SCHEMES = {TOPIC_WORDS: Interpolate()}
METHOD = Method("inner", EXPECT, SCHEMES, batch_size=70, slice_size=35, inner=3, max_iter=2)
STOPPING = replace(METHOD, name="stopping", inner=not_at_rest)

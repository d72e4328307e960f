"""The prior of documents' topics is learned: one step of Newton's method per update (Blei, Ng, Jordan 2003, A.4.2)."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import polygamma, psi

from bigtopic.kernels import load
from bigtopic.methods import Method
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.types import AxisStats

VB = load("vb")


def run(docs, view, hyper, seed, state):
    """The kernel `vb`, which infers q(theta) = Dirichlet(gamma), and E[log theta] of every document."""
    result = VB.run(docs, view, hyper._replace(doc_topics=True), seed, state)
    lengths = np.add.reduceat(np.append(docs.counts, 0), docs.indptr[:-1]) * (np.diff(docs.indptr) > 0)
    gamma = result.doc_topics * (hyper.doc_topic_prior.sum() + lengths)[:, None]
    logs = np.zeros((1, view.arrays["topic_words"].shape[1]))
    logs[0, : hyper.n_components] = (psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))).sum(axis=0)
    return result._replace(stats={**result.stats, "doc_topic_prior": logs})


@dataclass(frozen=True)
class Newton:
    """alpha <- alpha - H^-1 g, halved until it is positive."""

    def step(self, array, stats, info):
        n = array.n_components
        alpha, logs = array.gather(None)[0, :n], stats.totals()[:n] / info.n_docs
        gradient = psi(alpha.sum()) - psi(alpha) + logs
        q, z = -polygamma(1, alpha), polygamma(1, alpha.sum())
        move = (gradient - (gradient / q).sum() / (1 / z + (1 / q).sum())) / q
        while (alpha - move <= 0).any():
            move = move / 2
        change = np.zeros((1, array.n_columns))
        change[0, :n] = -move
        array.add(AxisStats(None, change))


STATISTICS = {**VB.statistics, "doc_topic_prior": "none"}
SCHEMES = {"topic_words": Interpolate(), "doc_topic_prior": Newton()}
KERNEL = replace(VB, name="alpha", run=run, statistics=STATISTICS)
METHOD = Method("alpha", KERNEL, SCHEMES, batch_size=70, slice_size=35, max_iter=3)

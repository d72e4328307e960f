"""Variational Bayes: topics and documents have Dirichlet distributions."""

from __future__ import annotations

from bigtopic.methods.method import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.replace import Replace

__all__ = ["METHODS"]

_GAMMA = {TOPIC_WORDS: ("gamma", None)}
# The tolerance is a mean over topics: a looser one stops a document of five words after three iterations.
_CLOSE = {"mean_change_tol": 1e-4}

METHODS = (
    Method(
        "vb",
        "vb",
        {TOPIC_WORDS: Replace()},
        batch_size=None,
        max_iter=100,
        tol=1e-4,
        init=_GAMMA,
        options=_CLOSE,
        summary="batch variational Bayes: one update per pass; the bound never decreases",
        paper="Blei, Ng, Jordan 2003; Hoffman et al. 2013",
    ),
    Method(
        "online-vb",
        "vb",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        init=_GAMMA,
        options={"max_doc_update_iter": 50, **_CLOSE},
        summary="stochastic variational inference",
        paper="Hoffman et al. 2013; settings of Than & Doan, Guaranteed inference in topic models",
    ),
    Method(
        "streaming-vb",
        "vb",
        {TOPIC_WORDS: Add()},
        batch_size=5000,
        init=_GAMMA,
        options={"max_doc_update_iter": 50, **_CLOSE},
        summary="sums the statistics of all minibatches; needs no corpus size and forgets nothing",
        paper="Broderick et al. 2013 (SSU)",
    ),
)

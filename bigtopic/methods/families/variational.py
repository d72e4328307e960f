"""Variational Bayes: topics and documents have Dirichlet distributions."""

from __future__ import annotations

from dataclasses import replace

from bigtopic.methods.method import Method, UntilRest
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add, AddToPrior
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.replace import Replace

__all__ = ["METHODS"]

_GAMMA = {TOPIC_WORDS: ("gamma", None)}
# The tolerance is a mean over topics: a looser one stops a document of five words after three iterations.
_CLOSE = {"mean_change_tol": 1e-4}
_MINIBATCH, _STREAM = 32_768, 3200
_COST = "2 K I per distinct word, K I exp psi"

_SVB = Method(
    "svb",
    "svb",
    {TOPIC_WORDS: AddToPrior()},
    batch_size=_MINIBATCH,
    inner=UntilRest(100, 1e-3),
    priors={"topic_word_prior": 0.01},
    init=_GAMMA,
    options=_CLOSE,
    inference="vb",
    summary="batch variational Bayes of each minibatch until it is at rest, its prior all before it",
    complexity=f"{_COST}, per inner iteration; K numbers per document of the minibatch",
    use="streams of large minibatches that must not be forgotten",
    paper="Broderick et al. 2013 (SVB)",
    aliases=("broderick:SVB", "g-oem:SVB"),
)

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
        complexity=f"{_COST}, per pass; nothing kept of a document",
        use="when the bound is wanted, or a cluster has one corpus to learn from",
        paper="Blei, Ng, Jordan 2003; Hoffman et al. 2013",
        aliases=("hoffman:Batch-VB",),
    ),
    Method(
        "online-vb",
        "vb",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        init=_GAMMA,
        options={"max_doc_update_iter": 50, **_CLOSE},
        summary="stochastic variational inference",
        complexity=f"{_COST}; nothing kept of a document",
        use="to compare with other packages, of which it is the usual method; to learn priors",
        paper="Hoffman et al. 2013; settings of Than & Doan, Guaranteed inference in topic models, except that "
        "documents stop on gamma",
        aliases=("hoffman:SVI", "ope:Online-VB", "g-oem:OLDA"),
    ),
    Method(
        "streaming-vb",
        "vb",
        {TOPIC_WORDS: Add()},
        batch_size=5000,
        init=_GAMMA,
        options={"max_doc_update_iter": 50, **_CLOSE},
        summary="sums the statistics of all minibatches; needs no corpus size and forgets nothing",
        complexity=f"{_COST}; nothing kept of a document",
        use="streams of unknown length that must not be forgotten",
        paper="Broderick et al. 2013 (SSU)",
        aliases=("broderick:SSU", "ope:Streaming-VB"),
    ),
    _SVB,
    replace(
        _SVB,
        name="svb-progressive",
        kernel="svb_progressive",
        batch_size=_STREAM,
        priors={"doc_topic_prior": 0.1, "topic_word_prior": 0.03},
        summary="svb that begins each minibatch progressively, document by document",
        use="to compare with sgs, whose paper starts minibatches so",
        paper="Broderick et al. 2013 (SVB); start, minibatches and priors of Gao, Chen, Zhu 2016",
        aliases=("sgs:SVB", "sgs:Streaming-VB"),
    ),
)

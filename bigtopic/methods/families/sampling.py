"""Gibbs sampling: a topic is drawn for each token; and samples of the topics themselves."""

from __future__ import annotations

from functools import partial

from bigtopic.methods.method import Method
from bigtopic.models.lda import LDA_SAMPLES, TOPIC_WORDS
from bigtopic.schemes.add import Add, DecayAdd
from bigtopic.schemes.interpolate import Interpolate, InterpolateNormalised
from bigtopic.schemes.langevin import Langevin

__all__ = ["METHODS"]

# Every token is counted when it gets its first label.
_NOTHING = {TOPIC_WORDS: ("uniform", 0.0)}
_PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.03}
_SWEEPS = {"burn_in": 25, "samples": 25}
_COST = "K S per token; nothing kept of a document"

_stream = partial(Method, batch_size=3200, priors=_PRIORS, init=_NOTHING, inference="cvb0")

METHODS = (
    Method(
        "cgs",
        "cgs",
        {TOPIC_WORDS: Add()},
        batch_size=20_000,
        slice_size=10_000,
        max_iter=500,
        priors=_PRIORS,
        init=_NOTHING,
        inference="cvb0",
        summary="collapsed Gibbs sampling: a label for each token",
        complexity="topics of its document per token and pass; 2 bytes per token on disk, twice",
        use="sampling from random labels, without the online phase of auto",
        paper="Griffiths and Steyvers 2004; Newman et al. 2009; settings of Gao, Chen, Zhu 2016",
        aliases=("griffiths:Gibbs", "sgs:CGS", "ilr:CGS", "newman:AD-LDA"),
    ),
    Method(
        "online-cgs",
        "gibbs_expected_log",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        init={TOPIC_WORDS: ("gamma", None)},
        options=_SWEEPS,
        summary="stochastic variational topics; documents by Gibbs sampling",
        complexity=_COST,
        use="to compare with online-vb without its independence of tokens; to learn priors",
        paper="Mimno, Hoffman, Blei 2012; settings of Than & Doan, Guaranteed inference in topic models",
        aliases=("mimno:SSI", "ope:Online-CGS", "g-oem:VarGibbs"),
    ),
    Method(
        "ml-cgs",
        "gibbs",
        {TOPIC_WORDS: InterpolateNormalised(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        priors={"topic_word_prior": 0.0},
        init={TOPIC_WORDS: ("uniform", None)},
        options={"statistic": "theta", **_SWEEPS},
        summary="online maximum-likelihood topics; documents by Gibbs sampling",
        complexity=_COST,
        use="to compare with ml-ope",
        paper="updates and settings of Than & Doan, Guaranteed inference in topic models",
    ),
    _stream(
        "sgs",
        "sgs",
        {TOPIC_WORDS: DecayAdd(0.7)},
        summary="streaming Gibbs sampling: cgs of one minibatch, given the decayed counts of earlier ones",
        complexity="topics of its document per token and sweep, K per distinct word; labels of the minibatch",
        use="streams that drift: old minibatches fade",
        paper="Gao, Chen, Zhu 2016, algorithm 2",
        aliases=("sgs:SGS",),
    ),
    _stream(
        "dsgs",
        "sgs",
        {TOPIC_WORDS: DecayAdd(0.7)},
        asynchronous=True,
        summary="sgs whose minibatches move the topics whenever they are done",
        complexity="as sgs; the rows of a minibatch travel to its worker, and its counts back",
        use="streams too fast for one worker, on workers of unequal speed",
        paper="Gao, Chen, Zhu 2016, algorithm 4",
        aliases=("sgs:DSGS",),
    ),
    _stream(
        "cdf",
        "cdf",
        {TOPIC_WORDS: Add()},
        summary="conditional density filtering: one sweep of each document, against topics drawn anew for it",
        complexity="K per token, K gamma draws per distinct word; nothing kept of a document",
        use="to compare with sgs",
        paper="Guhaniyogi, Qamar, Dunson 2014; Gao, Chen, Zhu 2016, algorithm 5",
        aliases=("sgs:CDF-LDA",),
    ),
    Method(
        "lds",
        "gibbs",
        {TOPIC_WORDS: Langevin(prior=1e-4, step_size=0.01, learning_decay=0.55, learning_offset=1000.0)},
        LDA_SAMPLES,
        batch_size=50,
        priors={"doc_topic_prior": 0.01},
        options=_SWEEPS,
        summary="Langevin dynamics: the topics are a sample of their posterior, not an estimate",
        complexity="K S per token, K normal numbers per known word and update; nothing kept of a document",
        use="how certain topics are: average predictions over models that go on with partial_fit",
        paper="Patterson and Teh 2013, their code's settings",
        aliases=("g-oem:LDS", "patterson:SGRLD"),
    ),
)

"""Maximum a posteriori estimation: documents as points on the simplex, by OPE, Frank-Wolfe steps or EM."""

from __future__ import annotations

from functools import partial

from bigtopic.methods.method import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate, InterpolateNormalised
from bigtopic.schemes.replace import Replace

__all__ = ["METHODS"]

_OPE = "Than & Doan, Guaranteed inference in topic models"
_FW = f"Than and Ho 2012; updates and settings of {_OPE}"
_UNIFORM = {TOPIC_WORDS: ("uniform", None)}
_COST = "2 K I per distinct word; nothing kept of a document"

_online = partial(Method, batch_size=5000, init=_UNIFORM, complexity=_COST)

METHODS = (
    _online(
        "ml-ope",
        "ope",
        {TOPIC_WORDS: InterpolateNormalised(learning_decay=0.9, learning_offset=1.0)},
        priors={"topic_word_prior": 0.0},
        options={"statistic": "theta"},
        summary="online maximum-likelihood topics; documents by online MAP estimation (OPE)",
        use="streams of unknown length, where topics need no prior",
        paper=f"{_OPE}, equations 20-21",
        aliases=("ope:ML-OPE",),
    ),
    _online(
        "online-ope",
        "ope",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        options={"statistic": "phi"},
        summary="stochastic variational topics; documents by online MAP estimation (OPE)",
        use="to compare with the paper, whose best method it is",
        paper=f"{_OPE}, section 4",
        aliases=("ope:Online-OPE",),
    ),
    _online(
        "streaming-ope",
        "ope",
        {TOPIC_WORDS: Add()},
        options={"statistic": "phi"},
        summary="online-ope for streams: sums the statistics of all minibatches",
        use="streams of unknown length that must not be forgotten",
        paper=f"{_OPE}, equation 27",
        aliases=("ope:Streaming-OPE",),
    ),
    _online(
        "ml-fw",
        "frank_wolfe",
        {TOPIC_WORDS: InterpolateNormalised(learning_decay=0.9, learning_offset=1.0)},
        priors={"topic_word_prior": 0.0},
        options={"statistic": "theta"},
        summary="ml-ope with Frank-Wolfe steps: sparse documents, nothing random, no document-topic prior",
        use="documents with few topics each, when results must not depend on draws",
        paper=_FW,
        aliases=("ope:ML-FW",),
    ),
    _online(
        "online-fw",
        "frank_wolfe",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        options={"statistic": "phi"},
        summary="online-ope with Frank-Wolfe steps",
        use="to compare with online-ope: what the document-topic prior adds",
        paper=_FW,
        aliases=("ope:Online-FW",),
    ),
    _online(
        "streaming-fw",
        "frank_wolfe",
        {TOPIC_WORDS: Add()},
        options={"statistic": "phi"},
        summary="streaming-ope with Frank-Wolfe steps",
        use="to compare with streaming-ope",
        paper=_FW,
        aliases=("ope:Streaming-FW",),
    ),
    Method(
        "plsa",
        "map_em",
        {TOPIC_WORDS: Replace()},
        batch_size=None,
        max_iter=100,
        tol=1e-4,
        priors={"doc_topic_prior": 1.0, "topic_word_prior": 0.0},
        init=_UNIFORM,
        summary="probabilistic latent semantic analysis: batch EM without priors",
        complexity="2 K I per distinct word and pass; nothing kept of a document",
        use="maximum likelihood as a baseline; doc_topic_prior must be at least 1",
        paper="Hofmann 1999",
        aliases=("hofmann:PLSA", "hofmann:PLSI"),
    ),
)

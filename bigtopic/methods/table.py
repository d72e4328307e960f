"""The table of methods. To add a method, add a row."""

from __future__ import annotations

from bigtopic.methods.method import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.interpolate_normalised import InterpolateNormalised
from bigtopic.schemes.replace import Replace

__all__ = ["DEFAULT", "TABLE"]

DEFAULT = "online-cvb0"
_OPE = "Than & Doan, Guaranteed inference in topic models"
_GAMMA = {TOPIC_WORDS: ("gamma", None)}
_UNIFORM = {TOPIC_WORDS: ("uniform", None)}
# The tolerance is a mean over topics: a looser one stops a document of five words after three iterations.
_CLOSE = {"mean_change_tol": 1e-4}


def _few_tokens(n_components: int) -> float:
    """In the literature alpha. Summed over topics: one pseudo-token for few topics, five for many."""
    return max(1 / n_components, min(0.1, 5 / n_components))


def _by_root(n_components: int) -> float:
    """In the literature eta. Smaller for more topics, because each then has fewer words."""
    least: float = 0.35 / n_components**0.5
    return max(1 / n_components, least)


TABLE = (
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
        paper=f"Hoffman et al. 2013; settings of {_OPE}",
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
    Method(
        "ml-ope",
        "ope",
        {TOPIC_WORDS: InterpolateNormalised(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        priors={"topic_word_prior": 0.0},
        init=_UNIFORM,
        options={"statistic": "theta"},
        summary="online maximum-likelihood topics; documents by online MAP estimation (OPE)",
        paper=f"{_OPE}, equations 20-21",
    ),
    Method(
        "online-ope",
        "ope",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        init=_UNIFORM,
        options={"statistic": "phi"},
        summary="stochastic variational topics; documents by online MAP estimation (OPE)",
        paper=f"{_OPE}, section 4",
    ),
    Method(
        "streaming-ope",
        "ope",
        {TOPIC_WORDS: Add()},
        batch_size=5000,
        init=_UNIFORM,
        options={"statistic": "phi"},
        summary="online-ope for streams: sums the statistics of all minibatches",
        paper=f"{_OPE}, equation 27",
    ),
    Method(
        "online-cvb0",
        "cvb0",
        {TOPIC_WORDS: Interpolate(learning_decay=0.7, learning_offset=1.0, scale="tokens")},
        batch_size=500,
        delay=1,
        least_rounds=20,
        max_iter=5,
        enough_rounds=300,
        priors={"doc_topic_prior": _few_tokens, "topic_word_prior": _by_root},
        init={TOPIC_WORDS: ("uniform", 1.0)},
        summary="zero-order collapsed variational inference with topics fixed per minibatch; the default",
        paper="Foulds et al. 2013; Asuncion et al. 2009",
    ),
)

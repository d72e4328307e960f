"""Documents by OPE: online MAP estimation with a guarantee."""

from __future__ import annotations

from bigtopic.methods.method import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.interpolate_normalised import InterpolateNormalised

__all__ = ["METHODS"]

_OPE = "Than & Doan, Guaranteed inference in topic models"
_UNIFORM = {TOPIC_WORDS: ("uniform", None)}

METHODS = (
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
)

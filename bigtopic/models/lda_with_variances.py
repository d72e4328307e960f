"""LDA with the variances of its expected counts, for approximations of second order (kernel `cvb`)."""

from __future__ import annotations

from bigtopic.models.base import ArraySpec, Model
from bigtopic.models.lda import LDA

__all__ = ["LDA_WITH_VARIANCES", "TOPIC_WORD_VARIANCES"]

TOPIC_WORD_VARIANCES = "topic_word_variances"

LDA_WITH_VARIANCES = Model(
    "lda-with-variances", {**LDA.arrays, TOPIC_WORD_VARIANCES: ArraySpec("word", normalised_over=None)}
)

"""LDA whose topic weights have no prior of their own, for schemes that draw samples (`langevin`, `lazy_langevin`).

Their prior is a setting of the scheme, because the prior of an array is added to its weights.
"""

from __future__ import annotations

from bigtopic.models.base import ArraySpec, Model
from bigtopic.models.lda import LDA, TOPIC_WORDS

__all__ = ["LDA_SAMPLES"]

LDA_SAMPLES = Model("lda-samples", {**LDA.arrays, TOPIC_WORDS: ArraySpec("word", start=("uniform", None))})

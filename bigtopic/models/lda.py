"""Latent Dirichlet allocation (Blei, Ng, Jordan 2003).

Each topic is a distribution over words, drawn from a Dirichlet with the topic-word prior; each document mixes the
topics with weights drawn from a Dirichlet with the document-topic prior. Two arrays are global: the topics' weights
over the words, (n_words, n_components), word-major, so that a minibatch gathers and scatters whole rows; and the
document-topic prior, (1, n_components), which a scheme may learn.

`LDA_SAMPLES`: topic weights without a prior, for schemes that draw samples (`langevin`, `lazy_langevin`).

Their prior is a setting of the scheme, because the prior of an array is added to its weights.
They begin uniform between 0 and 1; the authors' code draws them from Gamma(1, 1), farther apart, and steps are small:
with 10 topics of 447 docstrings that scores 0.17 nats per word less after 27 updates, and the same after 270.

`LDA_WITH_VARIANCES`: with the variances of expected counts, for approximations of second order (kernel `cvb`).
"""

from __future__ import annotations

from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec, Model

__all__ = ["LDA", "LDA_SAMPLES", "LDA_WITH_VARIANCES", "TOPIC_WORDS", "TOPIC_WORD_VARIANCES"]

TOPIC_WORDS = "topic_words"

LDA = Model(
    "lda",
    {
        TOPIC_WORDS: ArraySpec("word", prior="topic_word_prior", start=("uniform", None)),
        DOC_TOPIC_PRIOR: ArraySpec("none", prior=DOC_TOPIC_PRIOR, normalised_over=None, dtype="float64"),
    },
)


LDA_SAMPLES = Model("lda-samples", {**LDA.arrays, TOPIC_WORDS: ArraySpec("word", start=("uniform", None))})


TOPIC_WORD_VARIANCES = "topic_word_variances"

LDA_WITH_VARIANCES = Model(
    "lda-with-variances", {**LDA.arrays, TOPIC_WORD_VARIANCES: ArraySpec("word", normalised_over=None)}
)

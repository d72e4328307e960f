"""Latent Dirichlet allocation (Blei, Ng, Jordan 2003).

Each topic is a distribution over words, drawn from a Dirichlet with the topic-word prior; each document mixes the
topics with weights drawn from a Dirichlet with the document-topic prior. Two arrays are global: the topics' weights
over the words, (n_words, n_components), word-major, so that a minibatch gathers and scatters whole rows; and the
document-topic prior, (1, n_components), which a scheme may learn.
"""

from __future__ import annotations

from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec, Model

__all__ = ["LDA", "TOPIC_WORDS"]

TOPIC_WORDS = "topic_words"

LDA = Model(
    "lda",
    {
        TOPIC_WORDS: ArraySpec("word", prior="topic_word_prior", start=("uniform", None)),
        DOC_TOPIC_PRIOR: ArraySpec("none", prior=DOC_TOPIC_PRIOR, normalised_over=None, dtype="float64"),
    },
)

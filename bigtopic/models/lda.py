"""Latent Dirichlet allocation (Blei, Ng, Jordan 2003).

Each topic is a distribution over words, drawn from a Dirichlet with the topic-word prior; each document mixes the
topics with weights drawn from a Dirichlet with the document-topic prior. Global is one array, the topics' weights over
the words: (n_words, n_components), word-major, so that a minibatch gathers and scatters whole rows.
"""

from __future__ import annotations

from bigtopic.models.base import ArraySpec, Model

__all__ = ["LDA", "TOPIC_WORDS"]

TOPIC_WORDS = "topic_words"

LDA = Model("lda", {TOPIC_WORDS: ArraySpec(axis="word", prior="topic_word_prior", normalised_over="axis")})

"""The author-topic model (Rosen-Zvi, Griffiths, Steyvers, Smyth 2004).

Each author, tag or label mixes the topics with weights drawn from a Dirichlet with the author-topic prior; each topic
is a distribution over words. For each token of a document one of its authors is chosen at random, and then one of this
author's topics. Global are the topics' weights over the words, (n_words, n_components), and the authors' weights over
the topics, (n_authors, n_components), both row by row, so that a minibatch gathers and scatters its own rows. A
document without known authors is the first of a new one: its topics have the prior of an author's.
"""

from __future__ import annotations

from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec, Model
from bigtopic.models.lda import LDA, TOPIC_WORDS

__all__ = ["AUTHOR_TOPIC", "AUTHOR_TOPICS", "AUTHOR_TOPIC_PRIOR"]

AUTHOR_TOPICS = "author_topics"
AUTHOR_TOPIC_PRIOR = "author_topic_prior"

AUTHOR_TOPIC = Model(
    "author-topic",
    {
        TOPIC_WORDS: LDA.arrays[TOPIC_WORDS],
        AUTHOR_TOPICS: ArraySpec(
            "author", prior=AUTHOR_TOPIC_PRIOR, normalised_over="components", start=("gamma", None)
        ),
        DOC_TOPIC_PRIOR: ArraySpec("none", prior=AUTHOR_TOPIC_PRIOR, normalised_over=None, dtype="float64"),
    },
)

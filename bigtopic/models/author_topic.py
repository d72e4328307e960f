"""The author-topic model (Rosen-Zvi, Griffiths, Steyvers, Smyth 2004).

Each author, tag or label mixes the topics with weights drawn from a Dirichlet with the author-topic prior; each topic
is a distribution over words. For each token of a document one of its authors is chosen at random, and then one of this
author's topics. Global are the topics' weights over the words, (n_words, n_components), and the authors' weights over
the topics, (n_authors, n_components), both row by row, so that a minibatch gathers and scatters its own rows. A
document without known authors is the first of a new one: its topics have the prior of an author's.

`AUTHOR_TOPIC_ONLINE`: with the number of documents of each author, for updates by minibatches.

`AUTHOR_TOPIC_WITH_VARIANCES`: with the variances of expected counts, for approximations of second order.

Authors have two arrays of them (kernel `author_cvb`): of the tokens that an author has in each topic, and of all the
author's tokens. The second is not the sum of the first: that a token is the author's may be certain, and its topic not.
"""

from __future__ import annotations

from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec, Model
from bigtopic.models.lda import LDA, TOPIC_WORD_VARIANCES, TOPIC_WORDS

__all__ = [
    "AUTHOR_DOCUMENTS",
    "AUTHOR_TOPIC",
    "AUTHOR_TOPICS",
    "AUTHOR_TOPIC_ONLINE",
    "AUTHOR_TOPIC_PRIOR",
    "AUTHOR_TOPIC_VARIANCES",
    "AUTHOR_TOPIC_WITH_VARIANCES",
    "AUTHOR_VARIANCES",
    "COUNTED",
]

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


AUTHOR_DOCUMENTS = "author_documents"

AUTHOR_TOPIC_ONLINE = Model(
    "author-topic-online",
    {
        **AUTHOR_TOPIC.arrays,
        AUTHOR_DOCUMENTS: ArraySpec("author", columns=1, normalised_over=None, start=("documents", None)),
    },
)


AUTHOR_TOPIC_VARIANCES = "author_topic_variances"
AUTHOR_VARIANCES = "author_variances"
COUNTED = (TOPIC_WORDS, TOPIC_WORD_VARIANCES, AUTHOR_TOPICS, AUTHOR_TOPIC_VARIANCES, AUTHOR_VARIANCES)

AUTHOR_TOPIC_WITH_VARIANCES = Model(
    "author-topic-with-variances",
    {
        **AUTHOR_TOPIC.arrays,
        TOPIC_WORD_VARIANCES: ArraySpec("word", normalised_over=None),
        AUTHOR_TOPIC_VARIANCES: ArraySpec("author", normalised_over=None),
        AUTHOR_VARIANCES: ArraySpec("author", columns=1, normalised_over=None),
    },
)

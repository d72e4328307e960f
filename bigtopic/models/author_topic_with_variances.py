"""The author-topic model with the variances of its expected counts, for approximations of second order.

Authors have two arrays of them (kernel `author_cvb`): of the tokens that an author has in each topic, and of all the
author's tokens. The second is not the sum of the first: that a token is the author's may be certain, and its topic not.
"""

from __future__ import annotations

from bigtopic.models.author_topic import AUTHOR_TOPIC, AUTHOR_TOPICS
from bigtopic.models.base import ArraySpec, Model
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.models.lda_with_variances import TOPIC_WORD_VARIANCES

__all__ = ["AUTHOR_TOPIC_VARIANCES", "AUTHOR_TOPIC_WITH_VARIANCES", "AUTHOR_VARIANCES", "COUNTED"]

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

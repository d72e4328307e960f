"""The author-topic model with the number of documents of each author, for updates by minibatches."""

from __future__ import annotations

from bigtopic.models.author_topic import AUTHOR_TOPIC
from bigtopic.models.base import ArraySpec, Model

__all__ = ["AUTHOR_DOCUMENTS", "AUTHOR_TOPIC_ONLINE"]

AUTHOR_DOCUMENTS = "author_documents"

AUTHOR_TOPIC_ONLINE = Model(
    "author-topic-online",
    {
        **AUTHOR_TOPIC.arrays,
        AUTHOR_DOCUMENTS: ArraySpec("author", columns=1, normalised_over=None, start=("documents", None)),
    },
)

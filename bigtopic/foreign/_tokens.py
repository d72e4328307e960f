"""The topics of a fitted `LDA` as documents of whole tokens, each of one topic.

Libraries that sample labels hold no other statistics than the tokens of their documents: documents that have the labels
of a model give them its topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.foreign._fitted import weights_of

__all__ = ["Tokens", "tokens_of"]

_LENGTH = 1000  # tokens of a document: libraries have tables of topics by length


class Tokens(NamedTuple):
    """Tokens of a model, and its priors.

    counts : int64 (n_components, n_words), of each word in each topic
    doc_topic_prior : float64 (n_components,)
    topic_word_prior : of all topics and words
    words : of the columns
    """

    counts: np.ndarray
    doc_topic_prior: np.ndarray
    topic_word_prior: float
    words: list[str]

    def documents(self) -> Iterator[tuple[int, np.ndarray]]:
        """The topic of each document, and the columns of its tokens."""
        for topic, counts in enumerate(self.counts):
            tokens = np.repeat(np.arange(len(counts)), counts)
            yield from ((topic, tokens[i : i + _LENGTH]) for i in range(0, len(tokens), _LENGTH))


def tokens_of(model: Any) -> Tokens:
    """The tokens of a fitted `LDA`, soft counts rounded.

    Where words or topics have priors of their own, what these exceed the smallest by is rounded with the tokens.

    Raises
    ------
    SettingError
        When it is another model, or has less than one token of any word in a topic.
    """
    weights = weights_of(model)
    smallest = float(weights.topic_word_prior.min())
    counts = np.rint(weights.statistics + (weights.topic_word_prior - smallest)).astype(np.int64)
    if not counts.any():
        raise SettingError(
            "model: has less than one token of every word in every topic, so nothing is left when its counts are "
            f"rounded; train it on more documents, or choose {argument('method', 'cgs')}, which counts whole tokens"
        )
    return Tokens(counts, weights.doc_topic_prior, smallest, list(weights.words or ()))

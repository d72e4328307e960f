"""The simplest model of words: every document has the same distribution. A topic model must beat it."""

from __future__ import annotations

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary

__all__ = ["unigram"]

_SMOOTHING = 0.5


def unigram(counted: Vocabulary, words: Vocabulary | None = None) -> np.ndarray | None:
    """Probability of each word of `words`, float64 (n_words,); None when `counted` has no frequencies.

    Frequencies plus half a token for every word, normalised.

    Parameters
    ----------
    counted : a vocabulary with frequencies, such as a training corpus'
    words : the vocabulary wanted; None for `counted` itself
    """
    frequency = counted.frequency
    if frequency is None:
        return None
    if words is not None:
        ids = words.mapping_to(counted)
        frequency = np.where(ids >= 0, frequency[ids], 0)
    smoothed = frequency + _SMOOTHING
    return smoothed / smoothed.sum()

"""Priors built from seed words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError

__all__ = ["seed_prior"]


def seed_prior(
    seeds: Mapping[int, Iterable[str]] | Sequence[Iterable[str]],
    vocabulary: Any,
    n_components: int,
    *,
    base: float | None = None,
    weight: float = 100.0,
) -> np.ndarray:
    """A topic-word prior that ties seed words to topics.

    Parameters
    ----------
    seeds : {topic: words}, or one list of words per topic for the first topics
    vocabulary : a `Vocabulary`, a corpus, or the words in order
    n_components : number of topics
    base : prior of every other entry; None for 1 / n_components
    weight : prior of a seed word in its topic, in pseudo-tokens

    Returns
    -------
    float64 (n_components, n_words), for `topic_word_prior=`

    Raises
    ------
    SettingError
        For a topic outside 0 .. n_components - 1 or a word that is not in the vocabulary.

    Examples
    --------
    >>> seed_prior({0: ["cat"]}, ["cat", "dog"], 2, base=0.5, weight=10)
    array([[10. ,  0.5],
           [ 0.5,  0.5]])
    """
    words = getattr(vocabulary, "vocabulary", vocabulary)
    known = words if isinstance(words, Vocabulary) else Vocabulary(list(words))
    prior = np.full((n_components, len(known)), 1.0 / n_components if base is None else base)
    items = seeds.items() if isinstance(seeds, Mapping) else enumerate(seeds)
    for topic, given in items:
        if not 0 <= topic < n_components:
            raise SettingError(f"seeds: topic {topic} is outside 0 .. {n_components - 1}")
        if isinstance(given, str):
            raise SettingError(f"seeds: topic {topic} has {given!r:.60}; give a list of words")
        given = list(given)
        ids = known.index_of(given)
        if (ids < 0).any():
            raise SettingError(f"seeds: the word {given[int(np.argmax(ids < 0))]!r} is not in the vocabulary")
        prior[topic, ids] = weight
    return prior

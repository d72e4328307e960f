"""The topics of words: any word of the vocabulary, or several words together.

If all the words W were drawn from one topic, that topic is k with the probability

    p(k | W)  in proportion to  p(k) prod_w p(w | k)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.questions.words import rows_of, shares_of

__all__ = ["topics_of_words"]

MOST_COMPARED = 100_000  # words


def topics_of_words(source: Any, words: str | Iterable[str], n: int) -> dict[str, list[Any]]:
    """The topics that words belong to, most probable first, as columns topic, probability, rank and lift.

    The rank of a word in a topic is 1 if it is the topic's most probable word; of several words it is their mean rank,
    and lift the geometric mean of their lifts.

    Raises
    ------
    SettingError
        When there are no words, or the vocabulary lacks one; suggests those that are spelt like it.
    """
    if not isinstance(words, Iterable):
        raise SettingError(f"words={words!r}: give a word, or several")
    names = [words] if isinstance(words, str) else [str(word) for word in words]
    rows = source.gather(_ids(source, names).astype(np.int32))[:, : source.n_components].astype(np.float64)
    logs = np.log(np.maximum(rows, np.finfo(np.float64).tiny))
    shares = shares_of(source)
    joint = np.log(shares) + logs.sum(axis=0)
    probability = np.exp(joint - joint.max())
    probability /= probability.sum()
    lift = np.exp((logs - np.log(rows @ shares)[:, None]).mean(axis=0))
    topics = np.argsort(-probability, kind="stable")[:n]
    ranks = _ranks(source, rows).mean(axis=0)
    return {
        "topic": topics.tolist(),
        "probability": probability[topics].tolist(),
        "rank": (ranks.astype(int) if len(names) == 1 else ranks)[topics].tolist(),
        "lift": lift[topics].tolist(),
    }


def _ids(source: Any, names: list[str]) -> np.ndarray:
    """Ids of the words."""
    if not names:
        raise SettingError("words: give a word, or several")
    ids = source.vocabulary.index_of(names)
    if (ids < 0).any():
        wrong = names[int(np.argmax(ids < 0))]
        near = _similar(wrong, source.vocabulary[:])
        hint = f"; similar words: {', '.join(near)}" if near else ""
        raise SettingError(f"the model does not know the word {wrong!r}{hint}")
    return ids


def _similar(wrong: str, words: Sequence[str]) -> list[str]:
    """Words that are spelt like it; of very many, only those that begin with the same two letters are compared."""
    if len(words) > MOST_COMPARED:
        words = [word for word in words if word[:2] == wrong[:2]]
    return get_close_matches(wrong, words, 3, 0.6)


def _ranks(source: Any, rows: np.ndarray) -> np.ndarray:
    """Rank of each word in each topic, int64 (n, n_components)."""
    above = np.zeros(rows.shape, np.int64)
    for _, block in rows_of(source):
        for word, own in enumerate(rows):
            above[word] += (block > own).sum(axis=0)
    return above + 1

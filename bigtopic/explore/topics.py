"""The topics of a model as they are shown: their words, their likeness, and the topics of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any
from unicodedata import category, normalize

import numpy as np

from bigtopic.evaluation.source import columns_of, names_of, sums_over_topics, top_words
from bigtopic.evaluation.sparse.lists import lists_of
from bigtopic.questions.compare import similar_pairs, similar_topics, similarity
from bigtopic.questions.documents import topics_in
from bigtopic.questions.maps import places, topic_places
from bigtopic.questions.words import WEIGHTS, shares_of

__all__ = ["Topics", "likeness"]

FIRST = 8  # words that stand for a topic
_RELEVANT = 30  # words at each weight of the probability
_SIMILAR = 8
_TOPICS_OF_WORD = 5


def likeness(source: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Similarity of the topics, (n_topics, n_topics), and their places on a map, (n_topics, 2).

    None for the similarity where topics are lists: it is then computed for one topic when it is asked for.
    """
    if lists_of(source) is not None:
        return None, topic_places(source)
    alike = similarity(source)
    return alike, places(1 - alike)


class Topics:
    """The topics of an estimator, without labels.

    Parameters
    ----------
    known : what `likeness` found, if that is known
    """

    def __init__(self, model: Any, known: tuple[np.ndarray | None, np.ndarray] | None = None) -> None:
        self.model, self.source = model, model.topic_source()
        self.n_topics = self.source.n_components
        self.shares = shares_of(self.source)
        self._alike, self.places = likeness(self.source) if known is None else known
        self.words = lru_cache(maxsize=256)(self._words)
        self.similar = lru_cache(maxsize=256)(self._similar)

    @cached_property
    def first_words(self) -> list[list[str]]:
        """The most probable words of each topic."""
        ids, _ = top_words(self.source, min(FIRST, self.source.n_words))
        return names_of(self.source, ids)

    @cached_property
    def unused(self) -> list[bool]:
        found: list[bool] = self.source.unused.tolist()
        return found

    @cached_property
    def _frequency(self) -> np.ndarray:
        """p(word), float64 (n_words,)."""
        return sums_over_topics(self.source, self.shares)

    def _words(self, topic: int) -> list[tuple[str, float, float]]:
        """Words among the most relevant of a topic at some weight, with probability and lift, most probable first.

        One pass over the rows of the topics, or their lists; see `bigtopic.questions.words.relevant_words`.
        """
        own = columns_of(self.source, np.array([topic]))[:, 0].astype(np.float64)
        lift = own / self._frequency
        logs, log_lift = np.log(own), np.log(lift)
        n = min(_RELEVANT, len(own))
        found = [
            np.argsort(-(weight * logs + (1 - weight) * log_lift), kind="stable")[:n] for weight in WEIGHTS
        ]
        ids = np.unique(np.concatenate(found))
        order = ids[np.argsort(-own[ids], kind="stable")]
        names = self.source.vocabulary
        return [(str(names[i]), float(own[i]), float(lift[i])) for i in order.tolist()]

    def _similar(self, topic: int) -> list[tuple[int, float]]:
        """The topics most like one, and how much."""
        if self._alike is None:
            _, others, scores = similar_topics(self.source, topic, _SIMILAR)
        else:
            _, others = similar_pairs(self._alike, topic, _SIMILAR)
            scores = self._alike[topic, others]
        return list(zip(others.tolist(), scores.tolist(), strict=True))

    # ------------------------------------------------------------------ words

    @cached_property
    def _folded(self) -> list[str]:
        return [_folded(str(word)) for word in self.source.vocabulary[:]]

    def words_like(self, text: str, n: int) -> list[dict[str, Any]]:
        """Words that are a text, begin with it or hold it, in this order, the most frequent first; with their topics.

        Accents and capitals do not matter.
        """
        asked, folded = _folded(text), self._folded
        near = np.array([i for i, word in enumerate(folded) if asked in word], np.int64)
        frequency = self.source.vocabulary.frequency
        weight = np.zeros(len(folded)) if frequency is None else frequency
        words = [folded[i] for i in near.tolist()]
        rank = np.array([(word != asked) + (not word.startswith(asked)) for word in words], np.int8)
        ids = near[np.lexsort((near, -weight[near], rank))][:n]
        rows = self.topics_given(ids)
        best = np.argsort(-rows, axis=1, kind="stable")[:, :_TOPICS_OF_WORD]
        return [
            {
                "word": str(self.source.vocabulary[i]),
                "count": None if frequency is None else float(frequency[i]),
                "topics": [[topic, float(row[topic])] for topic in own],
            }
            for i, row, own in zip(ids.tolist(), rows, best.tolist(), strict=True)
        ]

    def topics_given(self, ids: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
        """p(topic | word), float64 (n, n_topics), under these shares of the topics; None for the model's."""
        rows = self.source.gather(ids.astype(np.int32))[:, : self.n_topics].astype(np.float64)
        rows *= self.shares if shares is None else shares
        rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return rows

    def topic_of(self, words: Sequence[str]) -> int | None:
        """The topic that words most probably belong to; None when the model knows none of them."""
        vocabulary = self.source.vocabulary
        ids = vocabulary.index_of(words) if vocabulary.named and len(words) else np.zeros(0, np.int32)
        known = ids[ids >= 0]
        if not len(known):
            return None
        rows = np.maximum(self.source.gather(known)[:, : self.n_topics], np.finfo(np.float32).tiny)
        return int(np.argmax(np.log(self.shares) + np.log(rows, dtype=np.float64).sum(axis=0)))

    def of_words(self, counts: Mapping[str, float], shares: np.ndarray) -> dict[str, int | None]:
        """The topic of each word of a document with these shares of topics; None of a word that is not known.

        Parameters
        ----------
        shares : float64 (n_topics,)
        """
        words = list(counts)
        ids = self.source.vocabulary.index_of(words)
        known = np.flatnonzero(ids >= 0)
        best = topics_in(self.source, ids[known], shares)[0].tolist()
        found: dict[str, int | None] = dict.fromkeys(words)
        return found | dict(zip((words[i] for i in known.tolist()), best, strict=True))


def _folded(text: str) -> str:
    """The text without accents and capitals, for comparison; the text itself if nothing else is in it."""
    if text.isascii():
        return text.lower()
    return "".join(c for c in normalize("NFD", text) if not category(c).startswith("M")).casefold() or text

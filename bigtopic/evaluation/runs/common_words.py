"""Words that several models know, and topics on such words alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import VocabularyMismatch
from bigtopic.evaluation.source import NO_COMMON_WORD, TopicSource
from bigtopic.evaluation.sparse.lists import lists_of, parts_of
from bigtopic.types import Lists

__all__ = ["CommonWords", "common_words"]

_ROWS = 1 << 15  # words at a time


def common_words(vocabularies: Sequence[Vocabulary]) -> np.ndarray | None:
    """The words that all of these have, in the order of the first; None where all have the same words.

    Raises
    ------
    VocabularyMismatch
        When there is none, or one of the vocabularies has words without names, and another has more or fewer.
    """
    first = vocabularies[0]
    known = np.ones(len(first), bool)
    for other in vocabularies[1:]:
        known &= first.mapping_to(other) >= 0
    if all(len(one) == known.sum() for one in vocabularies):
        return None
    if not known.any():
        raise VocabularyMismatch(NO_COMMON_WORD)
    words: np.ndarray = np.asarray(first[:])[known]
    return words


@dataclass(frozen=True, eq=False)
class CommonWords:
    """The topics of a model on some of its words (a `TopicSource`): p(word | topic, the word is one of these).

    Attributes
    ----------
    source : the topics on all words
    ids : of these words in `source`, int32 (n_words,)
    mass : p(the word is one of these | topic), float64 (n_components,)
    """

    kind: ClassVar[str] = "a model that is narrowed to the words that all models know"

    source: TopicSource
    ids: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, source: TopicSource, words: np.ndarray) -> CommonWords:
        ids = source.vocabulary.index_of(words.tolist())
        lists = lists_of(source, ids)
        if lists is not None:
            mass = parts_of(lists, source.n_components).over_words()
            return cls(source, ids, np.maximum(mass, np.finfo(np.float64).tiny))
        mass = np.zeros(source.n_components)
        for start in range(0, len(ids), _ROWS):
            mass += source.gather(ids[start : start + _ROWS]).sum(axis=0, dtype=np.float64)
        return cls(source, ids, np.maximum(mass, np.finfo(np.float64).tiny))

    @property
    def n_components(self) -> int:
        return self.source.n_components

    @property
    def n_words(self) -> int:
        return len(self.ids)

    @property
    def doc_topic_prior(self) -> np.ndarray:
        return self.source.doc_topic_prior

    @property
    def vocabulary(self) -> Vocabulary:
        return self.source.vocabulary.taken(self.ids)

    @property
    def labels(self) -> Any:
        return getattr(self.source, "labels", None)

    def lists(self, ids: np.ndarray | None = None) -> Lists | None:
        """The lists of these words (all for None), where the source has lists."""
        lists = lists_of(self.source, self.ids if ids is None else self.ids[ids])
        if lists is None:
            return None
        scale = np.ones(len(lists.factor), np.float32)
        scale[: self.n_components] = 1 / self.mass
        offset = lists.offset * scale
        sums = np.cumsum(offset, dtype=np.float64)
        scaled: Lists = lists._replace(factor=lists.factor * scale, offset=offset, offset_sums=sums)
        return scaled

    def gather(self, ids: np.ndarray) -> np.ndarray:
        return np.asarray(self.source.gather(self.ids[ids]) / self.mass, np.float32)

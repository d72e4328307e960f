"""Inner products of topics that are lists, of one model or two, without words times topics.

The vectors u_k of topics, p(w | k) or its root over all words w and divided by their length, are a_k + d_wk, where d is
0 but in the lists. Of the words that both models have, n,

    sum_w u_wk v_wj = n a_k b_j + a_k sum_w f_wj + b_j sum_w d_wk + sum_w d_wk f_wj,    v_wj = b_j + f_wj

Cost: of each word in the list of a topic, the list of the word.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from bigtopic.errors import VocabularyMismatch
from bigtopic.evaluation.source import NO_COMMON_WORD
from bigtopic.evaluation.sparse import _kernels
from bigtopic.evaluation.sparse.lists import Parts, lists_of, parts_of
from bigtopic.parallel.cluster import default_threads
from bigtopic.parallel.mapping import bounded_map

__all__ = ["Products", "unit_parts"]

_BYTES = 1 << 20  # of products at once on a thread: they stay in its cache


class Products:
    """The products of all pairs of topics of two models.

    Attributes
    ----------
    shape : topics of the two
    """

    def __init__(self, one: Parts, other: Parts) -> None:
        self._one, self._other = one, other
        self.shape = len(one.of_others), len(other.of_others)

    @classmethod
    def of(cls, one: Any, other: Any, roots: bool) -> Products | None:
        """The products of p(w | k), or of its roots; None where the topics of a model are not lists.

        Raises
        ------
        VocabularyMismatch
            When the models share no word.
        """
        if lists_of(one) is None or lists_of(other) is None:
            return None
        if other is one:
            parts = unit_parts(one, roots)
            return cls(parts, parts)
        ids = one.vocabulary.mapping_to(other.vocabulary)
        known = ids >= 0
        if not known.any():
            raise VocabularyMismatch(NO_COMMON_WORD)
        own = np.flatnonzero(known).astype(np.int32)
        return cls(unit_parts(one, roots, own), unit_parts(other, roots, ids[known].astype(np.int32)))

    def rows(self, topics: np.ndarray, above: bool = False) -> np.ndarray:
        """The products of topics of the first with all of the other, float64 (n_topics, n_components of the other).

        topics : ascending
        above : of one model, with topics of higher numbers alone; the other numbers are not products
        """
        one, other = self._one, self._other
        found = np.zeros((len(topics), self.shape[1]))
        _kernels.add_products(*one[1:], *other[1:], topics, above, found)
        of_one, of_other = self._sums
        found += one.of_others[topics, None] * (one.n_words * other.of_others + of_other)
        found += of_one[topics, None] * other.of_others
        return found

    def blocks(
        self, topics: np.ndarray | None = None, above: bool = False
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Topics of the first, ascending (all for None), and their `rows`, in blocks, on the threads of the machine."""
        step = max(1, _BYTES // (8 * self.shape[1]))
        every = np.arange(self.shape[0]) if topics is None else topics
        blocks = [every[start : start + step] for start in range(0, len(every), step)]
        found = bounded_map(lambda topics: self.rows(topics, above), blocks, n_threads=default_threads())
        yield from zip(blocks, found, strict=True)

    def all(self) -> np.ndarray:
        """The products of all pairs, float64 (n_components, n_components of the other)."""
        found, same = np.empty(self.shape), self._one is self._other
        for topics, rows in self.blocks(above=same):
            found[topics] = rows
            if same:  # what is below is above elsewhere
                first = topics[0]
                found[topics, :first] = found[:first, topics].T
                upper = np.triu(rows[:, topics], 1)
                found[topics, first : first + len(topics)] = upper + upper.T + np.eye(len(topics))
        return found

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """sum_w d_wk and sum_w f_wj."""
        one, other = (
            np.bincount(parts.columns, parts.values, len(parts.of_others))
            for parts in (self._one, self._other)
        )
        return one, other


def unit_parts(source: Any, roots: bool, ids: np.ndarray | None = None) -> Parts:
    """The vectors of topics that are lists, on these words (all for None)."""
    squares = parts_of(lists_of(source), source.n_components, np.asarray if roots else np.square)
    lengths = np.sqrt(squares.over_words())
    parts = parts_of(lists_of(source, ids), source.n_components, np.sqrt if roots else np.asarray)
    return parts._replace(of_others=parts.of_others / lengths, values=parts.values / lengths[parts.columns])

"""Second stage: counts of words, added up over runs, become a vocabulary with final ids.

Ids are in descending order of token frequency, ties by word, so they depend only on the corpus. If the source fixed the
ids of columns that have no names, or is a matrix, ids stay as they are.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from bigtopic.corpus.stored.ingestion_record import EXAMPLES, WordGroup
from bigtopic.corpus.vocabulary import Vocabulary, VocabularySettings, dropped_words, word_array
from bigtopic.ingestion.parse import WordCounts
from bigtopic.ingestion.spill import Spilled, spill
from bigtopic.storage.place import Place

__all__ = ["ColumnTally", "WordLosses", "WordTally", "falling", "joined"]

WORD_LIMIT = 2_000_000  # distinct words counted in memory at a time
_PIECE = 100_000  # words of a spilled list read at a time


def falling(words: np.ndarray | None, tokens: np.ndarray) -> np.ndarray:
    """Words in descending order of tokens, ties by word (by position when there are no words)."""
    by_word = np.arange(len(tokens)) if words is None else np.argsort(words, kind="stable")
    return by_word[np.argsort(-tokens[by_word], kind="stable")]


class ColumnTally:
    """Counts of ids fixed by the source."""

    def __init__(self, n_words: int | None) -> None:
        self.tokens = np.zeros(n_words or 0)
        self.documents = np.zeros(n_words or 0, np.int64)

    def add(self, counts: WordCounts) -> None:
        ids = counts.words
        missing = int(ids.max(initial=-1)) + 1 - len(self.tokens)
        if missing > 0:
            self.tokens = np.pad(self.tokens, (0, missing))
            self.documents = np.pad(self.documents, (0, missing))
        self.tokens[ids] += counts.tokens
        self.documents[ids] += counts.documents


class WordTally:
    """Counts of strings. Past `limit` distinct words, sorted lists go to scratch and are merged at the end."""

    def __init__(self, scratch: Place, limit: int = WORD_LIMIT) -> None:
        self._scratch, self._limit = scratch, limit
        self._index: dict[str, int] = {}
        self._tokens, self._documents = np.zeros(1024), np.zeros(1024, np.int64)
        self._lists: list[Spilled] = []

    def add(self, counts: WordCounts) -> None:
        index = self._index
        words = counts.words.tolist()
        ids = np.fromiter((index.setdefault(word, len(index)) for word in words), np.int64, len(words))
        missing = len(index) - len(self._tokens)
        if missing > 0:
            self._tokens = np.pad(self._tokens, (0, missing + len(self._tokens)))
            self._documents = np.pad(self._documents, (0, missing + len(self._documents)))
        self._tokens[ids] += counts.tokens
        self._documents[ids] += counts.documents
        if len(index) > self._limit:
            self._spill()

    def in_order(self) -> WordCounts:
        """Everything counted that was not spilled, by first appearance."""
        words = word_array(self._index)
        return WordCounts(words, self._tokens[: len(words)], self._documents[: len(words)])

    def _sorted(self) -> WordCounts:
        counts = self.in_order()
        return counts.take(np.argsort(counts.words, kind="stable"))

    def _spill(self) -> None:
        place = self._scratch / f"words-{len(self._lists):06d}"
        self._lists.append(spill(place, self._sorted()._asdict()))
        self._index, self._tokens, self._documents = {}, np.zeros(1024), np.zeros(1024, np.int64)

    def finish(
        self,
        n_docs: int,
        settings: VocabularySettings,
        losses: WordLosses,
        known: Vocabulary | None = None,
    ) -> tuple[WordCounts, WordCounts]:
        """Words that are known or pass the settings, and those in too many documents; each sorted as strings."""
        too_common = [_none()]

        def passing(counts: WordCounts) -> WordCounts:
            here = None if known is None else known.index_of(counts.words) >= 0
            dropped = dropped_words(counts.documents, counts.tokens, n_docs, settings, here)
            too_common.append(counts.take(dropped["max_df"]))
            for name in ("min_df", "max_features"):
                losses.add(settings.rules[name], counts.take(dropped[name]))
            return counts.take(~np.logical_or.reduce([*dropped.values()]))

        if not self._lists:
            return passing(self._sorted()), too_common[-1]
        if self._index:
            self._spill()
        # A merge of the sorted lists; only words that can still be kept stay in memory.
        kept = _none()
        for piece in _pieces(heapq.merge(*map(_rows, self._lists))):
            kept = passing(joined(kept, piece))
        return kept, joined(*too_common)


class WordLosses:
    """The words that were left out, by rule: how many, and the most frequent of them."""

    def __init__(self) -> None:
        self._groups: dict[str, WordGroup] = {}
        self._best: dict[str, list[tuple[float, str]]] = {}

    def add(self, rule: str, counts: WordCounts) -> None:
        """Further words that it left out."""
        seen = np.flatnonzero(counts.tokens > 0)
        if not len(seen):
            return
        before = self._groups.get(rule, WordGroup(rule, 0, 0.0))
        frequent = seen[np.argsort(-counts.tokens[seen], kind="stable")[:EXAMPLES]]
        found = [(-float(counts.tokens[i]), str(counts.words[i])) for i in frequent]
        self._best[rule] = sorted(self._best.get(rule, []) + found)[:EXAMPLES]
        self._groups[rule] = WordGroup(
            rule,
            (before.words or 0) + len(seen),
            before.tokens + float(counts.tokens[seen].sum()),
            tuple(word for _, word in self._best[rule]),
        )

    @property
    def groups(self) -> tuple[WordGroup, ...]:
        return tuple(self._groups.values())


def _none() -> WordCounts:
    return WordCounts(word_array([]), np.zeros(0), np.zeros(0, np.int64))


def joined(*counts: WordCounts) -> WordCounts:
    """Counts of different words, one after the other."""
    return WordCounts(*(np.concatenate(arrays) for arrays in zip(*counts, strict=True)))


def _rows(spilled: Spilled) -> Iterator[tuple[str, float, int]]:
    size = spilled.spans["words"].size
    for start in range(0, size, _PIECE):
        stop = min(start + _PIECE, size)
        lists = [spilled.read(name, start, stop).tolist() for name in WordCounts._fields]
        yield from zip(*lists, strict=True)


def _pieces(rows: Iterator[tuple[str, float, int]]) -> Iterator[WordCounts]:
    """Equal words added up, a few at a time."""
    words: list[str] = []
    tokens: list[float] = []
    documents: list[int] = []
    for word, n_tokens, n_documents in rows:
        if words and words[-1] == word:
            tokens[-1] += n_tokens
            documents[-1] += n_documents
            continue
        if len(words) >= _PIECE:
            yield WordCounts(word_array(words), np.array(tokens), np.array(documents))
            words, tokens, documents = [], [], []
        words.append(word)
        tokens.append(n_tokens)
        documents.append(n_documents)
    yield WordCounts(word_array(words), np.array(tokens), np.array(documents, np.int64))

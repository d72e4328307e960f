"""Text to bags of words, a chunk at a time: split, one look-up per token, the rest on arrays.

The tokens of the default pattern are the runs of two or more word characters. Many texts at once are split by compiled
code; a few by blanking everything else, lower-casing with the same table, and `str.split`, if they are ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic.corpus.text.collocations import CollocationCounts, count_pairs
from bigtopic.corpus.text.raw import RawBlock
from bigtopic.corpus.text.stopwords import is_list_of_language, words_of
from bigtopic.corpus.text.text_settings import TextSettings, stored_pairs
from bigtopic.corpus.text.tokens import TokenArrays, count, encode, join_pairs, map_words, ngrams, without
from bigtopic.corpus.text.utf8 import Utf8Lines, word_runs

__all__ = ["CollocationCounts", "TextSettings", "Tokenizer"]


_WORD_RUNS = TextSettings().token_pattern
_COMPILED = 100_000  # characters from which on compiled code is worth loading


def _table(lowercase: bool) -> str:
    """For `str.translate`: ASCII word characters stay (or are lower-cased), all else becomes a space."""
    table = "".join(c if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))
    return table.lower() if lowercase else table


class _WordRuns:
    r"""Equivalent to `re.findall(r"\b\w\w+\b", text)`."""

    def __init__(self, lowercase: bool) -> None:
        self._table, self._lowercase = _table(lowercase), lowercase
        self._findall = re.compile(_WORD_RUNS).findall

    def __call__(self, text: str) -> list[str]:
        if text.isascii():
            return [run for run in text.translate(self._table).split() if len(run) > 1]
        return self._findall(text.lower() if self._lowercase else text)


class _Pattern:
    def __init__(self, pattern: str, lowercase: bool) -> None:
        self._findall, self._lowercase = re.compile(pattern).findall, lowercase

    def __call__(self, text: str) -> list[str]:
        return self._findall(text.lower() if self._lowercase else text)


class Tokenizer:
    """The tokeniser that `TextSettings` describe.

    Parameters
    ----------
    settings : TextSettings
    collocations : pairs of words to join; None if they are not known yet
    """

    def __init__(
        self, settings: TextSettings | None = None, collocations: frozenset[tuple[str, str]] = frozenset()
    ) -> None:
        self.settings = settings or TextSettings()
        self.collocations = frozenset(collocations)
        self.split = self._splitter()
        words = self.settings.stop_words
        # A pattern, a function or a list may also give empty tokens.
        self._unwanted = frozenset(["", *(words_of(words) if isinstance(words, str) else words or ())])
        self._any_case = is_list_of_language(words)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], **functions: Any) -> Tokenizer:
        """The tokenizer of a corpus: its recorded settings, and the `collocation_pairs` recorded beside them.

        `functions` are those of `TextSettings.from_dict`.
        """
        return cls(TextSettings.from_dict(values, **functions), stored_pairs(values))

    def _splitter(self) -> Callable[[str], Iterable[str]]:
        settings = self.settings
        if settings.tokenizer is not None:
            return settings.tokenizer
        if settings.token_pattern == _WORD_RUNS:
            return _WordRuns(settings.lowercase)
        return _Pattern(settings.token_pattern, settings.lowercase)

    def with_collocations(self, pairs: Iterable[tuple[str, str]]) -> Tokenizer:
        """The same tokenizer, joining these pairs of adjacent words."""
        return Tokenizer(self.settings, frozenset(pairs))

    def tokens(self, text: str) -> list[str]:
        """The terms of one text, in order; n-grams after the tokens they are made of."""
        parts = self._terms(self._clean(encode([self.split(text)]))[0])
        return [part.words[i] for part in parts for i in part.ids]

    def counts(self, texts: Iterable[str]) -> RawBlock:
        """Bags of words of some texts."""
        return self._counted(self._encoded(texts))

    def token_counts(self, token_lists: Iterable[Iterable[str]]) -> RawBlock:
        """Bags of words of documents that are split already; stop words and what follows still apply."""
        return self._counted(encode(token_lists))

    def collocation_counts(self, texts: Iterable[str]) -> CollocationCounts:
        """Count tokens and adjacent pairs, for a first pass that finds collocations."""
        return count_pairs(self._clean(self._encoded(texts))[0])

    def token_collocation_counts(self, token_lists: Iterable[Iterable[str]]) -> CollocationCounts:
        """The same for documents that are split already."""
        return count_pairs(self._clean(encode(token_lists))[0])

    def _encoded(self, texts: Iterable[str]) -> TokenArrays:
        texts = texts if isinstance(texts, Sequence) else list(texts)
        if isinstance(self.split, _WordRuns) and _n_characters(texts) >= _COMPILED:
            return word_runs(texts, self.settings.lowercase)
        return encode(map(self.split, texts))

    def _counted(self, tokens: TokenArrays) -> RawBlock:
        tokens, stopped = self._clean(tokens)
        return replace(_count(self._terms(tokens)), stopped=stopped)

    def _clean(self, tokens: TokenArrays) -> tuple[TokenArrays, dict[str, int]]:
        """The tokens as they go on, and how often each stop word occurs."""
        unwanted = self._unwanted
        if self._any_case:
            unwanted = unwanted.union(word for word in tokens.words if word.lower() in unwanted)
        tokens, stopped = without(tokens, unwanted)
        stopped.pop("", None)
        if self.settings.token_filter is not None:
            tokens = map_words(tokens, self.settings.token_filter)
        return tokens, stopped

    def _terms(self, tokens: TokenArrays) -> list[TokenArrays]:
        if self.collocations:
            tokens = join_pairs(tokens, self.collocations)
        return ngrams(tokens, *self.settings.ngram_range)


def _n_characters(texts: Sequence[str]) -> int:
    return len(texts.data) if isinstance(texts, Utf8Lines) else sum(map(len, texts))


def _count(parts: list[TokenArrays]) -> RawBlock:
    counted = [count(part) for part in parts]
    if len(counted) == 1:
        return RawBlock(*counted[0], parts[0].words)
    vocabulary = [word for part in parts for word in part.words]
    return RawBlock(*_side_by_side(counted, [len(part.words) for part in parts]), vocabulary)


def _side_by_side(
    counted: list[tuple[np.ndarray, np.ndarray, np.ndarray]], widths: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrices with their columns one after the other. Equivalent to `scipy.sparse.hstack`."""
    offsets = np.cumsum([0, *widths])
    documents = [np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) for indptr, _, _ in counted]
    order = np.argsort(np.concatenate(documents), kind="stable")  # words ascend already: parts are in order
    words = np.concatenate([words + offsets[i] for i, (_, words, _) in enumerate(counted)])[order]
    counts = np.concatenate([counts for _, _, counts in counted])[order]
    return sum(indptr for indptr, _, _ in counted), words.astype(np.int32), counts  # type: ignore[return-value]

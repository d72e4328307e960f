"""Text to bags of words, a chunk at a time: split, one look-up per token, the rest on arrays.

The tokens of the default pattern are the words of `segmentation`. Many texts at once are split by compiled code, a few
by the regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.text.alignment import aligned
from bigtopic.corpus.text.segmentation import canonical, split_sentences, word_pattern
from bigtopic.corpus.text.stopwords import is_list_of_language, words_of
from bigtopic.corpus.text.text_settings import TextSettings, stored_pairs
from bigtopic.corpus.text.tokens import (
    CollocationCounts,
    NotAWord,
    TokenArrays,
    count,
    count_pairs,
    encode,
    in_sentences,
    join_pairs,
    map_words,
    ngrams,
    without,
)
from bigtopic.corpus.text.utf8 import Utf8Lines, word_runs

__all__ = ["CollocationCounts", "TextSettings", "Tokenizer"]

_COMPILED = 100_000  # characters from which on compiled code is worth loading


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
        self.settings = settings = settings or TextSettings()
        self.collocations = frozenset(collocations)
        default = settings.token_pattern == TextSettings.token_pattern and settings.rules > 1
        self._pattern = word_pattern() if default else re.compile(settings.token_pattern)
        self._compiles = default and settings.tokenizer is None
        words = settings.stop_words
        self._unwanted = frozenset(words_of(words) if isinstance(words, str) else words or ())
        self._any_case = is_list_of_language(words)
        self._in_order = settings.ngram_range[1] > 1 or bool(self.collocations)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], **functions: Any) -> Tokenizer:
        """The tokenizer of a corpus: its recorded settings, and the `collocation_pairs` recorded beside them.

        `functions` : see `TextSettings.from_dict`.
        """
        return cls(TextSettings.from_dict(values, **functions), stored_pairs(values))

    def split(self, text: str) -> Iterable[str]:
        """The tokens of a text, before any is left out."""
        settings = self.settings
        if settings.tokenizer is not None:
            return settings.tokenizer(text)
        if settings.rules == 1:
            return self._pattern.findall(text.lower() if settings.lowercase else text)
        return self._pattern.findall(canonical(text, settings.lowercase))

    def with_collocations(self, pairs: Iterable[tuple[str, str]]) -> Tokenizer:
        """The same tokenizer, joining these pairs of adjacent words."""
        return Tokenizer(self.settings, frozenset(pairs))

    def tokens(self, text: str) -> list[str]:
        """The terms of one text, in order; n-grams after the tokens they are made of."""
        return [part.words[i] for part in self.token_arrays([text]) for i in part.ids]

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where the terms of a text are: start, stop and term, in order, without n-grams and collocations.

        No two places overlap. The tokeniser has a pattern: a function does not say where its tokens come from.
        """
        assert self.settings.tokenizer is None
        spelling, starts, stops = aligned(text, self.settings.lowercase, self.settings.rules > 1)
        group = self._pattern.groups  # the token, or 0 for the whole match
        found = [match for match in self._pattern.finditer(spelling) if match[group]]
        terms = self._term_of({match[group]: None for match in found})
        end = 0
        for match in found:
            if match[group] in terms:
                first, last = match.span(group)
                start, end = max(end, starts[first]), max(end, stops[last - 1])
                yield start, end, terms[match[group]]

    def _term_of(self, tokens: Iterable[str]) -> dict[str, str]:
        """The terms of distinct tokens; tokens that are left out are not in it."""
        cleaned, _ = self._clean(encode([token] for token in tokens))
        kept = map(cleaned.words.__getitem__, cleaned.ids.tolist())
        return {token: next(kept) for token, n in zip(tokens, cleaned.lengths.tolist(), strict=True) if n}

    def token_arrays(self, texts: Iterable[str]) -> list[TokenArrays]:
        """The terms of some texts, in order. Each array has texts of one length in words."""
        return self._terms(self._clean(self._encoded(texts, self._in_order))[0])

    def counts(self, texts: Iterable[str]) -> RawBlock:
        """Bags of words of some texts."""
        return self._counted(self._encoded(texts, self._in_order))

    def token_counts(self, token_lists: Iterable[Iterable[str]]) -> RawBlock:
        """Bags of words of documents that are split already; stop words and what follows still apply."""
        return self._counted(self._listed(token_lists, self._in_order))

    def collocation_counts(self, texts: Iterable[str]) -> CollocationCounts:
        """Count tokens and adjacent pairs, for a first pass that finds collocations."""
        return count_pairs(self._clean(self._encoded(texts, True))[0])

    def token_collocation_counts(self, token_lists: Iterable[Iterable[str]]) -> CollocationCounts:
        """The same for documents that are split already."""
        return count_pairs(self._clean(self._listed(token_lists, True))[0])

    def _encoded(self, texts: Iterable[str], in_order: bool) -> TokenArrays:
        """The tokens of texts; `in_order`: with which tokens are adjacent."""
        texts = texts if isinstance(texts, Sequence) else list(texts)
        if self._compiles:
            n_characters = len(texts.data) if isinstance(texts, Utf8Lines) else sum(map(len, texts))
            if n_characters >= _COMPILED:
                return word_runs(texts, self.settings.lowercase, in_order)
        if not in_order or self.settings.rules == 1:
            return encode(map(self.split, texts))
        parts = [split_sentences(text) for text in texts]
        n_sentences = np.array([*map(len, parts)], np.int64)
        try:
            return in_sentences(encode(map(self.split, chain.from_iterable(parts))), n_sentences)
        except NotAWord as error:
            document = int(np.searchsorted(np.cumsum(n_sentences), error.document, side="right"))
            raise NotAWord(error.token, document) from None

    def _listed(self, token_lists: Iterable[Iterable[str]], in_order: bool) -> TokenArrays:
        tokens = encode(token_lists)
        if not in_order or self.settings.rules == 1:
            return tokens
        return in_sentences(tokens, np.ones(len(tokens.lengths), np.int64))

    def _counted(self, tokens: TokenArrays) -> RawBlock:
        tokens, stopped = self._clean(tokens)
        return replace(_count(self._terms(tokens)), stopped=stopped)

    def _clean(self, tokens: TokenArrays) -> tuple[TokenArrays, dict[str, int]]:
        """The tokens as they go on, and how often each stop word occurs."""
        unwanted = self._unwanted
        if self._any_case:
            unwanted = unwanted.union(word for word in tokens.words if word.lower() in unwanted)
        # A pattern, a function or a list may also give empty tokens.
        tokens, _ = without(tokens, {""}, gaps=False)
        tokens, stopped = without(tokens, unwanted)
        if self.settings.token_filter is not None:
            tokens = map_words(tokens, self.settings.token_filter)
        return tokens, stopped

    def _terms(self, tokens: TokenArrays) -> list[TokenArrays]:
        if self.collocations:
            tokens = join_pairs(tokens, self.collocations)
        return ngrams(tokens, *self.settings.ngram_range)


def _count(parts: list[TokenArrays]) -> RawBlock:
    """Bags of words of documents whose terms come in several parts, each with separate words."""
    counted = [count(part) for part in parts]
    vocabulary = [word for part in parts for word in part.words]
    if len(counted) == 1:
        return RawBlock(*counted[0], vocabulary)
    from scipy import sparse

    matrices = [
        sparse.csr_matrix((counts, words, indptr), (len(indptr) - 1, len(part.words)))
        for (indptr, words, counts), part in zip(counted, parts, strict=True)
    ]
    joined = sparse.hstack(matrices, "csr")
    return RawBlock(joined.indptr.astype(np.int64), joined.indices.astype(np.int32), joined.data, vocabulary)

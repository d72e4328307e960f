"""A chunk's tokens as integers, and the stages of the tokeniser as array operations on them.

Working on ids means that stop words, filters, collocations and n-grams look at each distinct word once, and at each
token only inside NumPy.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import offsets
from bigtopic.errors import SettingError, argument

__all__ = [
    "CollocationCounts",
    "NotAWord",
    "TokenArrays",
    "count",
    "count_pairs",
    "encode",
    "in_sentences",
    "join_pairs",
    "map_words",
    "ngrams",
    "without",
]


class NotAWord(Exception):
    """A token that is not a string, and the number of its document."""

    def __init__(self, token: Any, document: int) -> None:
        super().__init__(f"{type(token).__name__} {token!r} is not a string")
        self.token, self.document = token, document


@dataclass(frozen=True)
class TokenArrays:
    """Tokens of some documents, in order.

    words : the distinct words, each of which occurs
    ids : int64 (n_tokens,), of the words
    lengths : int64 (n_docs,), tokens per document
    follows : bool (n_tokens,), whether a token is next to the one before it: in the same sentence, and nothing
        between them was left out; None where it does not matter
    """

    words: list[str]
    ids: np.ndarray
    lengths: np.ndarray
    follows: np.ndarray | None = None

    @property
    def documents(self) -> np.ndarray:
        """Document of each token: (n_tokens,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def adjacent(self) -> np.ndarray:
        """`follows`, of which None is that all tokens of a document are next to each other."""
        return _not_first(self) if self.follows is None else self.follows


def encode(token_lists: Iterable[Iterable[str]]) -> TokenArrays:
    """Number the words in the order they appear.

    Raises
    ------
    NotAWord
    """
    index: defaultdict[str, int] = defaultdict()
    index.default_factory = index.__len__
    number = index.__getitem__
    ids: list[int] = []
    ends: list[int] = []
    for tokens in token_lists:
        ids.extend(map(number, tokens))
        ends.append(len(ids))
    if not all(isinstance(word, str) for word in index):
        odd = next(word for word in index if not isinstance(word, str))
        document = int(np.searchsorted(ends, ids.index(index[odd]), side="right"))
        raise NotAWord(odd, document)
    lengths = np.diff(np.array(ends, np.int64), prepend=0)
    return TokenArrays(list(index), np.array(ids, np.int64), lengths)


def in_sentences(tokens: TokenArrays, n_sentences: np.ndarray) -> TokenArrays:
    """Documents of sentences, int64 (n_docs,) of each, from the tokens of sentences."""
    ends = np.concatenate([[0], np.cumsum(tokens.lengths)])[np.cumsum(n_sentences)]
    return TokenArrays(tokens.words, tokens.ids, np.diff(ends, prepend=0), _not_first(tokens))


def _not_first(tokens: TokenArrays) -> np.ndarray:
    """Whether a token is not the first of its document: (n_tokens,)."""
    inside = np.ones(len(tokens.ids), bool)
    inside[(np.cumsum(tokens.lengths) - tokens.lengths)[tokens.lengths > 0]] = False
    return inside


def _with_ids(tokens: TokenArrays, ids: np.ndarray, words: list[str], gaps: bool = True) -> TokenArrays:
    """The tokens as `ids` of `words`; those below 0 are left out, and if `gaps`, they part those around them."""
    kept = ids >= 0
    n_kept = np.concatenate([[0], np.cumsum(kept)])
    lengths = np.diff(n_kept[np.cumsum(tokens.lengths)], prepend=0)
    follows = tokens.follows
    if follows is not None and gaps:
        follows = (follows & np.concatenate([[True], kept])[:-1])[kept]
    elif follows is not None:
        follows = np.diff(np.cumsum(~follows)[kept], prepend=0) == 0
    return TokenArrays(words, ids[kept], lengths, follows)


def _with_words(tokens: TokenArrays, kept: np.ndarray, gaps: bool = True) -> TokenArrays:
    """The tokens whose word is `kept`, bool (n_words,)."""
    new_ids = np.where(kept, np.cumsum(kept) - 1, -1)
    return _with_ids(tokens, new_ids[tokens.ids], list(compress(tokens.words, kept)), gaps)


def without(tokens: TokenArrays, unwanted: Set[str], gaps: bool = True) -> tuple[TokenArrays, dict[str, int]]:
    """Equivalent to `[t for t in document if t not in unwanted]`; and how often each word occurs that is dropped.

    gaps : what was on both sides of a dropped word is not adjacent
    """
    if unwanted.isdisjoint(tokens.words):
        return tokens, {}
    kept = np.array([word not in unwanted for word in tokens.words])
    counts = np.bincount(tokens.ids, minlength=len(kept))
    dropped = {tokens.words[i]: int(counts[i]) for i in np.flatnonzero(~kept)}
    return _with_words(tokens, kept, gaps), dropped


def map_words(tokens: TokenArrays, function: Callable[[str], str | None]) -> TokenArrays:
    """Equivalent to `[m for t in document if (m := function(t))]`, with one call per distinct word."""
    index: dict[str, int] = {}
    mapped = np.empty(len(tokens.words), np.int64)
    for i, word in enumerate(tokens.words):
        new = function(word)
        if new is not None and not isinstance(new, str):
            raise SettingError(
                f"{argument('token_filter')} returned {new!r} for {word!r}; it must return a string, or None to drop it"
            )
        mapped[i] = index.setdefault(new, len(index)) if new else -1
    return _with_ids(tokens, mapped[tokens.ids], list(index))


def join_pairs(tokens: TokenArrays, pairs: frozenset[tuple[str, str]]) -> TokenArrays:
    """Adjacent tokens that are one of `pairs` become one token "a_b"; from the left, without overlap."""
    index = {word: i for i, word in enumerate(tokens.words)}
    known = sorted((index[a], index[b]) for a, b in pairs if a in index and b in index)
    if not known or len(tokens.ids) < 2:
        return tokens
    n_words = len(tokens.words)
    keys = np.array([a * n_words + b for a, b in known])
    here = tokens.ids[:-1] * n_words + tokens.ids[1:]
    found = np.searchsorted(keys, here)
    found[found == len(keys)] = 0
    hit = (keys[found] == here) & tokens.adjacent[1:]
    # In a run of overlapping hits every second one is taken, beginning with the first.
    position = np.arange(len(hit))
    starts = hit & ~np.concatenate([[False], hit[:-1]])
    run_start = np.maximum.accumulate(np.where(starts, position, 0))
    hit &= (position - run_start) % 2 == 0

    words, joined = list(tokens.words), np.empty(len(known), np.int64)
    for i, (a, b) in enumerate(known):
        word = f"{tokens.words[a]}_{tokens.words[b]}"
        joined[i] = index.setdefault(word, len(words))
        if joined[i] == len(words):
            words.append(word)
    ids = tokens.ids.copy()
    ids[:-1][hit] = joined[found[hit]]
    ids[1:][hit] = -1
    joined_tokens = _with_ids(tokens, ids, words, gaps=False)
    return _with_words(joined_tokens, np.bincount(joined_tokens.ids, minlength=len(words)) > 0)


def ngrams(tokens: TokenArrays, shortest: int, longest: int) -> list[TokenArrays]:
    """Runs of n adjacent tokens for each n, as single tokens, joined with a space."""
    grams, out = tokens, [tokens] if shortest == 1 else []
    if longest == 1:
        return out
    # Where runs begin; at the end of the tokens, nothing follows.
    begins, follows, documents = (
        np.arange(len(tokens.ids)),
        np.append(tokens.adjacent, False),
        tokens.documents,
    )
    n_words = max(1, len(tokens.words))
    for n in range(2, longest + 1):
        more = follows[begins + n - 1]
        begins = begins[more]
        keys = grams.ids[more] * n_words + tokens.ids[begins + n - 1]
        unique, ids = np.unique(keys, return_inverse=True)
        pairs = zip(*(part.tolist() for part in np.divmod(unique, n_words)), strict=True)
        words = [f"{grams.words[first]} {tokens.words[last]}" for first, last in pairs]
        grams = TokenArrays(words, ids, np.bincount(documents[begins], minlength=len(tokens.lengths)))
        if n >= shortest:
            out.append(grams)
    return out


def count(tokens: TokenArrays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bags of words as CSR: indptr int64, words int32 ascending per document, counts float32."""
    n_words = max(1, len(tokens.words))
    keys = tokens.documents * n_words + tokens.ids
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(first, append=len(keys)).astype(np.float32)
    documents, words = np.divmod(keys[first], n_words)
    indptr = offsets(np.bincount(documents, minlength=len(tokens.lengths)))
    return indptr, words.astype(np.int32), counts


_LIMIT = 5_000_000


@dataclass
class CollocationCounts:
    """Tokens and adjacent pairs counted; adds up over chunks.

    Pairs that belong together are found by normalised pointwise mutual information,

        NPMI(a, b) = ln(p(a, b) / (p(a) p(b))) / -ln p(a, b)        in [-1, 1]

    with p(a), p(b) the share of tokens and p(a, b) the share of adjacent pairs [1]_.

    Memory is bounded: past `limit` distinct pairs the rarest are forgotten, as often as needed. Merged in the
    order of the chunks, the result does not depend on who counted them.

    References
    ----------
    .. [1] G. Bouma, Normalized (pointwise) mutual information in collocation extraction, GSCL 2009, eq. 7.
    """

    words: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    limit: int = _LIMIT

    def merge(self, other: CollocationCounts) -> CollocationCounts:
        """Add the counts of `other` to this; returns itself."""
        self.words.update(other.words)
        self.pairs.update(other.pairs)
        threshold = 1
        while len(self.pairs) > self.limit:
            self.pairs = Counter({pair: n for pair, n in self.pairs.items() if n > threshold})
            threshold += 1
        return self

    def select(self, threshold: float, min_count: int = 5) -> frozenset[tuple[str, str]]:
        """Pairs seen at least `min_count` times whose NPMI is above `threshold`."""
        n_words, n_pairs = self.words.total(), self.pairs.total()
        return frozenset(
            (a, b)
            for (a, b), n in self.pairs.items()
            if n >= min_count
            and _npmi(n / n_pairs, self.words[a] / n_words, self.words[b] / n_words) > threshold
        )


def _npmi(p_ab: float, p_a: float, p_b: float) -> float:
    return math.log(p_ab / (p_a * p_b)) / -math.log(p_ab) if p_ab < 1 else 1.0


def count_pairs(tokens: TokenArrays) -> CollocationCounts:
    """Count the words and adjacent pairs of some documents."""
    n_words = max(1, len(tokens.words))
    keys = (tokens.ids[:-1] * n_words + tokens.ids[1:])[tokens.adjacent[1:]]
    unique, pair_counts = np.unique(keys, return_counts=True)
    word_counts = np.bincount(tokens.ids, minlength=len(tokens.words))
    words = {tokens.words[i]: int(word_counts[i]) for i in np.flatnonzero(word_counts)}
    pairs = {
        (tokens.words[key // n_words], tokens.words[key % n_words]): n
        for key, n in zip(unique.tolist(), pair_counts.tolist(), strict=True)
    }
    return CollocationCounts(Counter(words), Counter(pairs))

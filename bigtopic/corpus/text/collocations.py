"""Adjacent words that belong together, found by normalised pointwise mutual information.

    NPMI(a, b) = ln(p(a, b) / (p(a) p(b))) / -ln p(a, b)        in [-1, 1]

with p(a), p(b) the share of tokens and p(a, b) the share of adjacent pairs [1]_.

References
----------
.. [1] G. Bouma, Normalized (pointwise) mutual information in collocation extraction, GSCL 2009, eq. 7.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from bigtopic.corpus.text.tokens import TokenArrays

__all__ = ["CollocationCounts", "count_pairs"]

_LIMIT = 5_000_000


@dataclass
class CollocationCounts:
    """Tokens and adjacent pairs counted; adds up over chunks.

    Memory is bounded: past `limit` distinct pairs the rarest are forgotten, as often as needed. Merged in the
    order of the chunks, the result does not depend on who counted them.
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

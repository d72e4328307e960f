"""Topics that a model does not use: few tokens, whose words are those of the corpus as a whole.

A model with more topics than its documents need spreads a few tokens over each topic that is left: what the prior of
the documents gives to every topic. Nothing tells the words of such a topic from tokens drawn from the corpus at random.
With n_kv tokens of word v in topic k, prior excluded, n_k = sum_v n_kv, N = sum_k n_k, and the frequencies
u_v = sum_k n_kv / N, topic k is unused where both hold:

    n_k < N / (2 K)                                                        less than half of an equal share
    sum_v n_kv log(n_kv / m_kv) <= 2 sum_v m_kv log(1 + 1 / m_kv),         m_kv = n_k u_v

The left side of the second is half of the G statistic (log likelihood ratio) of the topic's words against u. Of n_k
tokens drawn independently from u, its expectation is at most the sum on the right: for a Poisson variable n of mean m,
E[n log(n / m)] = m E[log((1 + n) / m)] <= m log((1 + m) / m) by Jensen's inequality. Words come in bursts, so that
tokens of a few documents vary more than independent ones: hence twice that.

The first condition keeps topics of common words that are used, and those of a model that has not learned yet. A topic
that repeats another one, or a part of it, is used. A method that keeps no sizes of topics (`ml-*`) has no unused ones.

Cost: two logarithms of each word in each topic that passes the first condition.

References: Dunning (1993), "Accurate methods for the statistics of surprise and coincidence"; Church and Gale (1995),
"Poisson mixtures", for bursts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from bigtopic.state.lazy_array import LazyArray

__all__ = ["count_blocks", "unused_topics"]

_BURSTS = 2.0
_CELLS = 1 << 20  # words x topics at once


def unused_topics(
    sizes: np.ndarray, blocks: Iterable[np.ndarray], n_tokens: float | None = None
) -> np.ndarray:
    """Which topics are unused, bool (n_components,); see the module.

    Parameters
    ----------
    sizes : statistics of each topic, prior excluded, float64 (n_components,)
    blocks : the same by word, (n, n_components) each, all words together
    n_tokens : tokens that the model has learned from, to which the statistics are scaled; None where they are tokens
    """
    from scipy.special import xlogy

    held = float(sizes.sum())
    unused = sizes < held / (2 * len(sizes))
    few = np.flatnonzero(unused)
    if not len(few):
        return unused
    surprise, chance = np.zeros(len(few)), np.zeros(len(few))
    scale = (n_tokens or held) / held
    for block in blocks:
        counts = np.maximum(block, 0.0)  # rounding may leave less
        mean = np.outer(counts.sum(axis=1) / held, sizes[few]) * scale
        counts = counts[:, few] * scale
        ratio = np.divide(counts, mean, out=np.ones_like(mean), where=mean > 0)
        surprise += xlogy(counts, ratio).sum(axis=0)
        chance += (xlogy(mean, mean + 1) - xlogy(mean, mean)).sum(axis=0)
    unused[few] = surprise <= _BURSTS * chance
    return unused


def count_blocks(array: LazyArray) -> Iterator[np.ndarray]:
    """The statistics of an array, prior excluded, in blocks of rows: float64 (n, n_components) each."""
    n = array.n_components
    step = max(1, _CELLS // n)
    for start in range(0, array.n_rows, step):
        yield array.raw[start : start + step, :n] * array.scale[:n]

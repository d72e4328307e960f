"""LCP: log conditional probability of a topic's lower-ranked top word in documents with a higher-ranked one.

    LCP(u, v) = log(P(u, v) / P(u)) = log(D(u, v) / D(u)),   u ranked higher; mean over pairs

A pair that never occurs together scores log(1 / D(u)), as in UMass; one that is in every document scores 0.

References
----------
Mimno, Wallach, Talley, Leenders, McCallum: Optimizing semantic coherence in topic models. EMNLP 2011, here as a mean
and without adding 1 to the pairs that occur together.
"""

from __future__ import annotations

import numpy as np

from bigtopic.evaluation.coherence import of_pairs

__all__ = ["MEASURE"]


def _lcp(higher: np.ndarray, lower: np.ndarray, both: np.ndarray, n_docs: int) -> np.ndarray:
    return np.log(np.maximum(both, 1) / higher)


MEASURE = of_pairs(
    "lcp",
    _lcp,
    title="LCP",
    meaning="log probability of a top word in documents with a higher-ranked one, mean over pairs",
    paper="Mimno et al. 2011",
)

"""NPMI: how much more often than by chance two of a topic's top words occur in the same document.

    NPMI(u, v) = log(P(u, v) / (P(u) P(v))) / -log P(u, v),   P = D(.) / D            in [-1, 1], mean over pairs

A pair that never occurs together scores -1; a pair that is in every document scores 0.

References
----------
Lau, Newman, Baldwin: Machine reading tea leaves. EACL 2014.
"""

from __future__ import annotations

import numpy as np

from bigtopic.evaluation.coherence import of_pairs

__all__ = ["MEASURE"]


def _npmi(higher: np.ndarray, lower: np.ndarray, both: np.ndarray, n_docs: int) -> np.ndarray:
    value = np.log(both * n_docs / (higher * lower)) / -np.log(both / n_docs)
    return np.where(both == n_docs, 0.0, np.where(both == 0, -1.0, value))


MEASURE = of_pairs(
    "npmi",
    _npmi,
    default=True,
    title="NPMI",
    meaning="how much more often than by chance the top words occur in the same documents, from −1 to 1",
    paper="Lau, Newman, Baldwin 2014",
)

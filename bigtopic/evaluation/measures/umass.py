"""UMass: how probable a topic's lower-ranked top word is in documents with a higher-ranked one.

    UMass = sum over pairs, u ranked higher, of log((D(u, v) + 1) / D(u))

References
----------
Mimno, Wallach, Talley, Leenders, McCallum: Optimizing semantic coherence in topic models. EMNLP 2011.
"""

from __future__ import annotations

import numpy as np

from bigtopic.evaluation.coherence import of_pairs

__all__ = ["MEASURE"]


def _umass(higher: np.ndarray, lower: np.ndarray, both: np.ndarray, n_docs: int) -> np.ndarray:
    return np.log((both + 1) / higher)


MEASURE = of_pairs(
    "umass",
    _umass,
    mean=False,
    title="UMass",
    meaning="how probable a top word is in documents with a higher-ranked one, as a sum of logarithms",
    paper="Mimno et al. 2011",
)

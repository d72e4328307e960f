"""PMI: by which factor two of a topic's top words occur together more often than by chance, as a logarithm.

    PMI(u, v) = log(P(u, v) / (P(u) P(v))),   P = D(.) / D        mean over pairs

Pairs that never occur together, whose PMI is minus infinity, are left out: `omitted` is their share, together with
pairs of which a word is in no document. A high value of which most is left out is not a good topic; NPMI scores such
pairs. A pair that is in every document scores 0.

References
----------
Newman, Lau, Grieser, Baldwin: Automatic evaluation of topic coherence. NAACL 2010.
"""

from __future__ import annotations

import numpy as np

from bigtopic.evaluation.coherence import of_pairs

__all__ = ["MEASURE"]


def _pmi(higher: np.ndarray, lower: np.ndarray, both: np.ndarray, n_docs: int) -> np.ndarray:
    return np.where(both == 0, np.nan, np.log(both * n_docs / (higher * lower)))


MEASURE = of_pairs(
    "pmi",
    _pmi,
    title="PMI",
    meaning="log of how much more often than by chance the top words occur in the same documents; pairs that never do "
    "are left out",
    paper="Newman et al. 2010",
)

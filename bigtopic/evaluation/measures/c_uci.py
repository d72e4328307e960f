"""c_uci: PMI of a topic's top words in windows of 10 tokens of the text.

    c_uci(u, v) = log((P(u, v) + 1e-12) / (P(u) P(v))),   P = windows with the words / windows        mean over pairs

A pair that never occurs together scores about -27.6 - log P(u) P(v), so that one such pair outweighs many others; the
measure `pmi` leaves them out, and c_npmi bounds them. A pair that is in every window scores 0.

References
----------
Newman et al. 2010; in this form Roeder, Both, Hinneburg: Exploring the space of topic coherence measures. WSDM 2015.
"""

from __future__ import annotations

import numpy as np

from bigtopic.evaluation.coherence import of_pairs

__all__ = ["MEASURE"]


def _pmi(higher: np.ndarray, lower: np.ndarray, both: np.ndarray, n_windows: int) -> np.ndarray:
    return np.log((both / n_windows + 1e-12) / (higher / n_windows * lower / n_windows))


MEASURE = of_pairs(
    "c-uci",
    _pmi,
    window=10,
    title="c_uci",
    meaning="log of how much more often than by chance the top words occur within 10 tokens of text",
    paper="Roeder, Both, Hinneburg 2015",
)

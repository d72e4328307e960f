"""c_npmi: NPMI of a topic's top words in windows of 10 tokens of the text.

    c_npmi(u, v) = log((P(u, v) + 1e-12) / (P(u) P(v))) / -log(P(u, v) + 1e-12),   P = windows with the words / windows

Mean over pairs. A pair that never occurs together scores -1 - log(P(u) P(v)) / 27.6: for words that are in a thousandth
of the windows each, -0.5. A pair that is in every window scores 0, where the formula would give -1.

References
----------
Roeder, Both, Hinneburg: Exploring the space of topic coherence measures. WSDM 2015.
"""

from __future__ import annotations

import numpy as np

from bigtopic.evaluation.coherence import of_pairs

__all__ = ["MEASURE"]


def _npmi(higher: np.ndarray, lower: np.ndarray, both: np.ndarray, n_windows: int) -> np.ndarray:
    together = both / n_windows + 1e-12
    value = np.log(together / (higher / n_windows * lower / n_windows)) / -np.log(together)
    return np.where(both == n_windows, 0.0, value)


MEASURE = of_pairs(
    "c-npmi",
    _npmi,
    window=10,
    title="c_npmi",
    meaning="how much more often than by chance the top words occur within 10 tokens of text, from −1 to 1",
    paper="Roeder, Both, Hinneburg 2015",
)

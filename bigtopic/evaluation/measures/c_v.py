"""c_v: how alike a topic's top words are in what they occur with, among these words, in windows of 110 tokens.

    v_i = (NPMI(w_i, w_j))_j,   v = sum_i v_i,   c_v = mean_i cos(v_i, v)

NPMI is as in c_npmi, and 1 of a word with itself. Words that are in no window are left out, and `omitted` is the
share of pairs with one; a topic of which fewer than two words are left has no score.

Known faults: prefer `npmi`, or `c-npmi` where the distance of words matters.

* The sign is lost. Of n words with the same NPMI a for all pairs, c_v is |1 + (n - 1) a| / sqrt(n + n (n - 1) a^2): ten
  independent words (a = 0) score 0.32, and ten that are never in one window (a = -1) score 0.8.
* So it may rank topics the other way round than the other measures do, above all topics of rare words.
* Its authors could not reproduce the published figures with the published definition, and advise against using it
  (https://github.com/dice-group/Palmetto/issues/76, /12 and /13).
* In texts of fewer than 110 tokens, it looks at whole documents.

References
----------
Roeder, Both, Hinneburg: Exploring the space of topic coherence measures. WSDM 2015.
"""

from __future__ import annotations

import numpy as np

from bigtopic.evaluation.coherence import of_topics

__all__ = ["MEASURE"]


def _c_v(pairs: np.ndarray, n_windows: int) -> np.ndarray:
    p = pairs / n_windows
    alone = np.diagonal(p, axis1=1, axis2=2)
    npmi = np.log((p + 1e-12) / (alone[:, :, None] * alone[:, None, :])) / -np.log(p + 1e-12)
    npmi[pairs == n_windows] = 0
    i = np.arange(pairs.shape[1])
    npmi[:, i, i] = 1
    used = alone > 0
    npmi[~(used[:, :, None] & used[:, None, :])] = 0
    whole = npmi.sum(axis=1)
    lengths = np.linalg.norm(npmi, axis=2) * np.linalg.norm(whole, axis=1)[:, None]
    cosines = np.einsum("kij,kj->ki", npmi, whole)
    cosines = np.divide(cosines, lengths, out=np.zeros_like(cosines), where=lengths > 0)
    n_used = used.sum(axis=1)
    return np.where(n_used > 1, cosines.sum(axis=1) / n_used, np.nan)


MEASURE = of_topics(
    "c-v",
    _c_v,
    window=110,
    title="c_v",
    meaning="likeness of what the top words occur with, within 110 tokens of text; loses the sign of associations",
    paper="Roeder, Both, Hinneburg 2015",
)

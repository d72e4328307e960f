"""How alike distributions over topics are: 1 for equal ones, 0 for those without a common topic.

* hellinger: 1 - H(p, q),  H(p, q)^2 = 1 - sum_k sqrt(p_k q_k)
* jensen-shannon: 1 - sqrt(JS(p, q) / log 2),  JS(p, q) = entropy of the mean - mean of the entropies
* cosine: sum_k p_k q_k / (|p| |q|)

1 minus each of the first two is a metric.

References: Lin (1991), "Divergence measures based on the Shannon entropy"; Endres and Schindelin (2003), "A new metric
for probability distributions".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bigtopic.errors import SettingError

__all__ = ["MEASURES", "similarity"]


def similarity(rows: np.ndarray, one: np.ndarray, measure: str) -> np.ndarray:
    """How alike each of the rows (n, n_components) is to one (n_components,); float64 (n,), from 0 to 1.

    Raises
    ------
    SettingError
        When there is no such measure.
    """
    if measure not in MEASURES:
        raise SettingError(f"measure={measure!r}: must be one of {', '.join(map(repr, MEASURES))}")
    return np.clip(MEASURES[measure](rows.astype(np.float64), one.astype(np.float64)), 0.0, 1.0)


def _hellinger(rows: np.ndarray, one: np.ndarray) -> np.ndarray:
    apart: np.ndarray = np.square(np.sqrt(rows) - np.sqrt(one)).sum(axis=1)
    return 1.0 - np.sqrt(0.5 * apart)


def _jensen_shannon(rows: np.ndarray, one: np.ndarray) -> np.ndarray:
    divergence = _entropy((rows + one) / 2) - (_entropy(rows) + _entropy(one)) / 2
    return 1.0 - np.sqrt(np.maximum(divergence, 0.0) / np.log(2.0))


def _entropy(rows: np.ndarray) -> np.ndarray:
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
    entropy: np.ndarray = -(rows * logs).sum(axis=-1)
    return entropy


def _cosine(rows: np.ndarray, one: np.ndarray) -> np.ndarray:
    found: np.ndarray = rows @ one / (np.linalg.norm(rows, axis=1) * np.linalg.norm(one))
    return found


MEASURES: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "hellinger": _hellinger,
    "jensen-shannon": _jensen_shannon,
    "cosine": _cosine,
}

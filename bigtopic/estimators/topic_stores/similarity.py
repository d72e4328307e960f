"""Documents with similar topics, over a store of topics of any size.

With p the topics of a document, q the topics of the query, and m = (p + q) / 2:

    hellinger        1 - sqrt(1/2 sum_k (sqrt(p_k) - sqrt(q_k))^2)
    cosine           sum_k p_k q_k / (|p| |q|)
    jensen-shannon   1 - sqrt(1/2 sum_k (p_k log2(p_k / m_k) + q_k log2(q_k / m_k)))

All are 1 for equal topics and 0 for topics that have nothing in common. Topics that the store leaves out of p count as
0. Where p_k = 0 the terms are q_k / 2 and q_k log2(2) / 2, so only stored entries cost time.

References
----------
Lin, "Divergence measures based on the Shannon entropy", IEEE Transactions on Information Theory 37, 1991.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, VocabularyMismatch, argument
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.topic_stores.stored_topics import StoredTopics, TopicRows
from bigtopic.evaluation.source import Largest
from bigtopic.parallel.progress import Progress

__all__ = ["MEASURES", "check_measure", "similar"]


def _hellinger(rows: TopicRows, query: np.ndarray) -> np.ndarray:
    there = query[rows.topics]
    squares = (np.sqrt(rows.shares) - np.sqrt(there)) ** 2
    return _similarity((rows.sums(squares) + _unshared(rows, there)) / 2)


def _cosine(rows: TopicRows, query: np.ndarray) -> np.ndarray:
    norms = np.sqrt(rows.sums(rows.shares**2)) * np.sqrt(query @ query)
    return np.minimum(rows.sums(rows.shares * query[rows.topics]) / norms, 1.0)


def _jensen_shannon(rows: TopicRows, query: np.ndarray) -> np.ndarray:
    from scipy.special import rel_entr

    there = query[rows.topics]
    middle = (rows.shares + there) / 2
    bits = rows.sums(rel_entr(rows.shares, middle) + rel_entr(there, middle)) / np.log(2.0)
    return _similarity((bits + _unshared(rows, there)) / 2)


def _unshared(rows: TopicRows, there: np.ndarray) -> np.ndarray:
    """The query's share of topics that a document does not have."""
    return 1.0 - rows.sums(there)


def _similarity(squared_distance: np.ndarray) -> np.ndarray:
    return 1.0 - np.sqrt(np.clip(squared_distance, 0.0, 1.0))


MEASURES: dict[str, Callable[[TopicRows, np.ndarray], np.ndarray]] = {
    "hellinger": _hellinger,
    "cosine": _cosine,
    "jensen-shannon": _jensen_shannon,
}
"""Similarities of documents (n_docs,) to a query, (n_components,), whose topics sum to 1."""


def check_measure(measure: Any) -> None:
    """Refuse what does not name a measure.

    Raises
    ------
    SettingError
    """
    if not isinstance(measure, str) or measure not in MEASURES:
        raise SettingError(f"{argument('measure', measure)}: choose one of {', '.join(MEASURES)}")


def similar(
    query: Any,
    store: StoredTopics,
    infer: Callable[[str], np.ndarray],
    n_documents: int,
    measure: str,
    progress: bool | None,
) -> list[tuple[str, float]]:
    """See `TopicInference.similar_documents`; `infer` gives the topics (n_components,) of a text."""
    check_measure(measure)
    require_positive("n_documents", n_documents)
    topics, own = _topics_of(query, store, infer)
    best = Largest(1, int(n_documents) + (own is not None))
    with Progress("comparing", store.n_docs, " docs", progress) as bar:
        for start, rows in store.batches():
            scores = MEASURES[measure](rows, topics)
            best.add(start + np.arange(len(scores)), scores[:, None])
            bar.update(len(scores))
    others = best.positions[0] != (-1 if own is None else own)
    positions, scores = best.positions[0][others][:n_documents], best.values[0][others][:n_documents]
    return list(zip(store.ids(positions), scores.tolist(), strict=True))


def _topics_of(
    query: Any, store: StoredTopics, infer: Callable[[str], np.ndarray]
) -> tuple[np.ndarray, int | None]:
    """Topics of the query, which sum to 1, and its position if it is a document of the store."""
    if not isinstance(query, str | Integral):
        return _checked(query, store.n_components), None
    position = store.position(str(query))
    if position is not None:
        return store.row(position), position
    if not isinstance(query, str):
        raise SettingError(f"{argument('query', query)}: {store.url} has no document {str(query)!r}")
    try:
        return _checked(infer(query), store.n_components), None
    except VocabularyMismatch as error:
        raise VocabularyMismatch(
            f"{argument('query', query[:60])} is not a document of {store.url}, and as a text: {error.message}"
        ) from error


def _checked(query: Any, n_components: int) -> np.ndarray:
    try:
        topics = np.asarray(query, np.float64)
    except (TypeError, ValueError):
        topics = np.zeros(0)
    total = topics.sum()
    if topics.shape != (n_components,) or not (topics.min() >= 0 and 0 < total < np.inf):
        raise SettingError(
            f"query: give a text, the id of a document of the store, or topics of shape ({n_components},) that are "
            f"not negative; found {type(query).__name__} of shape {np.shape(topics)}"
        )
    return topics / total

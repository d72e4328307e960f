"""Topics beside topics: those of one model that are alike, and what changed between two models.

Topics p and q are compared by their words, in one pass over the rows of the topics:

    hellinger   1 - sqrt(1 - sum_w sqrt(p_w q_w))
    cosine      sum_w p_w q_w / (|p| |q|)

Between two models, words are matched by name; each topic is matched with the one that makes the sum of all similarities
largest (the assignment problem).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.errors import SettingError, VocabularyMismatch, argument
from bigtopic.questions.words import rows_of

__all__ = ["MEASURES", "changes", "similar_pairs", "similarity"]

MEASURES = ("hellinger", "cosine")


def similarity(source: Any, other: Any = None, measure: str = "hellinger") -> np.ndarray:
    """Similarity of the topics of two models, from 0 to 1: float64 (n_components, other's n_components).

    Parameters
    ----------
    other : None compares the topics with each other

    Raises
    ------
    SettingError
        When there is no such measure.
    VocabularyMismatch
        When the models share no word.
    """
    if measure not in MEASURES:
        raise SettingError(f"{argument('measure', measure)}: choose one of {', '.join(MEASURES)}")
    other = source if other is None else other
    power = 0.5 if measure == "hellinger" else 1.0
    products = np.zeros((source.n_components, other.n_components))
    for _, mine, theirs in _together(source, other):
        products += (mine**power).T @ theirs**power
    if measure == "hellinger":
        return np.asarray(1 - np.sqrt(np.clip(1 - products, 0, 1)))
    return np.asarray(np.minimum(products / np.outer(_norms(source), _norms(other)), 1.0))


def _norms(source: Any) -> np.ndarray:
    return np.sqrt(sum((rows**2).sum(axis=0) for _, rows in rows_of(source)))


def _together(source: Any, other: Any) -> Any:
    """Blocks of words: ids, p(word | topic) in the first model, and in the other, 0 where it lacks the word."""
    ids_of = None if other is source else source.vocabulary.mapping_to(other.vocabulary)
    if ids_of is not None and (ids_of < 0).all():
        raise VocabularyMismatch(
            "the models share no word; compare models of the same language and tokeniser"
        )
    for ids, mine in rows_of(source):
        yield ids, mine, mine if ids_of is None else _theirs(other, ids_of[ids])


def _theirs(other: Any, ids: np.ndarray) -> np.ndarray:
    theirs = np.zeros((len(ids), other.n_components))
    known = ids >= 0
    theirs[known] = other.gather(ids[known].astype(np.int32))[:, : other.n_components]
    return theirs


def similar_pairs(scores: np.ndarray, topic: int | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Topics and those most like them, best first: of one topic, or the n pairs that are most alike of all."""
    if topic is not None:
        order = np.argsort(-scores[topic], kind="stable")
        order = order[order != topic][:n]
        return np.full(len(order), topic), order
    first, second = np.triu_indices(len(scores), k=1)
    order = np.argsort(-scores[first, second], kind="stable")[:n]
    return first[order], second[order]


def changes(source: Any, other: Any, n_words: int, measure: str) -> dict[str, list[Any]]:
    """The topics of a model with those of another, a later one, that match them; what changed most comes first.

    Returns
    -------
    topic, other : numbers; None where a topic of one model has none in the other, because that has fewer
    similarity : of the two, None without a match
    gained, lost : the words whose probability rose, or fell, most
    """
    from scipy.optimize import linear_sum_assignment

    scores = similarity(source, other, measure)
    mine, theirs = linear_sum_assignment(-scores)
    order = np.argsort(scores[mine, theirs], kind="stable")
    mine, theirs = mine[order], theirs[order]
    gone = sorted(set(range(source.n_components)) - set(mine.tolist()))
    new = sorted(set(range(other.n_components)) - set(theirs.tolist()))
    n_alone = len(gone) + len(new)
    return {
        "topic": gone + [None] * len(new) + mine.tolist(),
        "other": [None] * len(gone) + new + theirs.tolist(),
        "similarity": [None] * n_alone + scores[mine, theirs].tolist(),
        "gained": [[] for _ in range(n_alone)] + _fallen(other, source, theirs, mine, n_words),
        "lost": [[] for _ in range(n_alone)] + _fallen(source, other, mine, theirs, n_words),
    }


def _fallen(source: Any, other: Any, mine: np.ndarray, theirs: np.ndarray, n: int) -> list[list[str]]:
    """Words of the first model whose probability is lower in the other by most, for each pair of topics."""
    from bigtopic.evaluation.largest import Largest

    best = Largest(len(mine), min(n, source.n_words))
    for ids, own, others in _together(source, other):
        best.add(ids, own[:, mine] - others[:, theirs])
    names = source.vocabulary
    return [
        [str(names[i]) for i, fall in zip(row, falls, strict=True) if fall > 0]
        for row, falls in zip(best.positions.tolist(), best.values.tolist(), strict=True)
    ]

"""Alignment of the topics of two models, and stability of topics over several runs.

Each topic p of one model is matched with one topic q of the other, so that the sum of the distances is least (the
assignment problem). Distances, of p(word | topic):

    hellinger   sqrt(1/2 sum_w (sqrt p_w - sqrt q_w)^2) = sqrt(1 - sum_w sqrt(p_w q_w))     from 0 to 1
    l1          sum_w |p_w - q_w|, twice the total variation                                from 0 to 2

Words are matched by name; a word that one model lacks has probability 0 there. Of models with different numbers of
topics, the larger one keeps topics without a match. Stability is the mean distance of matched topics over all pairs of
models; its standard error is the jackknife's over models, because pairs that share a model are not independent:

    error^2 = (M - 1) / M  sum_m (D_-m - mean D_-m)^2,     D_-m the mean over pairs without model m

Cost: words x topics x topics of a pair of models; one block of words and the distances are in memory. Of topics that
are lists, the Hellinger distance costs, of each word of one topic, the other topics that have the word.

References
----------
Greene, O'Callaghan, Cunningham: How many topics? Stability analysis for topic models. ECML PKDD 2014 (matching).
Efron, Stein: The jackknife estimate of variance. Annals of Statistics 9 (1981).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from bigtopic.errors import SettingError, VocabularyMismatch, argument
from bigtopic.evaluation.base import Result
from bigtopic.evaluation.source import NO_COMMON_WORD, TopicSource, labels_of, rows_of, topics_of
from bigtopic.evaluation.sparse.pairs import Products
from bigtopic.state.machine_memory import refuse_beyond
from bigtopic.wording import counted

__all__ = [
    "DISTANCES",
    "Alignment",
    "Stability",
    "align",
    "check_pairs",
    "stability",
    "together",
    "topic_distances",
]

DISTANCES = ("hellinger", "l1")


@dataclass(frozen=True, repr=False)
class Alignment(Result):
    """The topics of a model beside the topics of another. See the module for the distances.

    Attributes
    ----------
    value : mean distance of the matched topics
    per_topic : float64 (n_components,), distance of each topic of the first model from its match; nan without one
    topics : int64 (n_components,), the matched topic of the other model; -1 without one
    unmatched : int64 (n,), topics of the other model without a match
    distance : "hellinger" or "l1"
    """

    value: float
    per_topic: np.ndarray = field(repr=False)
    topics: np.ndarray
    unmatched: np.ndarray
    distance: str
    topic_labels: Sequence[str] = field(default=(), repr=False)

    reported: ClassVar[tuple[str, ...]] = ("value", "per_topic", "topics", "unmatched", "distance")

    def text(self) -> str:
        n_matched = int((self.topics >= 0).sum())
        n_alone = len(self.topics) - n_matched + len(self.unmatched)
        alone = f", {counted(n_alone, 'topic')} without a match" if n_alone else ""
        return f"{self.value:.4f} {self.distance}, mean of {counted(n_matched, 'pair')} of topics{alone}"


@dataclass(frozen=True, repr=False)
class Stability(Result):
    """How little the topics of several models differ. See the module for the formulas.

    Attributes
    ----------
    value : mean distance of matched topics, over all pairs of models; lower is more stable
    standard_error : of `value`, over models (jackknife); nan for two models
    distances : float64 (n_models, n_models), mean distance of the matched topics of each pair of models
    per_topic : float64 (n_components,), mean distance of each topic of the first model from its matches in the others;
        nan for one that never has a match
    distance : "hellinger" or "l1"
    """

    value: float
    standard_error: float
    distances: np.ndarray = field(repr=False)
    per_topic: np.ndarray = field(repr=False)
    distance: str
    topic_labels: Sequence[str] = field(default=(), repr=False)

    reported: ClassVar[tuple[str, ...]] = ("value", "standard_error", "distances", "per_topic", "distance")

    def text(self) -> str:
        return f"{super().text()} {self.distance}, mean of all pairs of {len(self.distances)} models"


def align(model: Any, other: Any, distance: str = "hellinger", *, vocabulary: Any = None) -> Alignment:
    """Match the topics of two models one to one, so that the sum of their distances is least.

    Parameters
    ----------
    model, other : see `topics_of`, to which `vocabulary` is passed; their numbers of topics may differ
    distance : "hellinger" or "l1"

    Raises
    ------
    SettingError
        When there is no such distance, or one of the two has no topics.
    VocabularyMismatch
        When the models share no word.

    Examples
    --------
    >>> import numpy as np
    >>> topics = np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> align(topics, topics[::-1]).topics
    array([1, 0])
    """
    _check(distance)
    one = topics_of(model, vocabulary)
    return _aligned(one, topics_of(other, vocabulary, name="other"), distance)


def stability(models: Sequence[Any], distance: str = "hellinger", *, vocabulary: Any = None) -> Stability:
    """Compare the topics of several models of the same documents, such as runs with different seeds.

    Parameters
    ----------
    models : at least two; see `topics_of`, to which `vocabulary` is passed
    distance : "hellinger" or "l1"

    Raises
    ------
    SettingError
        When there is no such distance, or there are fewer than two models.
    VocabularyMismatch
        When two models share no word.
    """
    _check(distance)
    given = list(models) if isinstance(models, Sequence) else []
    if len(given) < 2:
        raise SettingError(
            f"{argument('models')}: give a list of at least two models, such as fits with other seeds"
        )
    sources = [topics_of(model, vocabulary, name=f"models[{i}]") for i, model in enumerate(given)]
    n = len(sources)
    distances, of_first = np.zeros((n, n)), []
    for i, j in combinations(range(n), 2):
        found = _aligned(sources[i], sources[j], distance)
        distances[i, j] = distances[j, i] = found.value
        if i == 0:
            of_first.append(found.per_topic)
    per_topic, known = np.array(of_first), ~np.isnan(of_first)
    sums, n_known = np.where(known, per_topic, 0).sum(axis=0), known.sum(axis=0)
    means = np.divide(sums, n_known, out=np.full(len(sums), np.nan), where=n_known > 0)
    value = float(distances.sum() / (n * (n - 1)))
    return Stability(value, _jackknife(distances), distances, means, distance, labels_of(sources[0]))


def _check(distance: Any) -> None:
    if distance not in DISTANCES:
        raise SettingError(f"{argument('distance', distance)}: must be one of {', '.join(DISTANCES)}")


def _jackknife(distances: np.ndarray) -> float:
    n = len(distances)
    if n < 3:
        return float("nan")
    without = (distances.sum() - 2 * distances.sum(axis=1)) / ((n - 1) * (n - 2))
    return float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))


def _aligned(one: TopicSource, other: TopicSource, distance: str) -> Alignment:
    from scipy.optimize import linear_sum_assignment

    apart = topic_distances(one, other, distance)
    mine, theirs = linear_sum_assignment(apart)
    topics, per_topic = np.full(len(apart), -1, np.int64), np.full(len(apart), np.nan)
    topics[mine], per_topic[mine] = theirs, apart[mine, theirs]
    unmatched = np.setdiff1d(np.arange(other.n_components), theirs)
    value = float(per_topic[mine].mean())
    return Alignment(value, per_topic, topics, unmatched, distance, labels_of(one))


def topic_distances(one: TopicSource, other: TopicSource, distance: str) -> np.ndarray:
    """Distances of all pairs of topics, float64 (n_components, the other's n_components).

    Raises
    ------
    SettingError
        When they are larger than the machine's memory.
    VocabularyMismatch
        When the models share no word.
    """
    check_pairs(one.n_components, other.n_components)
    products = Products.of(one, other, roots=True) if distance == "hellinger" else None
    if products is not None:
        return np.sqrt(np.clip(1 - products.all(), 0, 1))
    mine, theirs = (sum(rows.sum(axis=0) for _, rows in rows_of(source)) for source in (one, other))
    found = np.zeros((one.n_components, other.n_components))
    shared = np.zeros(other.n_components)
    for _, p, q in together(one, other):
        p, q = p / mine, q / theirs  # topics of float32 do not sum to 1 exactly
        shared += q.sum(axis=0)
        if distance == "hellinger":
            found += np.sqrt(p).T @ np.sqrt(q)
        else:
            for k in range(one.n_components):
                found[k] += np.abs(p[:, k, None] - q).sum(axis=0)
    if distance == "hellinger":
        return np.asarray(np.sqrt(np.clip(1 - found, 0, 1)))
    return np.asarray(found + np.clip(1 - shared, 0, 1))  # and the words that the first one lacks


def check_pairs(n: int, other: int) -> None:
    """Refuse a number for each pair of topics where the machine has no room. Raises SettingError."""
    remedy = "merge topics (merge_topics), or fit models of fewer"
    refuse_beyond(8 * n * other, remedy, f"a number for each of {n:,} x {other:,} pairs of topics needs")


def together(one: TopicSource, other: TopicSource) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The words of the first model in blocks: ids, p(word | topic), and the same in the other, 0 where it lacks a word.

    Raises
    ------
    VocabularyMismatch
        When the models share no word, or one of them has no names of words and another number of them.
    """
    ids_of = one.vocabulary.mapping_to(other.vocabulary)
    if (ids_of < 0).all():
        raise VocabularyMismatch(NO_COMMON_WORD)
    for ids, p in rows_of(one):
        known, q = ids_of[ids] >= 0, np.zeros((len(ids), other.n_components))
        q[known] = other.gather(ids_of[ids][known])
        yield ids, p, q

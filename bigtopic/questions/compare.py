"""Topics beside topics: similar ones, what changed between two models, their hierarchy, and topics merged into one.

Topics p and q are compared by their words, in one pass over the rows of the topics:

    hellinger   1 - sqrt(1 - sum_w sqrt(p_w q_w))
    cosine      sum_w p_w q_w / (|p| |q|)

Between two models, words are matched by name; each topic is matched with the one that makes the sum of all similarities
largest (the assignment problem). In the hierarchy, the two topics that are most alike are joined, then the next two, by
average linkage; the distance of topics is 1 minus their similarity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.runs.alignment import together, topic_distances
from bigtopic.evaluation.source import Largest, rows_of
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model import TopicModel, count_blocks
from bigtopic.state.new_model import new_model
from bigtopic.support.cards import shown
from bigtopic.support.numbers import is_whole
from bigtopic.wording import printable

__all__ = [
    "MEASURES",
    "TopicTree",
    "changes",
    "groups_of",
    "merged_model",
    "similar_pairs",
    "similarity",
    "tree_of",
]

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
    if measure == "hellinger":
        return 1 - topic_distances(source, other, measure)
    products = sum(mine.T @ theirs for _, mine, theirs in together(source, other))
    own, others = (np.sqrt(sum((rows**2).sum(axis=0) for _, rows in rows_of(one))) for one in (source, other))
    return np.asarray(np.minimum(products / np.outer(own, others), 1.0))


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
    """The topics of a model beside the matching topics of a later model; what changed most comes first.

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

    best = Largest(len(mine), min(n, source.n_words))
    for ids, own, others in together(source, other):
        best.add(ids, own[:, mine] - others[:, theirs])
    names = source.vocabulary
    return [
        [str(names[i]) for i, fall in zip(row, falls, strict=True) if fall > 0]
        for row, falls in zip(best.positions.tolist(), best.values.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class TopicTree:
    """A hierarchy of topics. Prints as a tree with the distance at which branches join.

    Attributes
    ----------
    labels : of the topics
    linkage : float64 (n_components - 1, 4), as of `scipy.cluster.hierarchy`, whose functions take it
    """

    labels: Sequence[str]
    linkage: np.ndarray = field(repr=False)

    def cut(self, n_groups: int) -> list[list[int]]:
        """The topics in this many groups, such as `merge_topics` takes; each in ascending order.

        Raises
        ------
        SettingError
            When there are fewer topics.
        """
        n = len(self.labels)
        if not 1 <= n_groups <= n:
            raise SettingError(f"{argument('n_groups', n_groups)}: must be from 1 to the {n} topics")
        groups = {k: [k] for k in range(n)}
        for number, (a, b) in enumerate(self._joins()[: n - n_groups]):
            groups[n + number] = sorted(groups.pop(a) + groups.pop(b))
        return sorted(groups.values())

    def text(self) -> str:
        """The tree, a line for each topic and each join; topics that are most alike are next to each other."""
        return "\n".join(f"{beginning}{printable(label)}" for beginning, label in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The beginning of each line, and the label on it."""
        n = len(self.labels)
        waiting = [(2 * n - 2, 0)]
        while waiting:
            node, depth = waiting.pop()
            if node < n:
                yield f"{'  ' * depth}{node} ", self.labels[node]
                continue
            yield f"{'  ' * depth}{self.linkage[node - n, 2]:.2f}", ""
            a, b = self._joins()[node - n]
            waiting += [(b, depth + 1), (a, depth + 1)]

    def _joins(self) -> list[tuple[int, int]]:
        return [(int(a), int(b)) for a, b in self.linkage[:, :2]]

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(beginning + shown(label) for beginning, label in self._lines())}</pre>"


def tree_of(scores: np.ndarray, labels: Sequence[str]) -> TopicTree:
    """The hierarchy of topics with these similarities, (n_components, n_components)."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(labels) < 2:
        return TopicTree(tuple(labels), np.zeros((0, 4)))
    distances = np.clip(1 - (scores + scores.T) / 2, 0, 1)
    np.fill_diagonal(distances, 0)
    return TopicTree(tuple(labels), linkage(squareform(distances, checks=False), "average"))


def groups_of(groups: Iterable[Iterable[int]], n_components: int) -> list[list[int]]:
    """All topics in groups, ordered by their lowest topic: those given, and every other topic by itself.

    Raises
    ------
    SettingError
        When a topic does not exist, or is in two groups.
    """
    given: list[list[int]] = []
    for group in groups:
        topics: list[Any] = [None]  # which is not a topic
        if isinstance(group, Iterable) and not isinstance(group, str):
            topics = list(group)
        if not all(is_whole(topic) and 0 <= topic < n_components for topic in topics):
            raise SettingError(
                f"groups: found {group!r:.60}; give lists of topics from 0 to {n_components - 1}: [[1, 4], [2, 3]]"
            )
        given.append([int(topic) for topic in topics])
    listed = [topic for group in given for topic in group]
    twice = [topic for topic in listed if listed.count(topic) > 1]
    if twice:
        raise SettingError(f"groups: topic {twice[0]} is listed twice; list each topic once")
    alone = [[topic] for topic in range(n_components) if topic not in set(listed)]
    return sorted([sorted(group) for group in given if group] + alone)


def merged_model(model: TopicModel, groups: Sequence[Sequence[int]]) -> TopicModel:
    """A model with a topic for each group, for inference; what it learns further begins anew, as with `init`.

    Statistics add up, and so do the priors of documents' or authors' topics; the prior of words is one topic's,
    or the mean of the group's. Arrays that are not of topics stay as they are.

    Raises
    ------
    SettingError
        When the model has more than one kind of topics.
    """
    declared = model.method.model
    if len(declared.components) != 1 or declared.mixing is not None:
        raise SettingError(
            f"topics of model {declared.name!r} cannot be merged: it has several kinds of them"
        )
    size, axes = len(groups), dict(model.axes)
    merged = new_model(
        model.method, size, axes, n_tokens=0.0, options=model.options, seed=model.seed, text=model.text
    )
    for name, spec in declared.arrays.items():
        if spec.columns == declared.components[0]:
            _fill(merged.params[name], model.estimate(name), groups)
        else:
            merged.params.arrays[name] = model.estimate(name).copy()
    merged.history = list(model.history)
    return merged


def _fill(target: LazyArray, source: LazyArray, groups: Sequence[Sequence[int]]) -> None:
    of_words = source.normalised_over == "axis"
    prior = source.prior
    if prior.shape[1] > 1 or not of_words:
        prior = np.broadcast_to(prior, (len(prior), source.n_components))
        add_up = np.mean if of_words else np.sum
        prior = np.column_stack([add_up(prior[:, group], axis=1) for group in groups])
    target.set_prior(np.ascontiguousarray(prior))
    if source.is_sparse:
        added = _added(source, groups)
        target.begin(slice(None), added if target.is_sparse else added.toarray())
        return
    target.raw[:] = 0
    target.scale[:] = 1.0
    for start, stop in source.blocks():
        rows = source.raw[start:stop] * source.scale
        for topic, group in enumerate(groups):
            target.raw[start:stop, topic] = rows[:, group].sum(axis=1)
    target.fold()


def _added(source: LazyArray, groups: Sequence[Sequence[int]]) -> Any:
    """The statistics of sparse rows added up by group: a `csr_array` (n_rows, n_groups)."""
    from scipy.sparse import csr_array, vstack

    topics, sizes = np.concatenate([*groups]), [len(group) for group in groups]
    ends = topics, np.repeat(np.arange(len(groups)), sizes)
    into = csr_array((np.ones(len(topics)), ends), shape=(source.n_columns, len(groups)))
    return vstack([block @ into for block in count_blocks(source)], format="csr")

"""Topics beside topics: similar ones, what changed between two models, their hierarchy, and topics merged into one.

Topics p and q are compared by their words, in one pass over the rows of the topics:

    hellinger   1 - sqrt(1 - sum_w sqrt(p_w q_w))
    cosine      sum_w p_w q_w / (|p| |q|)

Between two models, words are matched by name; each topic is matched with the one that makes the sum of all similarities
largest (the assignment problem). In the hierarchy, the two topics that are most alike are joined, then the next two, by
average linkage; the distance of topics is 1 minus their similarity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.runs.alignment import check_pairs, together, topic_distances
from bigtopic.evaluation.source import Largest, pairs_of, rows_of
from bigtopic.evaluation.sparse.lists import lists_of, parts_of
from bigtopic.evaluation.sparse.pairs import Products
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.machine_memory import refuse_beyond
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.state.sparse.array import SparseArray
from bigtopic.support.cards import shown
from bigtopic.support.numbers import is_whole
from bigtopic.wording import printable

__all__ = [
    "MEASURES",
    "TopicTree",
    "changes",
    "distances_of_pairs",
    "groups_of",
    "merged_model",
    "similar_pairs",
    "similar_topics",
    "similarity",
    "tree_of",
]

MEASURES = ("hellinger", "cosine")
_VALUES = 1 << 24  # of lists at once


def similarity(
    source: Any, other: Any = None, measure: str = "hellinger", topics: Sequence[int] | None = None
) -> np.ndarray:
    """Similarity of the topics of two models, from 0 to 1: float64 (n_components, other's n_components).

    Parameters
    ----------
    other : None compares the topics with each other
    topics : of the first model, the only ones that are wanted, ascending: (n_topics, other's n_components)

    Raises
    ------
    SettingError
        When there is no such measure, or the machine has no room for the similarities.
    VocabularyMismatch
        When the models share no word.
    """
    other = source if other is None else other
    products = _products(source, other, measure)
    if topics is not None:
        own = np.asarray(topics, np.int64)
        return _of_products(
            _rows(source, other, measure, own) if products is None else products.rows(own), measure
        )
    if measure == "hellinger":
        return 1 - topic_distances(source, other, measure)
    check_pairs(source.n_components, other.n_components)
    every = np.arange(source.n_components)
    return _of_products(_rows(source, other, measure, every) if products is None else products.all(), measure)


def _products(source: Any, other: Any, measure: str) -> Products | None:
    if measure not in MEASURES:
        raise SettingError(f"{argument('measure', measure)}: choose one of {', '.join(MEASURES)}")
    return Products.of(source, other, roots=measure == "hellinger")


def _of_products(products: np.ndarray, measure: str) -> np.ndarray:
    """Similarities, from inner products of vectors of length 1."""
    if measure == "cosine":
        return np.asarray(np.minimum(products, 1.0))
    return np.asarray(1 - np.sqrt(np.clip(1 - products, 0, 1)))


def _rows(source: Any, other: Any, measure: str, topics: np.ndarray) -> np.ndarray:
    """Inner products of topics with rows; of probabilities divided by their length, or of their roots."""
    power = 0.5 if measure == "hellinger" else 1.0
    products = sum((p[:, topics] ** power).T @ q**power for _, p, q in together(source, other))
    own, others = (
        np.sqrt(sum((rows ** (2 * power)).sum(axis=0) for _, rows in rows_of(one))) for one in (source, other)
    )
    return np.asarray(products / np.outer(own[topics], others))


def similar_pairs(scores: np.ndarray, topic: int | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Topics and those most like them, best first: of one topic, or the n pairs that are most alike of all."""
    if topic is not None:
        order = np.argsort(-scores[topic], kind="stable")
        order = order[order != topic][:n]
        return np.full(len(order), topic), order
    first, second = np.triu_indices(len(scores), k=1)
    order = np.argsort(-scores[first, second], kind="stable")[:n]
    return first[order], second[order]


def similar_topics(
    source: Any, topic: int | None, n: int, measure: str = "hellinger"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Topics, those most like them, and how much, best first: of one topic, or the n pairs that are most alike of all.

    Of topics that are lists, the pairs take time, but not memory, for each of them.
    """
    if topic is not None:
        scores = similarity(source, measure=measure, topics=[topic])[0]
        order = np.argsort(-scores, kind="stable")
        order = order[order != topic][:n]
        return np.full(len(order), topic), order, scores[order]
    products, n_components = _products(source, source, measure), source.n_components
    if products is None:
        scores = similarity(source, measure=measure)
        first, second = similar_pairs(scores, None, n)
        return first, second, scores[first, second]
    first, second, best = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    for topics, rows in products.blocks(above=True):
        for topic, row in zip(topics.tolist(), rows, strict=True):
            row[: topic + 1] = -1.0  # each pair once
        least = (
            best[-1] if len(best) == n else np.partition(rows, -n, axis=None)[-n] if rows.size > n else 0.0
        )
        near = np.flatnonzero(rows >= max(least, 0.0))
        first = np.append(first, topics[near // n_components])
        second, best = np.append(second, near % n_components), np.append(best, rows.flat[near])
        order = np.lexsort((second, first, -best))[:n]
        first, second, best = first[order], second[order], best[order]
    return first, second, _of_products(best, measure)


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
    """Words of the first model whose probability is lower in the other by most, for each pair of topics; of topics that
    are lists, words of which they have statistics."""
    lists = lists_of(source)
    if lists is not None:
        return _fallen_in_lists(source, other, mine, theirs, n)
    best = Largest(len(mine), min(n, source.n_words))
    for ids, own, others in together(source, other):
        best.add(ids, own[:, mine] - others[:, theirs])
    names = source.vocabulary
    return [
        [str(names[i]) for i, fall in zip(row, falls, strict=True) if fall > 0]
        for row, falls in zip(best.positions.tolist(), best.values.tolist(), strict=True)
    ]


def _fallen_in_lists(
    source: Any, other: Any, mine: np.ndarray, theirs: np.ndarray, n: int
) -> list[list[str]]:
    parts = parts_of(lists_of(source), source.n_components)
    pair = np.full(source.n_components, -1)
    pair[mine] = np.arange(len(mine))
    words = np.repeat(np.arange(parts.n_words), np.diff(parts.indptr))
    ids = source.vocabulary.mapping_to(other.vocabulary)[words]
    of_pair = pair[parts.columns]
    fall = parts.values + parts.of_others[parts.columns]
    known = (of_pair >= 0) & (ids >= 0)
    fall[known] -= pairs_of(other, ids[known], theirs[of_pair[known]])
    kept = np.flatnonzero((of_pair >= 0) & (fall > 0))
    kept = kept[np.lexsort((words[kept], -fall[kept], of_pair[kept]))]
    ends = np.searchsorted(of_pair[kept], np.arange(len(mine) + 1))
    return [source.vocabulary[words[kept[start : min(start + n, stop)]]] for start, stop in pairwise(ends)]


@dataclass(frozen=True)
class TopicTree:
    """A hierarchy of topics. Prints as a tree with the distance at which branches join.

    Attributes
    ----------
    labels : of the topics
    linkage : float64 (n_topics - 1, 4), as of `scipy.cluster.hierarchy`, whose functions take it
    topics : their numbers, ascending; None for 0, 1, ...
    """

    labels: Sequence[str]
    linkage: np.ndarray = field(repr=False)
    topics: Sequence[int] | None = None

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
        return sorted([self._number(k) for k in own] for own in groups.values())

    def _number(self, k: int) -> int:
        return k if self.topics is None else self.topics[k]

    def text(self) -> str:
        """The tree, a line for each topic and each join; topics that are most alike are next to each other."""
        return "\n".join(f"{beginning}{printable(label)}" for beginning, label in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The beginning of each line, and the label on it."""
        n, joins = len(self.labels), self._joins()
        waiting = [(2 * n - 2, 0)]
        while waiting:
            node, depth = waiting.pop()
            if node < n:
                yield f"{'  ' * depth}{self._number(node)} ", self.labels[node]
                continue
            yield f"{'  ' * depth}{self.linkage[node - n, 2]:.2f}", ""
            a, b = joins[node - n]
            waiting += [(b, depth + 1), (a, depth + 1)]

    def _joins(self) -> list[tuple[int, int]]:
        return [(int(a), int(b)) for a, b in self.linkage[:, :2]]

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(beginning + shown(label) for beginning, label in self._lines())}</pre>"


def tree_of(distances: np.ndarray, labels: Sequence[str], topics: Sequence[int] | None = None) -> TopicTree:
    """The hierarchy of topics with these distances, as of `distances_of_pairs`."""
    from scipy.cluster.hierarchy import linkage

    if len(labels) < 2:
        return TopicTree(tuple(labels), np.zeros((0, 4)), topics)
    return TopicTree(tuple(labels), linkage(distances, "average"), topics)


def distances_of_pairs(
    source: Any, measure: str = "hellinger", topics: Sequence[int] | None = None
) -> np.ndarray:
    """1 minus the similarity of each pair of topics (of all for None), float64 (n (n - 1) / 2,), row after row of those
    above the diagonal.

    Raises
    ------
    SettingError
        When there is no such measure, or the machine has no room for a hierarchy, which takes twice as much.
    """
    every = np.arange(source.n_components) if topics is None else np.asarray(topics, np.int64)
    n, end = len(every), 0
    refuse_beyond(
        8 * n * (n - 1),
        f"give {argument('topics', ...)}, such as the largest",
        f"a hierarchy of {n:,} topics needs",
    )
    products = _products(source, source, measure)
    if products is None:
        distances = 1 - similarity(source, measure=measure)[np.ix_(every, every)]
        return np.asarray(np.clip((distances + distances.T) / 2, 0, 1)[np.triu_indices(n, 1)])
    found = np.empty(n * (n - 1) // 2)
    for topics_of_block, rows in products.blocks(every, above=True):
        for topic, row in zip(topics_of_block, _of_products(rows, measure), strict=True):
            own = row[every[np.searchsorted(every, topic) + 1 :]]
            found[end : end + len(own)] = 1 - own
            end += len(own)
    return found


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
    listed = Counter(topic for group in given for topic in group)
    twice = [topic for topic, times in listed.items() if times > 1]
    if twice:
        raise SettingError(f"groups: topic {twice[0]} is listed twice; list each topic once")
    alone = [[topic] for topic in range(n_components) if topic not in listed]
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
    if isinstance(source, SparseArray):
        _add_lists(target, source, groups)
        return
    target.raw[:] = 0
    target.scale[:] = 1.0
    for start, stop in source.blocks():
        rows = source.raw[start:stop] * source.scale
        for topic, group in enumerate(groups):
            target.raw[start:stop, topic] = rows[:, group].sum(axis=1)
    target.fold()


def _add_lists(target: LazyArray, source: SparseArray, groups: Sequence[Sequence[int]]) -> None:
    """Statistics of lists, by group."""
    from scipy.sparse import csr_array, vstack

    topics = np.concatenate([np.asarray(group, np.int64) for group in groups])
    group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    shape = source.n_columns, target.n_columns
    members = csr_array((source.scale[topics], (topics, group_of)), shape=shape)
    blocks = ((start, block @ members) for start, block in source.raw.csr_blocks(_VALUES))
    if isinstance(target, SparseArray):
        target.begin_with(vstack([block for _, block in blocks], format="csr"))
        return
    for start, block in blocks:
        target.raw[start : start + block.shape[0]] = block.toarray()
    target.fold()

"""Topics merged into one: a model whose statistics of a topic are the sum of those of the topics it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.state.contract.rules import is_whole
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model

__all__ = ["groups_of", "merged_model"]


def groups_of(groups: Iterable[Iterable[int]], n_components: int) -> list[list[int]]:
    """All topics in groups, ordered by their lowest topic: those given, and every other topic by itself.

    Raises
    ------
    SettingError
        When a topic does not exist, or is in two groups.
    """
    given = [_topics(group, n_components) for group in groups]
    listed = [topic for group in given for topic in group]
    twice = [topic for topic in listed if listed.count(topic) > 1]
    if twice:
        raise SettingError(f"groups: topic {twice[0]} is listed twice; list each topic once")
    alone = [[topic] for topic in range(n_components) if topic not in set(listed)]
    return sorted([sorted(group) for group in given if group] + alone)


def _topics(group: Any, n_components: int) -> list[int]:
    topics: list[Any] = list(group) if isinstance(group, Iterable) and not isinstance(group, str) else [None]
    for topic in topics:
        if not is_whole(topic) or not 0 <= topic < n_components:
            raise SettingError(
                f"groups: found {group!r:.60}; give lists of topics from 0 to {n_components - 1}: [[1, 4], [2, 3]]"
            )
    return [int(topic) for topic in topics]


def merged_model(model: TopicModel, groups: Sequence[Sequence[int]]) -> TopicModel:
    """A model with a topic for each group, for inference; what it learns further begins anew, as with `init`.

    Statistics add up, and so do the priors of documents' or authors' topics; the prior of words is that of one topic,
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
    target.raw[:] = 0
    target.scale[:] = 1.0
    for start, stop in source.blocks():
        rows = source.raw[start:stop] * source.scale
        for topic, group in enumerate(groups):
            target.raw[start:stop, topic] = rows[:, group].sum(axis=1)
    target.fold()

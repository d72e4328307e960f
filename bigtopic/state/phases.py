"""From one phase of a method to the next: a model that begins with the topics of another.

The next phase begins with the tokens of each topic, n_kv of word v in topic k: where it counts documents alone, they
are what it draws the first labels from. Until the next phase
knows better, the mean of a phase that averages is the topics of the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from bigtopic.methods import Method
from bigtopic.plan.cursor import Cursor
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.state.running_mean import begin_means

__all__ = ["next_phase"]


def next_phase(model: TopicModel, number: int, method: Method, options: Mapping[str, Any]) -> TopicModel:
    """A model that begins with the topics of this one.

    Parameters
    ----------
    number, method, options : of the next phase, one of `Method.then`; the method is for a run that begins with given
        topics (`Method.begun_with`)
    """
    name = model.topic_words_name
    topics = model.estimate(name)
    found = new_model(
        method,
        model.components,
        model.axes,
        n_tokens=0.0,
        options=options,
        seed=model.seed,
        text=model.text,
    )
    for other, array in found.params.arrays.items():
        known = model.params.arrays.get(other)
        if other == name:
            array.set_prior(topics.prior)
            statistics = topics.raw[:, : topics.n_components] * topics.scale[: topics.n_components]
            begin_means(found.params.arrays, name, statistics)
            array.raw[:, : topics.n_components] = statistics
            array.scale[:] = 1.0
            array.fold()
        elif known is not None and known.raw.shape == array.raw.shape and "." not in other:
            found.params.arrays[other] = deepcopy(known)
    found.cursor, found.history = Cursor(phase=number), model.history
    return found

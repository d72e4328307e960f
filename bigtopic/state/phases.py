"""From one phase of a method to the next: a model that begins with the topics of another.

The next phase begins with the tokens of each topic, n_kv of word v in topic k: where it counts documents alone, they
are what it draws the first labels from. The means of a phase that averages begin with the arrays as they are then.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from bigtopic.methods import Method
from bigtopic.plan.cursor import Cursor
from bigtopic.state.axes import axis_sizes
from bigtopic.state.contract.declarations import array_specs
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.machine_memory import check_params
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.state.params import Params
from bigtopic.state.running_mean import begin_mean

__all__ = ["next_phase", "outline"]


def next_phase(model: TopicModel, number: int, method: Method, options: Mapping[str, Any]) -> TopicModel:
    """A model that begins with the topics of this one.

    Parameters
    ----------
    number, method, options : of the next phase, whose method is for a run that begins with given topics
        (`Method.begun_with`); or of the first phase, to go back to it
    """
    name = model.topic_words_name
    topics = model.estimate(name)
    n = topics.n_components
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
            if array.is_sparse:
                array.begin(slice(None), topics.raw[:, :n] * topics.scale[:n])
                continue
            np.multiply(topics.raw[:, :n], topics.scale[:n], out=array.raw[:, :n], casting="unsafe")
            array.scale[:] = 1.0
            array.fold()
        elif known is not None and known.raw.shape == array.raw.shape and "." not in other:
            found.params.arrays[other] = deepcopy(known)
    for other in method.schemes:
        begin_mean(found.params.arrays, other)
    found.cursor, found.history = Cursor(phase=number), model.history
    return found


def outline(model: TopicModel, number: int, method: Method, options: Mapping[str, Any]) -> TopicModel:
    """A model with the arrays of a later phase, all zeros that take no memory: to estimate what the phase needs. For
    the arguments see `next_phase`.

    Raises
    ------
    SettingError
        When an array is larger than the machine's memory.
    """
    components = model.components
    sizes = {"none": 1, **axis_sizes(method.model, model.axes, components)}
    arrays = {}
    for name, spec in array_specs(method).items():
        shape = sizes[spec.rows], spec.columns if isinstance(spec.columns, int) else components[spec.columns]
        check_params(*shape, np.dtype(spec.dtype).itemsize)
        arrays[name] = LazyArray.zeros(
            *shape, axis=spec.rows, dtype=spec.dtype, normalised_over=spec.normalised_over
        )
    kernel_options = method.kernel_options(options)
    return TopicModel(
        method, Params(arrays), model.axes, components, kernel_options, model.seed, Cursor(phase=number)
    )

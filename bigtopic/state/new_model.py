"""A model before it learns: the arrays its method needs, each with its prior and initial statistics."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError, argument
from bigtopic.methods import Method
from bigtopic.methods.table import TABLE
from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec
from bigtopic.parallel.progress import say
from bigtopic.state.axes import axis_sizes
from bigtopic.state.contract.declarations import array_specs, check_method, check_options
from bigtopic.state.contract.scheme_steps import LARGEST_PRIOR, SMALLEST_PRIOR
from bigtopic.state.lazy_array import LazyArray, padded
from bigtopic.state.machine_memory import check_params, refuse_beyond
from bigtopic.state.model import TopicModel
from bigtopic.state.params import Params
from bigtopic.state.sparse.array import SparseArray, why_dense
from bigtopic.support.numbers import is_whole
from bigtopic.types import AxisStats

__all__ = ["begin_rows", "count_documents", "has_many", "new_model", "note_dense"]

SPARSE_FROM = 2048  # topics, or bytes of an array that is not sparse
SPARSE_BYTES = 1 << 31
_TOPIC_BYTES = 200  # measured: of a topic in the vectors of a model and of a fit, where few words have it
DRAWN_BYTES = 1 << 22  # of random numbers at once


def new_model(
    method: Method,
    n_components: int | Mapping[str, int],
    axes: Vocabulary | Mapping[str, Vocabulary],
    *,
    n_tokens: float,
    priors: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    text: dict[str, Any] | None = None,
) -> TopicModel:
    """A model with its priors, and initial statistics as the method draws them.

    Parameters
    ----------
    n_components : number of topics, or a number for each component count of the model
    axes : the contents of each axis, see `state.axes`; or the vocabulary of the words alone
    n_tokens : of the corpus, for methods whose initial statistics are scaled to a share of it
    priors : {name of a prior: number or array}, None or nothing for the method's. Of an array that is normalised over
        its axis (n_rows,) or (n_components, n_rows), of others (n_components,) or (n_rows, n_components)
    options : of the kernel; those not given are the method's
    seed : of all randomness of the model
    sizes : rows of axes that neither corpus nor components determine
    text : the tokenizer's settings of the corpus, or None

    Raises
    ------
    SettingError
        When the method declares an array, axis or option that does not exist, a number is outside what is allowed, or a
        prior belongs to no array.
    """
    model = method.model
    check_method(method)
    specs = array_specs(method)
    options = method.kernel_options(options or {})
    check_options(method, options)
    components = _components(model.components, n_components)
    axes = {"word": axes} if isinstance(axes, Vocabulary) else dict(axes)
    n_rows = {"none": 1, **axis_sizes(model, axes, components, sizes)}
    known = {spec.prior for spec in model.arrays.values() if spec.prior}
    given = {name: value for name, value in (priors or {}).items() if value is not None}
    for name in given:
        if name not in known:
            raise SettingError(
                f"{argument(name)} was given, but no array of model {model.name!r} has it; its priors are: "
                + (", ".join(sorted(known)) or "none")
            )
    arrays: dict[str, LazyArray] = {}
    for number, (name, spec) in enumerate(specs.items()):
        size = n_rows[spec.rows], spec.columns if isinstance(spec.columns, int) else components[spec.columns]
        prior = _prior(method, spec, given.get(spec.prior or ""), *size)
        many = has_many(*size)
        why = why_dense(method, name, size[1], options, len(prior)) if many else ""
        kind: type[LazyArray] = SparseArray if many and not why else LazyArray
        if kind is LazyArray:
            check_params(*size, np.dtype(spec.dtype).itemsize, partial(_for_lists, method, name, why))
        else:
            refuse_beyond(_TOPIC_BYTES * size[1], f"choose fewer topics (now {size[1]})")
        array = kind.zeros(*size, axis=spec.rows, dtype=spec.dtype, normalised_over=spec.normalised_over)
        arrays[name] = array
        array.set_prior(prior)
        if spec.start is not None and spec.start[0] != "documents" and not array.is_sparse:
            distribution, share = spec.start
            _draw(array, distribution, None if share is None else share * n_tokens, seed, number)
    count_documents(method, arrays, axes)
    return TopicModel(method, Params(arrays), axes, components, options, seed, text=text)


def count_documents(method: Method, arrays: Mapping[str, LazyArray], axes: Mapping[str, Vocabulary]) -> None:
    """Set the arrays that begin with the number of documents of each row to the current counts of the axes."""
    for name, spec in array_specs(method).items():
        if spec.start is not None and spec.start[0] == "documents":
            arrays[name].raw[:, 0] = axes[spec.rows].counted[0]
            arrays[name].fold()


def begin_rows(model: TopicModel, name: str, first: int) -> None:
    """Begin the rows of an array from `first` on, which are new, as its first ones began, if rows are distributions.

    A row without statistics would stay empty beside others: an author whose documents all have known authors as well.
    """
    specs = array_specs(model.method)
    array, spec = model.params[name], specs[name]
    if spec.normalised_over != "components" or spec.start is None or first >= array.n_rows:
        return
    generator = np.random.Generator(
        np.random.Philox(key=[model.seed % (1 << 64), list(specs).index(name) << 32 | 1 << 31 | first])
    )
    drawn = np.zeros((array.n_rows - first, array.n_columns))
    drawn[:, : array.n_components] = _drawn(generator, spec.start[0], (len(drawn), array.n_components))
    array.add(AxisStats(np.arange(first, array.n_rows, dtype=np.int32), drawn))


def _components(names: tuple[str, ...], given: Any) -> dict[str, int]:
    numbers = dict(given) if isinstance(given, Mapping) else {names[0]: given}
    if set(numbers) != set(names):
        raise SettingError(f"{argument('n_components', given)}: give a number for each of {', '.join(names)}")
    for name in names:
        value = numbers[name]
        if not (is_whole(value) and value >= 1):
            shown = "n_components" if name == names[0] else name
            raise SettingError(
                f"{argument(shown, value)}: the number of topics must be a whole number, 1 or more"
            )
    return {name: int(numbers[name]) for name in names}


def has_many(n_rows: int, n_components: int) -> bool:
    """Whether an array of so many words and topics has sparse rows, where the method can learn these. It then begins
    without statistics, because a random start has no zeros; draws of candidates tell topics apart."""
    return n_components >= SPARSE_FROM or 4 * n_rows * padded(n_components) >= SPARSE_BYTES


def note_dense(model: TopicModel, show: bool | None = None) -> None:
    """A line on what keeps an array of many topics from sparse rows, where the kernel can read them."""
    views = model.method.load_kernel().views
    for name, array in model.params.arrays.items():
        n = array.n_components
        if views.get(name) == "sparse_mean" and has_many(array.n_rows, n) and not array.is_sparse:
            why = why_dense(model.method, name, n, model.options, len(array.prior))
            numbers = f"each word has a number for each of {n:,} topics ({array.raw.nbytes / 1e6:,.0f} MB)"
            say(f"because of {why}, {numbers}, instead of a list of the topics it has", show)


def _for_lists(method: Method, name: str, why: str) -> str:
    """What a model that is refused can change to have sparse rows; "" if it has few topics, or no method has them."""
    if not why:
        return ""
    of_model = [each for each in TABLE if each.model == method.model]
    able = [each.name for each in of_model if not why_dense(each, name, sys.maxsize, each.kernel_options({}))]
    if method.name in able:
        return f", or do without {why}, to keep lists of topics"
    return f", or use method {' or '.join(able)}, which keep lists of topics" if able else ""


def _prior(method: Method, spec: ArraySpec, given: Any, n_rows: int, n_columns: int) -> np.ndarray:
    """The prior of an array as a table, float64 (1 or n_rows, 1 or n_components)."""
    if spec.prior is None:
        return np.zeros((1, 1))
    name = spec.prior
    value = method.prior(name, n_columns) if given is None else given
    try:
        prior = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise SettingError(f"{argument(name, value)}: must be a number or an array of numbers") from None
    by_axis, of_rows = spec.normalised_over == "axis", ""
    allowed = [(n_rows,), (n_columns, n_rows)] if by_axis else [(n_columns,), (n_rows, n_columns)]
    if n_rows > 1:
        of_rows = f", or one per {spec.rows} and topic ({n_rows}, {n_columns})"
    elif not by_axis:
        allowed.pop()
    if prior.shape not in ((), *allowed):
        raise SettingError(
            f"{argument(name)} has shape {prior.shape}: give a number, "
            + (
                f"one per {spec.rows} ({n_rows},), or one per topic and {spec.rows} ({n_columns}, {n_rows})"
                if by_axis
                else f"or one per topic, ({n_columns},){of_rows}"
            )
        )
    may_be_none = given is None and name != DOC_TOPIC_PRIOR  # some methods have none of topics' words: 0
    in_range = (prior >= SMALLEST_PRIOR) & (prior <= LARGEST_PRIOR)
    if not np.all(in_range | ((prior == 0) & may_be_none)):
        shown = repr(value) if np.ndim(value) == 0 else f"array from {np.min(value)} to {np.max(value)}"
        raise SettingError(
            f"{argument(name)}={shown}: must be positive, from {SMALLEST_PRIOR:g} to {LARGEST_PRIOR:g}"
        )
    if prior.ndim < 2:
        return prior.reshape((-1, 1) if by_axis else (1, -1))
    return np.ascontiguousarray(prior.T) if by_axis else prior


def _draw(array: LazyArray, distribution: str, total: float | None, seed: int, number: int) -> None:
    """Random statistics that tell the topics apart; scaled to a total when one is given."""
    n = array.n_components
    n_rows = max(1, DRAWN_BYTES // (8 * n))
    for block, (start, stop) in enumerate(array.blocks()):
        generator = np.random.Generator(np.random.Philox(key=[seed % (1 << 64), number << 32 | block]))
        for first in range(start, stop, n_rows):
            last = min(first + n_rows, stop)
            array.raw[first:last, :n] = _drawn(generator, distribution, (last - first, n))
            if (
                distribution == "diagonal"
            ):  # 1 where row and column have the same number, modulo the shorter side
                between = np.subtract.outer(np.arange(first, last), np.arange(n))
                array.raw[first:last, :n] += between % min(array.n_rows, n) == 0
    if total is not None:
        array.raw *= array.raw.dtype.type(total / max(float(array.raw.sum(dtype=np.float64)), 1e-300))
    array.fold()


def _drawn(generator: np.random.Generator, distribution: str, size: tuple[int, int]) -> np.ndarray:
    """The next numbers, see `Method.init`; two calls draw the same numbers as one."""
    if distribution == "gamma":
        return generator.gamma(100.0, 0.01, size)
    if distribution == "even":
        return np.ones(size)
    drawn = generator.random(size, np.float32) + np.float32(1e-10)
    return drawn * np.float32(0.02) if distribution == "diagonal" else drawn

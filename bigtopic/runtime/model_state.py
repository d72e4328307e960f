"""A stored model made into one in memory: every array has the shape, the type and the range that it must have."""

from __future__ import annotations

import json
import sys
from dataclasses import fields, replace
from typing import Any

import numpy as np

from bigtopic import errors
from bigtopic.corpus.chunks import ChunkedArray
from bigtopic.corpus.json_rules import FieldError
from bigtopic.corpus.storage import Place
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.methods import Method, get, names
from bigtopic.runtime.memory import check_params
from bigtopic.runtime.model import LARGEST_PRIOR, SMALLEST_PRIOR, TopicModel
from bigtopic.runtime.params import SMALLEST_SCALE, LazyArray, Params, padded
from bigtopic.runtime.rounds import Cursor

__all__ = ["COUNTS", "rebuild"]

COUNTS = {"document_frequency": "int64", "frequency": "float64"}  # of the words in what was learnt from


def rebuild(state: Place, description: dict[str, Any], method: Method | None) -> TopicModel:
    """The model whose arrays are below `state`.

    Parameters
    ----------
    description : checked by `model_rules.check_description`

    Raises
    ------
    CorpusDamaged, FieldError, ModelError, SettingError, ValueError, TypeError
        When an array is missing, damaged, or does not belong to the description.
    """
    learnt = _method(description, method)
    words = _words(state, description) if description["named"] else None
    vocabulary = Vocabulary(words, description["n_words"], **_counts(state, description))
    if vocabulary.fingerprint != description["fingerprint"]:
        raise FieldError("the stored words do not match their fingerprint")
    arrays = {
        name: _lazy_array(state / name, about, description["n_words"])
        for name, about in description["arrays"].items()
    }
    n_components = next(iter(arrays.values())).n_components
    return TopicModel(
        learnt,
        Params(arrays),
        vocabulary,
        _read(state / "doc_topic_prior", (n_components,), ("float64",), SMALLEST_PRIOR, LARGEST_PRIOR),
        _options(description, learnt),
        description["seed"],
        Cursor(**{name: description["cursor"][name] for name in ("epoch", "round", "step")}),
        description["text"],
        description["history"],
    )


def _words(state: Place, description: dict[str, Any]) -> list[str]:
    values = _read(state / "words", None, ("uint8",))
    words = [json.loads(line) for line in values.tobytes().decode().split("\n")]
    if len(words) != description["n_words"] or not all(type(word) is str for word in words):
        raise FieldError(f"{state.url}/words does not hold {description['n_words']} words")
    return words


def _counts(state: Place, description: dict[str, Any]) -> dict[str, np.ndarray]:
    """Nothing for models written before frequencies were kept."""
    names = COUNTS if description.get("counted") else {}
    return {name: _read(state / name, (description["n_words"],), (dtype,)) for name, dtype in names.items()}


def _lazy_array(place: Place, about: dict[str, Any], n_words: int) -> LazyArray:
    n_components = about["n_components"]
    n_rows = {"word": n_words, "none": 1}.get(about["axis"])
    n_columns = padded(n_components)
    check_params(n_rows or 1, n_components)
    raw = _read(place / "raw", (n_rows, n_columns), ("float32", "float64"))
    scale = _read(place / "scale", (n_columns,), ("float64",), SMALLEST_SCALE)
    if float(raw.max(initial=0)) * scale.max() > np.finfo(raw.dtype).max:
        raise FieldError(f"{place.url} holds values whose products with their scale are not finite")
    return LazyArray(
        raw,
        scale,
        _read(place / "prior", ({1, len(raw)}, {1, n_components}), ("float64",), 0.0, LARGEST_PRIOR),
        n_components,
        about["axis"],
        about["normalised_over"],
        _read(place / "sums", (n_columns,), ("float64",)),
    )


def _read(
    place: Place,
    shape: tuple[Any, ...] | None,
    types: tuple[str, ...],
    least: float = 0.0,
    most: float = sys.float_info.max,
) -> np.ndarray:
    """An array of the state; `shape` has a length, a set of lengths, or None for any, per dimension; None is a vector.

    Raises
    ------
    CorpusDamaged
        When it is missing or damaged.
    FieldError
        When its shape, its type or its values are not what they must be.
    """
    array = ChunkedArray(place, place.url, "restore the model from a copy, or learn it again")
    allowed = (None,) if shape is None else shape
    fits = len(allowed) == len(array.shape) and all(
        length is None or found == length or (isinstance(length, set) and found in length)
        for found, length in zip(array.shape, allowed, strict=True)
    )
    if not fits or array.dtype.name not in types:
        raise FieldError(
            f"{place.url} has shape {array.shape} and type {array.dtype}, but must have shape {allowed} and type "
            + " or ".join(types)
        )
    values = array[:].reshape(array.shape)
    if values.size and not least <= float(values.min()) <= float(values.max()) <= most:
        raise FieldError(f"{place.url} holds values outside {least:g} .. {most:g}, or has missing chunks")
    return values


def _options(description: dict[str, Any], method: Method) -> dict[str, Any]:
    """The kernel's options, each of the kind of its default."""
    options = method.kernel_options(description["options"])
    for name, default in method.kernel_options({}).items():
        kinds = {float: (float, int), int: (int,), bool: (bool,), str: (str,)}.get(type(default))
        if kinds is not None and type(options[name]) not in kinds:
            raise FieldError(f"option {name} is {ascii(options[name])[:60]}, but must be like {default!r}")
    return options


def _method(description: dict[str, Any], given: Method | None) -> Method:
    """The method by name, with the schedule it was saved with."""
    name = description["method"]
    if given is not None and given.name != name:
        raise errors.ModelError(f"the model was learnt with method {name!r}, not with {given.name!r}")
    if given is None and name not in names():
        raise errors.ModelError(
            f"the model was learnt with a method of yours, {name!r}; give it: load_model(url, method=...)"
        )
    method = get(given or name)
    _check_arrays(description["arrays"], method)
    schemes = {}
    for name, scheme in method.schemes.items():
        known = {f.name for f in fields(scheme)}  # type: ignore[arg-type]
        saved = {k: v for k, v in description["schemes"].get(name, {}).items() if k in known}
        schemes[name] = replace(scheme, **saved)  # type: ignore[type-var]
    return replace(method, schemes=schemes)


def _check_arrays(arrays: dict[str, Any], method: Method) -> None:
    """The arrays must be those of the method's model."""
    expected = {name: (spec.axis, spec.normalised_over) for name, spec in method.model.arrays.items()}
    found = {name: (about["axis"], about["normalised_over"]) for name, about in arrays.items()}
    if found != expected:
        raise FieldError(f"the arrays are {found}, but method {method.name!r} has {expected}")

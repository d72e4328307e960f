"""Reading a stored model into memory; checks the shape, dtype and range of every array, as before one is written."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic import errors
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.methods import Method, get, names
from bigtopic.methods.settings import learning
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.plan.cursor import Cursor
from bigtopic.schemes import settings
from bigtopic.state.contract.declarations import array_specs, check_options
from bigtopic.state.contract.rules import MOST_STEPS
from bigtopic.state.contract.scheme_steps import LARGEST_PRIOR, SMALLEST_PRIOR
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.lazy_array import SMALLEST_SCALE, LazyArray, padded
from bigtopic.state.machine_memory import check_params, refuse_beyond
from bigtopic.state.model import TopicModel
from bigtopic.state.params import Params
from bigtopic.state.running_mean import COUNT
from bigtopic.state.sparse.array import SparseArray, why_dense
from bigtopic.state.sparse.rows import SparseRows
from bigtopic.storage.chunks import ChunkedArray
from bigtopic.storage.json_rules import LARGEST, FieldError
from bigtopic.storage.place import Place
from bigtopic.types import Scheme

__all__ = ["FREQUENCIES", "check_frequency", "check_parts", "check_range", "parts_of", "rebuild"]

FREQUENCIES = {"document_frequency": "int64", "frequency": "float64"}  # of the words in what was learned from
_CELLS = 1 << 21  # of an array that are multiplied out at once
_DRIFT = 0.01  # of sums: a few millionths after 15,000 updates; more is damage
_ROUNDING = 1e-5  # of what was added to sums, and dropped


def rebuild(state: Place, description: dict[str, Any], method: Method | None) -> TopicModel:
    """The model whose arrays are below `state`.

    Parameters
    ----------
    description : checked by `contract.rules.check_description`

    Raises
    ------
    CorpusDamaged, FieldError, ModelError, SettingError, ValueError, TypeError
        When an array is missing, damaged, or does not belong to the description.
    """
    learned = _method(description, method)
    options = learned.kernel_options(description["options"])
    check_options(learned, options)
    axes = {"word": _names(state, {**description, "size": description["n_words"]})}
    for name, about in description["axes"].items():
        axes[name] = _names(state / "axes" / name, about)
    if any(spec.rows == "column" for spec in learned.model.arrays.values()):
        axes["column"] = axes["word"]
    components, expected = description["components"], learned.model.components
    if set(components) != set(expected):
        raise FieldError(f"components are {sorted(components)}, but method {learned.name!r} has {expected}")
    components = {name: components[name] for name in expected}
    for name, about in description["arrays"].items():
        if about.get("sparse", False) and why_dense(learned, name, about["n_components"], options):
            raise FieldError(
                f"array {name} has sparse rows, but method {learned.name!r} learns none with these settings"
            )
    documents, cursor = description.get("documents"), description["cursor"]
    return TopicModel(
        learned,
        Params(_arrays(state, description, learned, axes, components)),
        axes,
        components,
        options,
        description["seed"],
        Cursor(
            cursor["epoch"],
            cursor["round"],
            cursor["step"],
            tuple(sorted(cursor.get("ahead", ()))),
            cursor.get("phase", 0),
        ),
        description["text"],
        description["history"],
        DocumentState.without_files(documents) if documents else None,
    )


def _names(place: Place, about: Mapping[str, Any]) -> Vocabulary:
    """The contents of an axis; without frequencies in models written before these were stored."""
    names, words, size = FREQUENCIES if about.get("counted") else {}, None, about["size"]
    if about["named"]:
        values = _read(place / "words", None, ("uint8",))
        words = [json.loads(line) for line in values.tobytes().decode().split("\n")] if size else []
        if len(words) != size or not all(type(word) is str for word in words):
            raise FieldError(f"{place.url}/words does not hold {size} words")
    counts = {name: _read(place / name, (size,), (dtype,)) for name, dtype in names.items()}
    for name, values in counts.items():
        check_frequency((place / name).url, values)
    found = Vocabulary(words, size, **counts)
    if found.fingerprint != about["fingerprint"]:
        raise FieldError("the stored words do not match their fingerprint")
    return found


def _arrays(
    state: Place,
    description: dict[str, Any],
    method: Method,
    axes: Mapping[str, Vocabulary],
    components: Mapping[str, int],
) -> dict[str, LazyArray]:
    """Every array of the method's model, and the companions that its schemes ask for."""
    sizes = {"none": 1, **components, **{name: max(1, len(names)) for name, names in axes.items()}}
    expected = array_specs(method)
    found = {name: (a["axis"], a["normalised_over"]) for name, a in description["arrays"].items()}
    wanted = {name: (spec.rows, spec.normalised_over) for name, spec in expected.items()}
    old_prior = {DOC_TOPIC_PRIOR} & {*expected} if description["version"] == 1 else set()
    if found != {name: about for name, about in wanted.items() if name not in old_prior}:
        raise FieldError(f"the arrays are {found}, but method {method.name!r} has {wanted}")
    arrays = {}
    for name, spec in expected.items():
        n_columns = spec.columns if isinstance(spec.columns, int) else components[spec.columns]
        if name in old_prior:
            values = _read(state / name, (n_columns,), ("float64",))
            check_range((state / name).url, values, SMALLEST_PRIOR, LARGEST_PRIOR)
            arrays[name] = LazyArray.zeros(1, n_columns, axis="none", dtype=spec.dtype, normalised_over=None)
            arrays[name].set_prior(values[None])
        else:
            about = description["arrays"][name]
            if about["n_components"] != n_columns:
                raise FieldError(f"array {name} does not have {n_columns} columns")
            arrays[name] = _lazy_array(
                state / name, spec, sizes.get(spec.rows), n_columns, about.get("sparse", False)
            )
    return arrays


def _lazy_array(
    place: Place, spec: ArraySpec, n_rows: int | None, n_components: int, sparse: bool
) -> LazyArray:
    """An array of the params; `n_rows` is None where the axis is the model's own."""
    n_columns = padded(n_components)
    raw: Any
    if sparse:
        raw = _sparse_rows(place, n_rows, n_components)
    else:
        check_params(n_rows or 1, n_components)
        types = ("float32", "float64") if spec.dtype.startswith("float") else (spec.dtype,)
        raw = _read(place / "raw", (n_rows, n_columns), types)
    parts = {
        "raw": raw,
        "scale": _read(place / "scale", (n_columns,), ("float64",)),
        "prior": _read(place / "prior", (1 if sparse else {1, len(raw)}, {1, n_components}), ("float64",)),
        "sums": _read(place / "sums", (n_columns,), ("float64",)),
        **({"dropped": _read(place / "dropped", (1,), ("float64",))} if sparse else {}),
    }
    check_parts(place.url, parts, spec.normalised_over, n_components)
    given = raw, parts["scale"], parts["prior"], n_components, spec.rows, spec.normalised_over, parts["sums"]
    array = SparseArray(*given, dropped=float(parts["dropped"][0])) if sparse else LazyArray(*given)
    weights = array.gather(None)[:, :n_components] if spec.prior == DOC_TOPIC_PRIOR else np.ones(1)
    if not SMALLEST_PRIOR <= weights.min() <= weights.max() <= LARGEST_PRIOR:
        raise FieldError(f"{place.url} holds values outside {SMALLEST_PRIOR:g} .. {LARGEST_PRIOR:g}")
    return array


def _sparse_rows(place: Place, n_rows: int | None, n_components: int) -> SparseRows:
    """Rows with as many columns and values as their lengths say; what these are is not checked yet."""
    lengths = _read(place / "lengths", (n_rows,), ("int32",))
    check_range((place / "lengths").url, lengths, most=n_components)
    n_values = int(lengths.sum(dtype=np.int64))
    refuse_beyond(8 * n_values, "load it on a machine with more")
    columns = _read(place / "columns", (n_values,), ("int32",))
    values = _read(place / "values", (n_values,), ("float32",))
    return SparseRows(lengths, columns, values, padded(n_components))


def _read(place: Place, shape: tuple[Any, ...] | None, types: tuple[str, ...]) -> np.ndarray:
    """An array of the state; `shape` has a length, a set of lengths, or None for any, per dimension; None is a vector.

    Raises
    ------
    CorpusDamaged
        When it is missing or damaged.
    FieldError
        When its shape or its type is wrong.
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
    values: np.ndarray = array[:].reshape(array.shape)
    return values


def _method(description: dict[str, Any], given: Method | None) -> Method:
    """The method by name, with the settings of its schemes, and those that learn priors."""
    name = description["method"]
    if given is not None and given.name != name:
        raise errors.ModelError(f"the model was learned with method {name!r}, not with {given.name!r}")
    if given is None and name not in names():
        raise errors.ModelError(
            f"the model was learned with the custom method {name!r}; "
            + errors.either(
                "pass it: load_model(url, method=...)",
                "commands need a row for it in bigtopic/methods/families; in Python, load_model takes it",
            )
        )
    schemes, prior_schemes = description["schemes"], description.get("prior_schemes", {})
    phases, phase = get(given or name).phases, description["cursor"].get("phase", 0)
    if phase >= len(phases):
        raise FieldError(f"cursor.phase is {phase}, but method {name!r} has {len(phases)} phases")
    method = phases[phase] if phase else get(given or name)
    missing = {name: schemes[name] for name in schemes if name not in method.schemes}
    unlearned = {name: prior_schemes[name] for name in prior_schemes if name not in method.prior_schemes}
    method = learning(
        method,
        missing.get(DOC_TOPIC_PRIOR, {}).get("shape"),
        unlearned.get(TOPIC_WORDS, {}).get("shape"),
        unlearned.get(AUTHOR_TOPICS, {}).get("shape"),
    )
    return replace(
        method,
        schemes=_as_saved(method.schemes, schemes),
        prior_schemes=_as_saved(method.prior_schemes, prior_schemes),
        average=description.get("average", 0.0),
    )


def _as_saved(schemes: Mapping[str, Scheme], saved: Mapping[str, Mapping[str, Any]]) -> dict[str, Scheme]:
    """Schemes with the settings that they were saved with."""
    found = {}
    for name, scheme in schemes.items():
        known = settings(scheme)
        own = {k: v for k, v in saved.get(name, {}).items() if k in known}
        found[name] = replace(scheme, **own)  # type: ignore[type-var]
    return found


def parts_of(array: LazyArray) -> dict[str, Any]:
    """The parts of an array that a model keeps: `raw`, `scale`, `prior`, `sums`, and of sparse rows `dropped`."""
    parts = {part: getattr(array, part) for part in ("raw", "scale", "prior", "sums")}
    return parts | ({"dropped": np.array([array.dropped])} if isinstance(array, SparseArray) else {})


def check_parts(name: str, parts: Mapping[str, Any], normalised_over: str | None, n_components: int) -> None:
    """Check the values of an array's parts.

    Statistics of distributions may be below 0 only by rounding: labels that were added and taken away again in thirds.

    Parameters
    ----------
    name : of the array, for the message
    parts : see `parts_of`, with the shapes and types of a `LazyArray` or `SparseArray`
    normalised_over : None where statistics may be negative: changes of a prior, a momentum
    n_components : of the array

    Raises
    ------
    FieldError
        When a value is not finite or outside its range, sparse rows have other columns, or the sums do not match the
        statistics.
    """
    raw, scale, sums = parts["raw"], parts["scale"], parts["sums"]
    held = "raw"
    if isinstance(raw, SparseRows):
        held, row = "values", raw.first_out_of_order(n_components)
        if row is not None:
            raise FieldError(
                f"{name}/columns of row {row} do not ascend from 0 to at most {n_components - 1}"
            )
        check_range(f"{name}/dropped", parts["dropped"])
    extremes = _extremes(raw)
    digits = (
        np.sqrt(np.finfo(raw.dtype).eps) if raw.dtype.kind == "f" else 0.0
    )  # half of the digits of the largest value
    for part, values in ((held, extremes), ("sums", sums)):
        rounding = float(digits) * min(float(values.max(initial=0)), sys.float_info.max)
        check_range(f"{name}/{part}", values, -sys.float_info.max if normalised_over is None else -rounding)
    check_range(f"{name}/scale", scale, SMALLEST_SCALE)
    check_range(f"{name}/prior", parts["prior"], 0.0, LARGEST_PRIOR)
    largest = max(float(extremes.max(initial=0)), -float(extremes.min(initial=0)))
    if raw.dtype.kind == "f" and largest * scale.max() > np.finfo(raw.dtype).max:
        raise FieldError(f"{name} holds values whose products with their scale are not finite")
    if name.endswith(f".{COUNT}"):
        check_range(name, parts["prior"] + raw[:1, :1] * scale[:1], most=MOST_STEPS)
    found, size = _sums_of(raw, scale)
    allowed = _DRIFT * max(size, 1e-30)
    if isinstance(raw, SparseRows):
        allowed += _ROUNDING * float(parts["dropped"].sum())  # which was in the sums, too
    if not (np.abs(found - sums) <= allowed).all():
        column = int(np.argmax(np.abs(found - sums)))
        raise FieldError(
            f"{name}/sums of column {column} is {sums[column]:g}, but scale times the rows of {held} add up to "
            f"{found[column]:g}"
        )


def _extremes(raw: np.ndarray | SparseRows) -> np.ndarray:
    """The least and the largest value, (2,), NaN if one is; (0,) if there are none."""
    if isinstance(raw, SparseRows):
        return raw.extremes()
    return np.array([raw.min(), raw.max()]) if raw.size else raw.reshape(-1)


def _sums_of(raw: np.ndarray | SparseRows, scale: np.ndarray) -> tuple[np.ndarray, float]:
    """The sums of the columns, and the largest sum of absolute values: rows are rounded to their type at each addition,
    and sums that are kept beside them drift from them."""
    if isinstance(raw, SparseRows):
        found = raw.column_sums() * scale
        return found, float(np.abs(found).max(initial=0.0))
    found, size = np.zeros(len(scale)), np.zeros(len(scale))
    step = max(1, _CELLS // len(scale))
    for start in range(0, len(raw), step):
        rows = raw[start : start + step] * scale
        found += rows.sum(axis=0)
        size += np.abs(rows, out=rows).sum(axis=0)
    return found, float(size.max(initial=0.0))


def check_frequency(name: str, values: np.ndarray) -> None:
    """Check how often words occur: numbers of documents that JSON could carry, so that more can be added, and tokens.

    Raises
    ------
    FieldError
    """
    check_range(name, values, most=LARGEST if values.dtype.kind == "i" else sys.float_info.max)


def check_range(name: str, values: np.ndarray, least: float = 0.0, most: float = sys.float_info.max) -> None:
    """Check that all values are in a range; NaN is in none.

    Raises
    ------
    FieldError
        When one is not.
    """
    if values.size and not least <= float(values.min()) <= float(values.max()) <= most:
        raise FieldError(
            f"{name} holds values from {values.min():g} to {values.max():g}, outside {least:g} .. {most:g}"
        )

"""Models on disk: Zarr arrays and JSON, nothing pickled, written so that a killed process leaves the old or the new.

```
model.zarr/                 zarr.json: attributes["bigtopic-model"] is the description, replaced in one write, last
  state-<id>/               words, document_frequency, frequency; the same below axes/<axis> for further axes; and for
                            each array of the params raw, scale, prior, sums; in place of raw, sparse rows have
                            lengths, columns, values, and dropped
```
The raw statistics are kept with their scale, so a model that is loaded goes on to the same bits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from bigtopic import errors
from bigtopic.corpus.stored.schema import MANIFEST
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.methods import Method
from bigtopic.schemes import settings
from bigtopic.state.contract.declarations import check_method
from bigtopic.state.contract.rules import check_description, plain, upgraded
from bigtopic.state.model import TopicModel
from bigtopic.state.model_reader import FREQUENCIES, check_frequency, check_parts, parts_of, rebuild
from bigtopic.state.sparse.in_order import InOrder
from bigtopic.state.sparse.rows import SparseRows
from bigtopic.storage.json_rules import FieldError
from bigtopic.storage.place import Place, zarr_store
from bigtopic.storage.writers import WRITER, FolderWriter, RemoteWriter, is_listed, root_attributes

__all__ = ["describe", "load", "save"]

_WHAT = "a bigtopic model"
FORMAT = "bigtopic-model"
VERSION = 3  # 2 of a model without sparse rows, so that earlier versions of bigtopic read it
CHUNK_BYTES = 1 << 24


def save(
    model: TopicModel,
    url: Any,
    extra: dict[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Write a model.

    Parameters
    ----------
    extra : JSON of the caller, which `load` returns
    storage_options : for fsspec
    overwrite : whether to replace the model that is there
    check : raises when that may not be replaced; called with the lock

    Raises
    ------
    CorpusExists
        When a model is at `url` and `overwrite` is false, or something else is; it is untouched.
    CorpusLocked
        When another process saves a model there at this moment.
    ModelError
        When `load` would refuse an array or a figure; an existing model stays as it was.
    StoreError
        When the system refuses a write; an existing model stays as it was.
    """
    place = Place.of(url, storage_options)
    _check(model, extra, place)
    listed = _listed if place.local else _listed_remote
    with (FolderWriter if place.local else RemoteWriter)(place, _WHAT, listed) as writer:
        _check_free(place, overwrite)
        check()
        state = f"state-{writer.token}"
        writer.claim(["zarr.json", "zarr.json.partial", state])
        _write_arrays(place, state, model)
        (place / state).sync()
        writer.commit({FORMAT: _describe(model, state, extra)}, set(listed(place) or ()) - {"zarr.json"})


def _check(model: TopicModel, extra: dict[str, Any] | None, place: Place) -> None:
    """Raises ModelError where `load` would."""
    name = ""
    try:
        for name, array in model.params.arrays.items():
            check_parts(name, parts_of(array), array.normalised_over, array.n_components)
    except FieldError as error:
        scheme, kernel = model.method.schemes.get(name), model.method.load_kernel().name
        by = f"kernel {kernel!r}" + (f" or scheme {type(scheme).__name__}" if scheme else "")
        raise errors.ModelError(
            f"{place.url}: the model is not saved, because array {error}; correct what {by} adds, and fit the "
            "model again"
        ) from error
    try:
        described = json.loads(json.dumps(_describe(model, "state-0", extra)))
        check_description(described, "its description:")
        for axis, names in {"word": model.vocabulary, **_further(model)}.items():
            for name in FREQUENCIES if names.frequency is not None else ():
                check_frequency(f"{name} of axis {axis!r}", getattr(names, name))
    except FieldError as error:
        raise errors.ModelError(f"{place.url}: the model is not saved, because {error}") from error


def _check_free(place: Place, overwrite: bool) -> None:
    """Refuse a place that has a model; called with the lock."""
    if not overwrite and _listed(place) is not None:
        raise errors.CorpusExists(
            f"{place.url} is already a model; choose another path, or pass {errors.argument('overwrite', True)} to "
            "replace it"
        )


def _listed_remote(place: Place) -> set[str] | None:
    """The same as `_listed` behind a URL.

    Raises
    ------
    CorpusExists
        When there is the root of another store.
    """
    listed = _listed(place)
    if listed is None and set(root_attributes(place, _WHAT) or ()) - {WRITER}:
        raise errors.CorpusExists(f"{place.url} exists and is not {_WHAT}; choose another path")
    return listed


def load(
    url: Any, method: Method | None = None, storage_options: Mapping[str, Any] | None = None
) -> tuple[TopicModel, dict[str, Any]]:
    """The model at `url`, and the `extra` it was saved with.

    Parameters
    ----------
    method : the model's method, if it is not in the table
    storage_options : for fsspec

    Raises
    ------
    ModelError
        When there is no model, or an array is missing or damaged.
    ModelVersionError
        When it is of a newer format.
    SettingError
        When the given method declares something that is not allowed.
    """
    if method is not None:
        check_method(method)
    place = Place.of(url, storage_options)
    description = describe(place)
    if description is None:
        raise errors.ModelError(f"there is no bigtopic model at {place.url}{_remedy(place)}")
    version = description.get("version") if isinstance(description, dict) else None
    if type(version) is not int or version < 1:
        raise errors.ModelError(f"the model at {place.url} is damaged: its description has no version")
    if version > VERSION:
        raise errors.ModelVersionError(
            f"the model at {place.url} has format version {version}, this version of bigtopic reads up to {VERSION}; "
            "upgrade bigtopic"
        )
    try:
        description = upgraded(description)
        check_description(description, "its description:")
        return rebuild(place / description["state"], description, method), description["extra"]
    except errors.ModelError as error:
        raise type(error)(f"{place.url}: {error.message}") from error
    except (errors.CorpusDamaged, errors.SettingError, ValueError, TypeError, RecursionError) as error:
        raise errors.ModelError(f"the model at {place.url} is damaged: {error}") from error


def _remedy(place: Place) -> str:
    """Advice where there is no model."""
    command = "train one with 'bigtopic train CORPUS MODEL'"
    train = errors.either("train one with bigtopic.LDA and save it", command)
    with suppress(errors.CorpusExists):
        if MANIFEST in (root_attributes(place, _WHAT) or {}):
            opens = "bigtopic.open_corpus opens it, or train one with bigtopic.LDA and save it"
            return f", but a corpus: {errors.either(opens, command)}"
    with suppress(errors.StoreError):
        if any(name.startswith("state-") and is_listed(name) for name in place.names()):
            return (
                ", but the arrays of one without its zarr.json, which is damaged or lost, or not written yet: wait for "
                "the process that saves it, or take the model from a copy"
            )
    return place.nearest() or f"; check the path, or {train}"


def _listed(place: Place) -> set[str] | None:
    """The paths of the model at a place, and no others that its description lists; None when there is no model."""
    description = describe(place)
    if description is None:
        return None
    state = description.get("state") if isinstance(description, dict) else None
    if isinstance(state, str) and state.startswith("state-") and is_listed(state):
        return {"zarr.json", state}
    return {"zarr.json"}


def describe(place: Place) -> Any:
    """The description of the model at a place, unchecked; None where there is no complete model."""
    with suppress(errors.CorpusExists):
        return (root_attributes(place, _WHAT) or {}).get(FORMAT)
    return None


def _describe(model: TopicModel, state: str, extra: dict[str, Any] | None) -> dict[str, Any]:
    cursor, method = model.cursor, model.method
    arrays = {
        name: {
            "axis": a.axis,
            "n_components": a.n_components,
            "normalised_over": a.normalised_over,
            **({"sparse": True} if a.is_sparse else {}),
        }
        for name, a in model.params.arrays.items()
    }
    description = {
        "version": VERSION if any("sparse" in about for about in arrays.values()) else 2,
        "state": state,
        "method": method.name,
        "schemes": {name: settings(scheme) for name, scheme in method.schemes.items()},
        "prior_schemes": {name: settings(scheme) for name, scheme in method.prior_schemes.items()},
        "average": method.average,
        "options": model.options,
        "seed": model.seed,
        "cursor": {
            "epoch": cursor.pass_number,
            "round": cursor.round,
            "step": cursor.step,
            "ahead": list(cursor.ahead),
            **({"phase": cursor.phase} if cursor.phase else {}),
        },
        "text": model.text,
        "history": model.history,
        "arrays": arrays,
        "components": model.components,
        **_describe_names(model.vocabulary, "n_words"),
        "axes": {name: _describe_names(names, "size") for name, names in _further(model).items()},
        "documents": None if model.document_state is None else model.document_state.description,
        "extra": extra or {},
    }
    written: dict[str, Any] = plain(description)
    return written


def _further(model: TopicModel) -> dict[str, Vocabulary]:
    """The contents of the axes other than words; columns are words, too."""
    return {name: names for name, names in model.axes.items() if name not in ("word", "column")}


def _describe_names(names: Vocabulary, size: str) -> dict[str, Any]:
    return {
        "named": names.named,
        size: len(names),
        "fingerprint": names.fingerprint,
        "counted": names.frequency is not None,
    }


def _write_arrays(place: Place, state: str, model: TopicModel) -> None:
    import zarr

    group = zarr.open_group(zarr_store(place / state), mode="a", use_consolidated=False)
    _put_names(group, model.vocabulary)
    for axis, names in _further(model).items():
        _put_names(group.require_group(f"axes/{axis}"), names)
    for name, array in model.params.arrays.items():
        own = group.create_group(name)
        for part, values in parts_of(array).items():
            if isinstance(values, SparseRows):
                columns, cells = values.in_order()
                _put(own, "lengths", values.lengths.astype(np.int32))
                _put(own, "columns", columns)
                _put(own, "values", cells)
            else:
                _put(own, part, values)


def _put_names(group: Any, names: Vocabulary) -> None:
    if names.named:
        assert names.words is not None
        data = "\n".join(json.dumps(word) for word in names.words.tolist()).encode()
        _put(group, "words", np.frombuffer(data, np.uint8))
    for name in FREQUENCIES if names.frequency is not None else ():
        _put(group, name, getattr(names, name))


def _put(group: Any, name: str, values: np.ndarray | InOrder) -> None:
    from zarr.codecs import BloscCodec, Crc32cCodec

    row_bytes = max(1, values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64)))
    n_chunks = max(1, -(-len(values) // max(1, CHUNK_BYTES // row_bytes)))
    rows = max(1, -(-len(values) // n_chunks))  # all but equal: the last chunk is decoded as a whole
    array = group.create_array(
        name,
        shape=values.shape,
        dtype=values.dtype,
        chunks=(rows, *values.shape[1:]),
        compressors=[BloscCodec(cname="zstd", clevel=3, shuffle="shuffle"), Crc32cCodec()],
        fill_value=np.nan if values.dtype.kind == "f" else 0,
        config={"write_empty_chunks": True},
    )
    for start in range(0, len(values), rows):  # at once, Zarr would hold copies of all chunks
        array[start : start + rows] = values[start : start + rows]

"""Data saved with a model: the estimator's settings; checkpoints of a fit, and the settings that resuming needs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isnan
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument
from bigtopic.estimators.support.phases import n_passes
from bigtopic.methods import Method, get
from bigtopic.plan.cursor import Cursor
from bigtopic.state import model_store
from bigtopic.state.checkpoints.checkpoint import Checkpoint, CheckpointFolder
from bigtopic.state.identity import corpus_identity, differences
from bigtopic.state.model import TopicModel

__all__ = [
    "NOTHING",
    "NOT_KEPT",
    "SavedFit",
    "extra_of",
    "folder",
    "is_plain",
    "newest",
    "save_model",
    "without_password",
]

NOT_KEPT = ("client",)  # a connection, good for this process only
# And a user, in each link of a chained URL. A secret may hold a "/" that is not escaped; a port may not.
_PASSWORD = re.compile(r"(://)(?:[^/]*@|[^/:@]*:(?!:|\d+/)(?:(?!::)[^@])*@)")


def save_model(
    estimator: Any,
    url: Any,
    storage_options: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Write a fitted estimator: its params, and its arguments that JSON can represent. See `model_store.save`."""
    model, extra = estimator._fitted(), extra_of(estimator)
    model_store.save(model, url, extra, storage_options, overwrite=overwrite, check=check)


def extra_of(estimator: Any) -> dict[str, Any]:
    """Data saved with the model: the estimator's kind, its arguments that JSON can represent, its counts, and the
    record of its run."""
    params = {
        name: without_password(value)
        for name, value in estimator.get_params().items()
        if name not in NOT_KEPT and is_plain(value)
    }
    fitted = {"n_docs_seen": estimator.n_docs_seen_, "n_iter": estimator.n_iter_}
    labels = None if estimator._labels is None else list(estimator._labels)
    more = {"labels": labels, "pair_words": estimator._pair_words, "run": estimator.run_}
    there = {name: value for name, value in more.items() if value is not None}
    return {"estimator": type(estimator).__name__, "params": params, **fitted, **there}


def is_plain(value: Any) -> bool:
    """Whether JSON can represent an argument."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | float | str | np.generic)


def without_password(value: Any) -> Any:
    """An argument as it may be passed on: URLs in it without users and passwords."""
    if isinstance(value, dict):
        return {key: without_password(item) for key, item in value.items()}
    return _PASSWORD.sub(r"\1", value) if isinstance(value, str) else value


NOTHING = {"seconds": 0.0, "n_docs": 0, "n_tokens": 0.0}  # counts of a version that has none

_FREE = {"client", "n_threads", "progress", "callbacks", "max_time"}  # do not change what is learned
_WORDS = {"summary", "paper", "complexity", "use", "aliases"}  # about a method
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def folder(
    checkpoint: Any, estimator: Any, corpus: Corpus, held_out: Corpus | None, resume: bool
) -> CheckpointFolder:
    """The checkpoint folder of a fit.

    Parameters
    ----------
    checkpoint : a path, or a `Checkpoint`
    estimator : its arguments are the settings that must be the same to resume the fit
    corpus, held_out : the documents to learn from, and those to score
    resume : see `CheckpointFolder`

    Raises
    ------
    SettingError
        When the estimator has no seed: another process could not continue the fit.
    """
    settings = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    if not isinstance(estimator.random_state, int | np.integer):
        raise SettingError(
            f"{argument('checkpoint', ...)} needs {argument('random_state', ...)}, a whole number: without a seed, "
            "the run could not be resumed"
        )
    given = {name: value for name, value in estimator.get_params().items() if name not in _FREE}
    given["method"] = get(estimator.method)  # the same, whether by default, by name or as an object
    if held_out is not None and not isinstance(estimator.validation, int | float):
        given["validation"] = held_out  # compared by content, in whatever form it was given
    params = {name: _plain(value) for name, value in given.items()}
    identity = {"settings": params, "corpus": corpus_identity(corpus)}
    return CheckpointFolder(settings, identity, resume)


def newest(
    saved: CheckpointFolder,
    estimator: Any,
    settings: Sequence[tuple[Method, Mapping[str, Any]]],
    seed: int,
) -> tuple[TopicModel, dict[str, Any]] | None:
    """The newest version of a fit that is intact and says what the estimator says, see `CheckpointFolder.newest`.

    Parameters
    ----------
    settings : method and options of a model that the estimator begins with, in each phase
    seed : of such a model
    """

    def contradictions(model: TopicModel) -> Sequence[str]:
        method, options = settings[model.cursor.phase]
        began = _learns_by(method, method.kernel_options(options), seed, estimator.n_components)
        return differences(began, _learns_by(model.method, model.options, model.seed, model.n_components))

    return saved.newest(estimator.method if isinstance(estimator.method, Method) else None, contradictions)


def _learns_by(method: Method, options: Mapping[str, Any], seed: int, n_components: int) -> Any:
    return _plain({"seed": seed, "n_components": n_components, "method": method, "options": options})


class SavedFit:
    """Saves an estimator while it learns (a `learning.train.Saver`)."""

    def __init__(self, estimator: Any, saved: CheckpointFolder, counts: Mapping[str, float] | None) -> None:
        self._estimator, self._saved, self.counts = estimator, saved, counts

    def due(self, cursor: Cursor) -> bool:
        return self._saved.due(cursor)

    def save(self, model: TopicModel, counts: Mapping[str, float]) -> None:
        self._estimator.n_iter_ = n_passes(self._estimator)
        self._saved.save(model, {**extra_of(self._estimator), "counts": dict(counts)})


def _plain(value: Any) -> Any:
    """A setting as JSON can hold it; equal settings give equal values in every process."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if hasattr(value, "get_topics"):  # a model to start from
        return _plain(value.get_topics())
    if isinstance(value, Corpus):
        return _digest(json.dumps(corpus_identity(value)).encode())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if is_dataclass(value) and not isinstance(value, type):  # a method, its kernel and schemes
        told = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in _WORDS}
        return {"kind": type(value).__name__, **_plain(told)}
    if isinstance(value, list | tuple) or hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind in "OU":
            return [_plain(item) for item in value]
        if array.dtype.kind in "iuf":  # equal numbers, whatever their type
            array = array.astype(np.float64)
        return f"array of shape {array.shape}, {_digest(np.ascontiguousarray(array).tobytes())}"
    if isinstance(value, float) and isnan(value):  # which JSON may hold, but it differs from itself
        return "nan"
    if value is None or isinstance(value, bool | int | float | str):
        return without_password(value)
    return _ADDRESS.sub("", repr(value))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()

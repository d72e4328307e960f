"""The part of an estimator that is saved with its model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.state import model_store

__all__ = ["NOT_KEPT", "extra_of", "is_plain", "save_model", "without_password"]

NOT_KEPT = ("client",)  # a connection, good for this process only
# And a user, in each link of a chained URL. A secret may hold a "/" that is not escaped; a port may not.
_PASSWORD = re.compile(r"(://)(?:[^/]*@|[^/:@]*:(?!:|\d+/)(?:(?!::)[^@])*@)")


def save_model(
    estimator: Any, url: Any, storage_options: Mapping[str, Any] | None = None, *, overwrite: bool = False
) -> None:
    """Write a fitted estimator: its params, and its arguments that JSON can represent."""
    model_store.save(estimator._fitted(), url, extra_of(estimator), storage_options, overwrite=overwrite)


def extra_of(estimator: Any) -> dict[str, Any]:
    """What is saved with the model: the estimator's kind, its arguments that JSON can represent, its counts, and
    the record of its run."""
    params = {
        name: without_password(value)
        for name, value in estimator.get_params().items()
        if name not in NOT_KEPT and is_plain(value)
    }
    fitted = {"n_docs_seen": estimator.n_docs_seen_, "n_iter": estimator.n_iter_}
    labels = {} if estimator._labels is None else {"labels": list(estimator._labels)}
    run = {} if estimator.run_ is None else {"run": estimator.run_}
    pair_words = {} if estimator._pair_words is None else {"pair_words": estimator._pair_words}
    return {"estimator": type(estimator).__name__, "params": params, **fitted, **labels, **pair_words, **run}


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

"""What of an estimator is kept beside its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.runtime import model_store

__all__ = ["save_model"]

NOT_KEPT = ("client",)  # a connection, good for this process only


def save_model(estimator: Any, url: Any, storage_options: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator: its params, and those of its arguments that JSON can hold."""
    model = estimator._fitted()
    params = {
        name: value
        for name, value in estimator.get_params().items()
        if name not in NOT_KEPT and _is_plain(value)
    }
    fitted = {"n_docs_seen": estimator.n_docs_seen_, "n_iter": estimator.n_iter_}
    extra = {"estimator": type(estimator).__name__, "params": params, **fitted}
    model_store.save(model, url, extra, storage_options)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | float | str | np.generic)

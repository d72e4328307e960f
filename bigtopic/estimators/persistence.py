"""Saving and loading estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.methods import Method
from bigtopic.runtime import model_store

__all__ = ["load_model", "save_model"]

NOT_KEPT = ("client",)  # a connection of this session


def save_model(estimator: Any, url: Any) -> None:
    """Write a fitted estimator: its params, and those of its arguments that JSON can hold."""
    model = estimator._fitted()
    params = {
        name: value
        for name, value in estimator.get_params().items()
        if name not in NOT_KEPT and _is_plain(value)
    }
    fitted = {"n_docs_seen": estimator.n_docs_seen_, "n_iter": estimator.n_iter_}
    model_store.save(model, url, {"estimator": type(estimator).__name__, "params": params, **fitted})


def load_model(url: Any, method: Method | None = None) -> Any:
    """The estimator stored at a path or URL.

    Parameters
    ----------
    method : the `Method` it was learnt with, if that was one of your own

    Raises
    ------
    ModelError
        When there is none, it is damaged, or its format is newer than this version reads.
    """
    from bigtopic.estimators.lda import LDA

    model, extra = model_store.load(url, method)
    kinds = {"LDA": LDA}
    name = extra.get("estimator", "LDA")
    if name not in kinds:
        raise ModelError(
            f"the model at {url} is of kind {name!r}, which this version of bigtopic does not know"
        )
    known = kinds[name]().get_params()
    estimator = kinds[name](**{k: v for k, v in extra.get("params", {}).items() if k in known})
    estimator.method = method or estimator.method
    estimator._model = model
    estimator.n_docs_seen_ = extra.get("n_docs_seen", 0)
    estimator.n_iter_ = extra.get("n_iter", 0)
    return estimator


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | float | str | np.generic)

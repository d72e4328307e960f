"""What `transform` returns: an array, or a DataFrame, as scikit-learn's `set_output` defines it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, require

__all__ = ["check_kind", "chosen", "in_frame"]

KINDS = ("default", "pandas", "polars")


def check_kind(kind: Any) -> None:
    """Refuse what `set_output` does not know.

    Raises
    ------
    SettingError
    """
    if kind not in KINDS:
        raise SettingError(f"transform={kind!r}: must be one of {', '.join(map(repr, KINDS))} (or None)")


def chosen(config: Mapping[str, str]) -> str:
    """One of `KINDS`: what the estimator was set to, else what scikit-learn, if it is imported, is set to."""
    sklearn = sys.modules.get("sklearn")
    if "transform" in config or sklearn is None:
        return config.get("transform", "default")
    return str(sklearn.get_config()["transform_output"])


def in_frame(kind: str, topics: np.ndarray, names: np.ndarray, X: Any, corpus: Corpus, order: str) -> Any:
    """Topics (n_docs, n_components) as a DataFrame with a column for each name.

    The index of pandas is that of X if it has a row for each document, or the documents' ids.

    Raises
    ------
    MissingExtra
        When the package is not installed.
    """
    frame = require(kind, kind).DataFrame
    if kind == "polars":
        return frame(topics, schema=names.tolist())
    if hasattr(X, "iloc") and len(X) == corpus.n_docs:
        index = X.index
    else:
        index = corpus.document_ids(order=order) if corpus.has_ids else None
    return frame(topics, index=index, columns=names)

"""Which entries of a document's topics are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument, either

__all__ = ["check_sparsity", "most_entries", "sparse_topics"]


def sparse_topics(doc_topics: np.ndarray, min_probability: float, top_k: int | None) -> tuple[Any, Any, Any]:
    """Entries of (n_docs, n_components) that are large enough, as CSR (indptr, indices, data).

    A document keeps its `top_k` largest entries (all for None) of at least `min_probability`, and always the largest.
    """
    keep = doc_topics >= min_probability
    n_docs, n_components = doc_topics.shape
    if top_k is not None and top_k < n_components:
        order = np.argsort(-doc_topics, axis=1, kind="stable")[:, :top_k]
        largest = np.zeros_like(keep)
        np.put_along_axis(largest, order, True, axis=1)
        keep &= largest
    keep[np.arange(n_docs), doc_topics.argmax(axis=1)] = True
    indptr = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    return indptr.astype(np.int64), np.nonzero(keep)[1].astype(np.int32), doc_topics[keep].astype(np.float32)


def check_sparsity(min_probability: float, top_k: int | None) -> None:
    """Check the settings.

    Raises
    ------
    SettingError
    """
    if not 0 <= min_probability < 1:
        raise SettingError(f"{argument('min_probability', min_probability)}: must be at least 0 and below 1")
    if top_k is not None and top_k < 1:
        raise SettingError(f"{argument('top_k', top_k)}: must be 1 or more{either(', or None', '')}")


def most_entries(n_components: int, min_probability: float, top_k: int | None) -> int:
    """Entries that a document keeps at most."""
    large_enough = n_components if min_probability == 0 else int(1 / min_probability)
    return max(1, min(n_components, n_components if top_k is None else top_k, large_enough))

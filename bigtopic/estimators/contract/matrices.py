"""Matrices as users have them: what NumPy reads as one, and whether their columns fit the model's."""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.corpus.sparse import checked_dense, is_array_like
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError, VocabularyMismatch

__all__ = ["as_matrix", "check_width"]


def as_matrix(data: Any) -> Any:
    """Array-like numbers, such as lists of equally long rows, as an array; anything else as it is.

    Raises
    ------
    SettingError
        For numbers in any other than two dimensions.
    InputError
        When rows differ in length.
    """
    if is_array_like(data):
        data = np.asarray(data) if hasattr(data, "__array__") else checked_dense(data, "the matrix")
    if isinstance(data, np.ndarray) and data.ndim != 2 and data.dtype.kind in "iufbc":
        remedy = ". Reshape your data, with X.reshape(1, -1) if it is one document" if data.ndim == 1 else ""
        raise SettingError(
            f"documents: a matrix has two dimensions, (n_docs, n_words), but this array has shape {data.shape}{remedy}"
        )
    return data


def check_width(given: Vocabulary, known: Vocabulary, estimator: str) -> None:
    """Columns without names can only be matched by position, so there must be as many as the model has.

    Raises
    ------
    VocabularyMismatch
    """
    if len(given) != len(known) and not (given.named and known.named):
        raise VocabularyMismatch(
            f"X has {len(given)} features, but {estimator} is expecting {len(known)} features as input. Columns "
            "without names are matched by position: pass a matrix with the model's, or a corpus with a vocabulary"
        )

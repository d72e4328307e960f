"""The predictive distribution of a dual topic model: which row and column a record has.

    p(row, column)   =  sum_kj row_topics_rk joint_kj column_topics_cj
    p(column | row)  =  p(row, column) / sum_k row_topics_rk joint_k.

Reference: Rugeles et al., "Infinite latent state replication", section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.models.dual import COLUMN_TOPICS, DUAL, JOINT, ROW_TOPICS
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model import TopicModel

__all__ = ["RecordDistribution", "record_distribution_of"]


@dataclass(frozen=True, eq=False)
class RecordDistribution:
    """The distributions of a dual topic model, read by rows. Picklable for workers.

    row_topics, column_topics : arrays of the params, (n_rows, ...) and (n_columns, ...)
    joint : float64 (n_row_topics, n_column_topics), sums to 1
    """

    row_topics: LazyArray
    column_topics: LazyArray
    joint: np.ndarray

    def of_rows(self, rows: Any = None) -> np.ndarray:
        """p(row | row topic), float64 (n, n_row_topics). Raises SettingError like all methods."""
        return _means(self.row_topics, "rows", rows)

    def of_columns(self, columns: Any = None) -> np.ndarray:
        """p(column | column topic), float64 (n, n_column_topics)."""
        return _means(self.column_topics, "columns", columns)

    def joint_probability(self, rows: Any, columns: Any) -> np.ndarray:
        """p(row, column) of each pair, float64 (n,)."""
        of_rows, of_columns = self.of_rows(rows), self.of_columns(columns)
        if len(of_rows) != len(of_columns):
            raise SettingError(
                f"rows, columns: {len(of_rows)} rows and {len(of_columns)} columns; give a column for each row"
            )
        return np.einsum("ij,ij->i", of_rows @ self.joint, of_columns)

    def row_probability(self, rows: Any) -> np.ndarray:
        """p(row), float64 (n,)."""
        marginal: np.ndarray = self.of_rows(rows) @ self.joint.sum(axis=1)
        return marginal

    def column_probabilities(self, rows: Any) -> np.ndarray:
        """p(column | row), float64 (n, n_columns)."""
        weights = self.of_rows(rows) @ self.joint
        return weights / weights.sum(axis=1, keepdims=True) @ self.of_columns().T


def record_distribution_of(model: Any) -> RecordDistribution:
    """The distributions of a fitted `DualTopicModel`, or of its `TopicModel`.

    Raises
    ------
    SettingError
        When it is neither.
    """
    known = getattr(model, "_model", model)
    if not isinstance(known, TopicModel) or not set(DUAL.arrays) <= set(known.params.arrays):
        raise SettingError(
            f"{argument('model')}: {type(model).__name__} has no row topics; give a fitted DualTopicModel"
        )
    array = known.estimate(JOINT)
    joint = array.gather(None)[:, : array.n_components].astype(np.float64)
    return RecordDistribution(known.estimate(ROW_TOPICS), known.estimate(COLUMN_TOPICS), joint / joint.sum())


def _means(array: LazyArray, what: str, ids: Any) -> np.ndarray:
    chosen = None if ids is None else _checked(what, np.atleast_1d(ids), array.n_rows)
    weights = array.gather(chosen)[:, : array.n_components]
    return weights / array.weight_totals()


def _checked(what: str, ids: np.ndarray, n: int) -> np.ndarray:
    if ids.shape == (0,):  # an empty list is an array of floats
        return np.empty(0, np.int32)
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or not 0 <= ids.min() <= ids.max() < n:
        raise SettingError(
            f"{what}={ids!r:.60}: give whole numbers from 0 to {n - 1}, those of the model's {what}"
        )
    return ids.astype(np.int32)

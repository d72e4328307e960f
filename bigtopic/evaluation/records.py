"""Held-out records of a dual topic model: how probable their columns are, given their rows, and as pairs.

A record is one token of a row and a column that the model knows; others of the row are what it learned from. The
conditional score, log p(column | row), compares with scores of other models; the joint one, log p(row, column), is on
the scale of rows x columns.

Reference: Rugeles et al., "Infinite latent state replication", section 6.2, with rows and columns in their places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bigtopic.errors import InputError
from bigtopic.evaluation.base import Result
from bigtopic.evaluation.fold_in import word_map
from bigtopic.evaluation.measures.log_predictive import ratio_of_sums
from bigtopic.evaluation.record_distribution import RecordDistribution, record_distribution_of
from bigtopic.evaluation.streaming import CorpusOrPath, documents_of, over_blocks
from bigtopic.types import Block

__all__ = ["RecordScore", "log_records"]


@dataclass(frozen=True)
class RecordScore(Result):
    """The score of held-out records, see `log_records`.

    Attributes
    ----------
    value, standard_error : mean of log p(column | row), in nats per record; its error over rows
    joint, joint_standard_error : mean of log p(row, column), likewise
    n_records, n_rows : that were scored
    unknown_share : share of the records whose column the model does not know
    """

    value: float
    standard_error: float
    joint: float
    joint_standard_error: float
    n_records: float
    n_rows: int
    unknown_share: float

    reported: ClassVar[tuple[str, ...]] = (
        "value", "standard_error", "perplexity", "joint", "joint_standard_error", "joint_perplexity", "n_records",
        "n_rows", "unknown_share",
    )  # fmt: skip

    @property
    def perplexity(self) -> float:
        """exp(-value)."""
        return float(np.exp(-self.value))

    @property
    def joint_perplexity(self) -> float:
        """exp(-joint)."""
        return float(np.exp(-self.joint))


def log_records(
    model: Any, records: CorpusOrPath, client: Any = None, n_threads: int | None = None
) -> RecordScore:
    """Score a dual topic model by held-out records of rows that it knows, as `split_records` makes them.

    Parameters
    ----------
    model : a fitted `DualTopicModel`
    records : corpus, or its path, of the held-out records alone; rows are matched by their row in the source, columns
        by name
    client : a Dask client or its address; None for the current one, if there is one; False for threads
    n_threads : threads in this process; None for all processors

    Raises
    ------
    SettingError
        When `model` is not a dual topic model.
    InputError
        When a row is not one of the model's, or the model knows no record's column.
    """
    corpus, known, pairs = (
        documents_of(records, "records"),
        getattr(model, "_model", model),
        record_distribution_of(model),
    )
    measure = partial(_of_block, pairs, word_map(corpus, known.topic_source()))
    pieces = list(over_blocks(measure, corpus, "scoring", client, n_threads))
    conditional, joint, n_records, everything = (np.concatenate(own) for own in zip(*pieces, strict=True))
    scored = n_records > 0
    if not scored.any():
        raise InputError(
            "records: the model knows none of their columns; give records of the model's columns"
        )
    value, error = ratio_of_sums(conditional[scored], n_records[scored])
    both, joint_error = ratio_of_sums(joint[scored], n_records[scored])
    unknown = float(1 - n_records.sum() / everything.sum())
    return RecordScore(value, error, both, joint_error, float(n_records.sum()), int(scored.sum()), unknown)


def _of_block(pairs: RecordDistribution, id_map: np.ndarray | None, block: Block) -> tuple[np.ndarray, ...]:
    """Of each row: sums of log p(column | row) and of log p(row, column), records scored, and all records."""
    n_rows = pairs.row_topics.n_rows
    if block.rows.max(initial=0) >= n_rows:
        raise InputError(
            f"records: row {block.rows.max()} of the source is not one of the model's {n_rows} rows; give records of "
            "the rows that it learned from"
        )
    columns = block.words if id_map is None else id_map[block.words]
    row_of, known = np.repeat(np.arange(block.n_docs), np.diff(block.indptr)), columns >= 0
    at, counts = row_of[known], block.counts[known].astype(np.float64)
    log_joint = np.log(pairs.joint_probability(block.rows[at], columns[known]))
    sums = [np.bincount(at, weights, block.n_docs) for weights in (counts * log_joint, counts)]
    marginal = np.log(pairs.row_probability(block.rows))
    everything = np.bincount(row_of, block.counts, block.n_docs)
    return sums[0] - sums[1] * marginal, sums[0], sums[1], everything

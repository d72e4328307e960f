"""Splits of a corpus' records, for dual topic models and LDA; distributions of dual topic models, and their scores.

    p(row, column)   =  sum_kj row_topics_rk joint_kj column_topics_cj
    p(column | row)  =  p(row, column) / sum_k row_topics_rk joint_k.

A record is one token of a row and a column that the model knows; others of the row are what it learned from. The
conditional score, log p(column | row), compares with scores of other models; the joint one, log p(row, column), is on
the scale of rows x columns.

Reference: Rugeles et al., "Infinite latent state replication", section 6.2, with rows and columns in their places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from bigtopic.corpus.blocks import document_tokens
from bigtopic.corpus.order import checked_seed
from bigtopic.corpus.part import Part
from bigtopic.corpus.store import Corpus
from bigtopic.errors import InputError, SettingError, argument, either
from bigtopic.evaluation.base import Result
from bigtopic.evaluation.held_out import check_tokens, kernel_seed, ratio_of_sums
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    documents_of,
    in_source_order,
    learned_model,
    over_blocks,
    with_counts,
)
from bigtopic.models.dual import COLUMN_TOPICS, DUAL, JOINT, ROW_TOPICS
from bigtopic.state.axes import mapping
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model import TopicModel
from bigtopic.types import Block
from bigtopic.wording import counted

__all__ = [
    "RecordDistribution",
    "RecordScore",
    "dual_model_of",
    "log_records",
    "record_distribution_of",
    "split_records",
    "test_counts",
]


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

    def check(self, block: Block) -> None:
        """Check that the rows of a block are the model's.

        Raises
        ------
        InputError
            When one is not.
        """
        n_rows = self.row_topics.n_rows
        if block.rows.max(initial=0) >= n_rows:
            raise InputError(
                f"{argument('records')}: row {block.rows.max()} of the source is not one of the model's {n_rows} rows; "
                "give records of the rows that it learned from"
            )

    def column_probabilities(self, rows: Any) -> np.ndarray:
        """p(column | row), float64 (n, n_columns)."""
        weights = self.of_rows(rows) @ self.joint
        return weights / weights.sum(axis=1, keepdims=True) @ self.of_columns().T


def dual_model_of(model: Any) -> TopicModel:
    """The `TopicModel` of a fitted `DualTopicModel`, or that `TopicModel` itself.

    Raises
    ------
    SettingError
        When it is neither.
    """
    known = learned_model(model)
    if known is None or not set(DUAL.arrays) <= set(known.params.arrays):
        raise SettingError(
            f"{argument('model')}: {type(model).__name__} has no row topics; "
            + either(
                "give a fitted DualTopicModel, or score a model of documents with "
                "bigtopic.evaluate.held_out_records or log_predictive",
                "give a model of dual topics ('bigtopic train --method dual-mf'), or score it with 'bigtopic evaluate'",
            )
        )
    return known


def record_distribution_of(model: Any) -> RecordDistribution:
    """The distributions of a dual topic model, see `dual_model_of`."""
    known = dual_model_of(model)
    array = known.estimate(JOINT)
    joint = array.gather(None)[:, : array.n_components].astype(np.float64)
    return RecordDistribution(known.estimate(ROW_TOPICS), known.estimate(COLUMN_TOPICS), joint / joint.sum())


def _means(array: LazyArray, what: str, ids: Any) -> np.ndarray:
    if ids is not None:
        ids, n = np.atleast_1d(ids), array.n_rows
        if ids.shape == (0,):  # an empty list is an array of floats
            ids = ids.astype(np.int32)
        elif ids.ndim != 1 or ids.dtype.kind not in "iu" or not 0 <= ids.min() <= ids.max() < n:
            raise SettingError(
                f"{what}={ids!r:.60}: give whole numbers from 0 to {n - 1}, which number the model's {what}"
            )
        ids = ids.astype(np.int32)
    return array.gather(ids)[:, : array.n_components] / array.weight_totals()


_STEP = 1 << 16  # documents read together for figures
_PAIRS = 1 << 14  # entries whose topics are in memory


def split_records(
    records: CorpusOrPath, test_size: float = 0.1, random_state: int = 0
) -> tuple[Corpus, Corpus]:
    """Split the records of each row into train and test, as views: records are chosen when they are read.

    A row is a document and its records are its tokens, for `LDA`; see `held_out_records`. For a `DualTopicModel`, see
    `log_records`.

    Parameters
    ----------
    records : corpus, or its path, of whole counts
    test_size : share of a row's records in the test, rounded; a row has at least one record in train, and one in the
        test if it has two
    random_state : seed that, together with the rows in the source, determines the choice

    Raises
    ------
    SettingError
        When `test_size` is not a share.
    """
    corpus, seed = documents_of(records, "records"), checked_seed(random_state)
    if isinstance(test_size, bool) or not isinstance(test_size, float) or not 0 < test_size < 1:
        raise SettingError(
            f"{argument('test_size', test_size)}: must be a share of each row's records, between 0 and 1"
        )
    train, test = (
        [_ChosenRecords(part, test_size, seed, side) for part in corpus.parts] for side in (False, True)
    )
    return replace(corpus, parts=train, counted=False), replace(corpus, parts=test, counted=False)


def test_counts(block: Block, test_size: float, seed: int) -> np.ndarray:
    """How many records of each entry are in the test, float32 (nnz,); (seed, source row) determines which.

    Raises
    ------
    InputError
        When counts are fractional, or beyond 2^24.
    """
    from bigtopic.evaluation import _kernels

    check_tokens(block.counts, "give a corpus of counts of records")
    counts = np.empty(len(block.counts), np.float32)
    _kernels.observed_tokens(block.indptr, block.counts, block.rows, kernel_seed(seed), test_size, counts)
    return counts


class _ChosenRecords:
    """The train or the test records of a part (a `corpus.part.Part`)."""

    def __init__(self, base: Part, test_size: float, seed: int, test: bool) -> None:
        self.base, self.test_size, self.seed, self.test = base, test_size, seed, test
        self.name, self.n_docs, self.n_bytes, self.has_text = (
            base.name,
            base.n_docs,
            base.n_bytes,
            base.has_text,
        )
        self.rows, self.ids, self.texts, self.columns = base.rows, base.ids, base.texts, base.columns

    @property
    def nnz(self) -> int:
        return self._figures[0]

    @property
    def n_tokens(self) -> float:
        return self._figures[1]

    @cached_property
    def _figures(self) -> tuple[int, float]:
        """Entries and tokens; they cost one pass."""
        steps = range(0, self.n_docs, _STEP)
        counts = [self.read(start, min(start + _STEP, self.n_docs)).counts for start in steps]
        return sum(map(len, counts)), float(sum(own.sum(dtype=np.float64) for own in counts))

    @property
    def fingerprint(self) -> str:
        return f"{self.base.fingerprint}[records {self.test_size!r} {self.seed} {self.test}]"

    def read(self, start: int, stop: int) -> Block:
        block = self.base.read(start, stop)
        counts = test_counts(block, self.test_size, self.seed)
        chosen: Block = with_counts(block, counts if self.test else block.counts - counts)
        return chosen

    def entries(self, start: int, stop: int) -> np.ndarray:
        return np.diff(self.read(start, stop).indptr)

    def tokens(self, start: int, stop: int) -> np.ndarray:
        return document_tokens(self.read(start, stop))


@dataclass(frozen=True, repr=False)
class RecordScore(Result):
    """The score of held-out records, see `log_records`.

    Attributes
    ----------
    value, standard_error : mean of log p(column | row), in nats per record; its error over rows, too small where a few
        rows have most of the records
    joint, joint_standard_error : mean of log p(row, column), likewise; its error needs more rows
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

    def text(self) -> str:
        return f"{self.value:.4f} ± {self.standard_error:.4f} nats per record"

    def details(self) -> dict[str, str]:
        return {
            "perplexity": f"{self.perplexity:,.1f}",
            "joint": f"{self.joint:.4f} ± {self.joint_standard_error:.4f} nats per record",
            "joint perplexity": f"{self.joint_perplexity:,.1f}",
            "scored": f"{counted(self.n_records, 'record')} of {counted(self.n_rows, 'row')}",
            "unknown columns": f"{self.unknown_share:.1%} of the records" if self.unknown_share else "",
        }

    def __repr__(self) -> str:
        details = "".join(f", {label} {text}" for label, text in self.details().items() if text)
        return f"RecordScore({self.text()}{details})"

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
    client, n_threads : see `measure`

    Raises
    ------
    SettingError
        When `model` is not a dual topic model; names the measures of models of documents.
    InputError
        When a row is not one of the model's, or the model knows no record's column.
    """
    corpus, known = documents_of(records, "records"), dual_model_of(model)
    of_block = partial(_of_block, record_distribution_of(known), mapping(corpus.vocabulary, known.vocabulary))
    arrays = in_source_order(over_blocks(of_block, corpus, "scoring", client, n_threads))
    _, conditional, joint, n_records, everything = arrays
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
    """Each row, its sums of log p(column | row) and log p(row, column), its scored records, and all its records."""
    pairs.check(block)
    columns = block.words if id_map is None else id_map[block.words]
    row_of, known = np.repeat(np.arange(block.n_docs), np.diff(block.indptr)), columns >= 0
    at, columns, counts = row_of[known], columns[known], block.counts[known].astype(np.float64)
    log_joint = np.zeros(len(at))
    for start in range(0, len(at), _PAIRS):
        some = slice(start, start + _PAIRS)
        log_joint[some] = np.log(pairs.joint_probability(block.rows[at[some]], columns[some]))
    sums = [np.bincount(at, weights, block.n_docs) for weights in (counts * log_joint, counts)]
    marginal = np.log(pairs.row_probability(block.rows))
    everything = np.bincount(row_of, block.counts, block.n_docs)
    return block.rows, sums[0] - sums[1] * marginal, sums[0], sums[1], everything

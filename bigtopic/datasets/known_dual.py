"""Records drawn from a known dual topic model, in memory or block by block.

    joint      ~ Dirichlet(joint_prior) over the pairs of a row topic and a column topic
    rows_k     ~ Dirichlet(row_topic_prior) over the rows;  columns_j ~ Dirichlet(column_topic_prior) over the columns
    per record: (k, j) ~ joint, row ~ rows_k, column ~ columns_j

First the records of each row are drawn, multinomial with p(row); then, row by row, the column topic of each record
given its row, and the column. The joint distribution is the same, and rows can be drawn in any order: random numbers
are keyed by (random_state, row, record). A record costs a look-up in the sums of n_column_topics and one in the sums of
n_columns; memory is 8 bytes x (n_rows x n_row_topics + n_columns x n_column_topics), and a block.

Reference: Rugeles et al.: Infinite latent state replication, section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bigtopic.corpus.order import checked_seed, document_keys
from bigtopic.datasets.synthetic import check_settings, check_size, keyed_uniform

__all__ = ["KnownDual"]

_BLOCK_RECORDS = 1 << 20
_STREAM = 0x7265636F  # added to the seed: splits of the same seed are independent of the draws
_SPAN = 1 << 64


@dataclass(frozen=True)
class KnownDual:
    """A dual topic model whose topics are known; its attributes have the names that `DualTopicModel` has.

    Parameters
    ----------
    n_rows, n_columns : of the table of counts: users and items, documents and words
    n_row_topics, n_column_topics : sizes
    row_topic_prior, column_topic_prior : symmetric Dirichlet parameters of a topic's rows and columns
    joint_prior : symmetric Dirichlet parameter of the pairs of topics
    random_state : seed of the model

    Raises
    ------
    SettingError
        When a size is not a whole number of at least 1, a prior is not positive, or `random_state` is not a whole
        number.

    Examples
    --------
    >>> truth = KnownDual(60, 50, n_row_topics=3, n_column_topics=4)
    >>> truth.records(1000).sum(), truth.joint_.shape
    (np.float32(1000.0), (3, 4))
    """

    n_rows: int
    n_columns: int
    n_row_topics: int
    n_column_topics: int
    row_topic_prior: float = 0.1
    column_topic_prior: float = 0.1
    joint_prior: float = 0.3
    random_state: int = 0

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def row_topics_(self) -> np.ndarray:
        """p(row | row topic): (n_rows, n_row_topics) float64, columns sum to 1."""
        return _model(self).rows

    @property
    def column_topics_(self) -> np.ndarray:
        """p(column | column topic): (n_columns, n_column_topics) float64, columns sum to 1."""
        return np.diff(_model(self).column_sums, axis=0, prepend=0.0)

    @property
    def joint_(self) -> np.ndarray:
        """p(row topic, column topic): (n_row_topics, n_column_topics) float64, sums to 1."""
        return _model(self).joint

    def joint_probability(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """p(row, column) of each pair, float64 (n,)."""
        known = _model(self)
        sums = known.column_sums
        of_columns = sums[columns] - np.where(columns > 0, sums[np.maximum(columns, 1) - 1].T, 0.0).T
        return np.einsum("ij,ij->i", known.rows[rows] @ known.joint, of_columns)

    def records(self, n_records: int, random_state: int = 0) -> csr_array:
        """So many records as counts, csr_array (n_rows, n_columns) float32, in memory.

        Parameters
        ----------
        n_records : drawn in all, exactly
        random_state : seed of the records; another one gives independent records of the same model

        Raises
        ------
        SettingError
            When `n_records` is not positive.
        """
        draws = _Draws(self, *_checked(n_records, random_state))
        return _drawn(draws, 0, self.n_rows)

    def dask_array(self, n_records: int, random_state: int = 0) -> Any:
        """The same records as a Dask array of CSR blocks, each drawn when it is computed.

        A block has about a million records, and `ingest` reads the array block by block: a corpus of any number of
        records can be made without a file. The model is drawn once in every process.

        Raises
        ------
        SettingError
            When `n_records` is not positive.

        Examples
        --------
        >>> from bigtopic import ingest
        >>> ingest(KnownDual(60, 50, 3, 4).dask_array(1000), "memory://records.zarr").n_tokens
        1000.0
        """
        import dask.array

        draws = _Draws(self, *_checked(n_records, random_state))
        ends = np.cumsum(_records_of_rows(draws))
        full = np.searchsorted(ends, np.arange(_BLOCK_RECORDS, n_records, _BLOCK_RECORDS), side="right") + 1
        lengths = np.diff(np.unique(np.concatenate([[0], np.minimum(full, self.n_rows), [self.n_rows]])))
        return dask.array.map_blocks(
            _block,
            draws,
            chunks=(tuple(lengths.tolist()), (self.n_columns,)),
            dtype=np.float32,
            meta=csr_array((0, 0), dtype=np.float32),
        )


class _Draws(NamedTuple):
    """A set of records: `KnownDual.records` with these arguments."""

    model: KnownDual
    n_records: int
    seed: int


def _checked(n_records: int, random_state: int) -> tuple[int, int]:
    check_size("n_records", n_records)
    return int(n_records), checked_seed(random_state)


class _Model(NamedTuple):
    """rows (n_rows, n_row_topics); column_sums (n_columns, n_column_topics), running sums; joint; of_rows (n_rows,)"""

    rows: np.ndarray
    column_sums: np.ndarray
    joint: np.ndarray
    of_rows: np.ndarray


@lru_cache(maxsize=1)
def _model(model: KnownDual) -> _Model:
    rng = np.random.default_rng(model.random_state % _SPAN)
    joint = rng.dirichlet(np.full(model.n_row_topics * model.n_column_topics, model.joint_prior))
    joint = joint.reshape(model.n_row_topics, model.n_column_topics)
    rows, columns = (
        np.stack([rng.dirichlet(np.full(n, prior)) for _ in range(n_topics)], axis=1)
        for n, prior, n_topics in (
            (model.n_rows, model.row_topic_prior, model.n_row_topics),
            (model.n_columns, model.column_topic_prior, model.n_column_topics),
        )
    )
    np.cumsum(columns, axis=0, out=columns)
    return _Model(rows, columns, joint, rows @ joint.sum(axis=1))


@lru_cache(maxsize=1)
def _records_of_rows(draws: _Draws) -> np.ndarray:
    """int64 (n_rows,), of which the sum is exact."""
    shares = _model(draws.model).of_rows
    rng = np.random.default_rng([draws.model.random_state % _SPAN, draws.seed % _SPAN])
    return rng.multinomial(draws.n_records, shares / shares.sum())


def _block(draws: _Draws, block_info: Any = None) -> csr_array:
    """One block of `KnownDual.dask_array`."""
    start, stop = block_info[None]["array-location"][0]
    return _drawn(draws, start, stop)


def _drawn(draws: _Draws, start: int, stop: int) -> csr_array:
    """Counts of the rows start .. stop - 1. Draw 2 n of a row's key is its n-th column topic, 2 n + 1 its column."""
    known, n_records = _model(draws.model), _records_of_rows(draws)[start:stop]
    row_of = np.repeat(np.arange(stop - start), n_records)
    number = np.arange(len(row_of)) - np.repeat(np.cumsum(n_records) - n_records, n_records)
    keys = document_keys(draws.seed + _STREAM, np.arange(start, stop))[row_of]
    sums = np.cumsum(known.rows[start:stop] @ known.joint, axis=1)
    ball = keyed_uniform(keys, (2 * number).astype(np.uint64)) * sums[row_of, -1]
    topics = np.zeros(len(row_of), np.int64)
    for j in range(sums.shape[1] - 1):
        topics += ball >= sums[row_of, j]
    columns, place = np.empty(len(row_of), np.int32), keyed_uniform(keys, (2 * number + 1).astype(np.uint64))
    for j in range(sums.shape[1]):
        own, below = topics == j, known.column_sums[:, j]
        columns[own] = np.searchsorted(below, place[own] * below[-1], side="right")
    columns = np.minimum(columns, draws.model.n_columns - 1)
    shape = (stop - start, draws.model.n_columns)
    counts = csr_array((np.ones(len(columns), np.float32), (row_of, columns)), shape)
    counts.sum_duplicates()
    return counts

"""Rows of which most values are 0: for each row the columns that are not, ascending, and their values.

All rows share a pool of columns and one of values. A row has some room to grow in its place; one that outgrows it moves
to the end of the pool. What rows have left behind is reclaimed when the pool is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bigtopic.state.sparse import _kernels
from bigtopic.state.sparse.in_order import InOrder

__all__ = ["SparseRows"]

_SPARE = 8  # a full pool of which less than one part in so many is left behind grows, by one part in so many


class SparseRows:
    """A matrix of float32, (n_rows, n_columns). Indexing gives dense rows.

    Parameters
    ----------
    lengths : int64 (n_rows,), values of each row
    columns, values : int32 and float32 (sum of lengths,), row after row, columns of a row ascending
    n_columns : of the matrix
    """

    dtype, itemsize = np.dtype(np.float32), 4

    def __init__(self, lengths: np.ndarray, columns: np.ndarray, values: np.ndarray, n_columns: int) -> None:
        self.lengths = lengths.astype(np.int64)
        self._starts, self._rooms = np.cumsum(lengths) - lengths, self.lengths.copy()
        self._columns, self._values, self._end = columns, values, np.array([len(columns)])
        self.n_columns = n_columns

    @classmethod
    def zeros(cls, n_rows: int, n_columns: int) -> SparseRows:
        """Rows without values."""
        none = np.zeros(n_rows, np.int64)
        return cls(none, np.zeros(0, np.int32), np.zeros(0, np.float32), n_columns)

    @classmethod
    def of(cls, values: Any, n_columns: int) -> SparseRows:
        """The values other than 0 of an array (n_rows, up to n_columns), dense or of `scipy.sparse`."""
        from scipy.sparse import csr_array

        rows: Any = csr_array(values, dtype=np.float32, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return cls(np.diff(rows.indptr), rows.indices.astype(np.int32), rows.data, n_columns)

    @classmethod
    def of_parts(cls, parts: Mapping[str, np.ndarray], n_columns: int) -> SparseRows:
        """The rows that have these `parts`, in place, which need not fit together."""
        rows = cls.zeros(0, n_columns)
        rows._starts, rows.lengths, rows._rooms = parts["starts"], parts["lengths"], parts["rooms"]
        rows._columns, rows._values, rows._end = (
            parts["columns"],
            parts["values"],
            np.array([len(parts["values"])]),
        )
        return rows

    @property
    def parts(self) -> dict[str, np.ndarray]:
        """The arrays that the rows consist of, in place, with the room that each row has to grow."""
        pools = {"columns": self._columns[: self._end[0]], "values": self._values[: self._end[0]]}
        return {"starts": self._starts, "lengths": self.lengths, "rooms": self._rooms, **pools}

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseRows.of_parts, (self.parts, self.n_columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.lengths), self.n_columns

    @property
    def nbytes(self) -> int:
        """With the room that rows have to grow."""
        pools = self._columns.nbytes + self._values.nbytes
        n_bytes: int = pools + self.lengths.nbytes + self._starts.nbytes + self._rooms.nbytes
        return n_bytes

    @property
    def nnz(self) -> int:
        """How many values there are."""
        n: int = np.sum(self.lengths).item()
        return n

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, which: Any) -> np.ndarray:
        """Dense rows: `rows[ids]`, `rows[start:stop]`, and columns of them, `rows[ids, :n]`."""
        rows, columns = which if isinstance(which, tuple) else (which, slice(None))
        ids = np.arange(len(self), dtype=np.int32)[rows]
        dense = np.empty((ids.size, self.n_columns), np.float32)
        one, zero = np.ones(self.n_columns, np.float32), np.zeros(self.n_columns, np.float32)
        self.fill(ids.reshape(-1), one, zero, np.full(self.n_columns, -np.inf, np.float32), dense)
        found: np.ndarray = dense.reshape(*ids.shape, self.n_columns)[..., columns]
        return found

    def fill(
        self, ids: np.ndarray, factor: np.ndarray, offset: np.ndarray, floor: np.ndarray, out: np.ndarray
    ) -> None:
        """out[i, k] = max(self[ids[i], k] * factor[k] + offset[k], floor[k])."""
        _kernels.fill_rows(ids, *self._rows(), factor, offset, floor, out)

    def places(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Where the lists of these rows begin and end, int64 (n_ids,), in all columns and values."""
        starts = self._starts[ids]
        return starts, starts + self.lengths[ids], self._columns, self._values

    def lists(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies of these rows, one after another: the length of each, int64 (n_ids,), columns and values."""
        lengths = self.lengths[ids]
        columns, values = np.empty(lengths.sum(), np.int32), np.empty(lengths.sum(), np.float32)
        _kernels.copy_rows(ids, *self._rows(), columns, values)
        return lengths, columns, values

    def in_order(self) -> tuple[InOrder, InOrder]:
        """The columns and the values of all rows, one after another."""
        starts, lengths, columns, values = self._rows()
        return InOrder(starts, lengths, columns), InOrder(starts, lengths, values)

    def extremes(self) -> np.ndarray:
        """The least and the largest value, float32 (2,), NaN if one is; 0 where there are none."""
        return np.array(_kernels.extremes(self._starts, self.lengths, self._values), np.float32)

    def first_out_of_order(self, n_components: int) -> int | None:
        """The first row whose columns do not ascend from 0 to below `n_components`."""
        row: int = _kernels.first_out_of_order(self._starts, self.lengths, self._columns, n_components)
        return row if row >= 0 else None

    def csr_blocks(self, n_values: int) -> Iterator[tuple[int, Any]]:
        """Copies of all rows, in blocks of about so many values: the first row of each, and a `csr_array`."""
        from scipy.sparse import csr_array

        ends = np.cumsum(self.lengths)
        start = 0
        while start < len(self):
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + n_values, side="right")))
            lengths, columns, values = self.lists(np.arange(start, stop, dtype=np.int32))
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            yield start, csr_array((values, columns, indptr), shape=(stop - start, self.n_columns))
            start = stop

    def _rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self._starts, self.lengths, self._columns, self._values

    def add(self, ids: np.ndarray, stats: Any, factor: np.ndarray, least: np.ndarray) -> np.ndarray:
        """self[ids[i], k] += stats[i, k] * factor[k]; ids are distinct. Costs the rows given.

        Parameters
        ----------
        stats : `scipy.sparse.csr_array`, columns of a row ascending
        factor, least : float32 (n_columns,); of the rows given, values that are then below `least[k]` are dropped

        Returns
        -------
        float64 (n_columns,), sums of what was dropped
        """
        lost = np.zeros(self.n_columns)
        row = np.empty(self.n_columns, np.int32), np.empty(self.n_columns, np.float32)
        given = ids, stats.indptr, stats.indices, stats.data, factor, least
        n = 0
        while True:  # no variable refers to the pool, which could not grow in place
            n = _kernels.add_rows(
                n, *given, self._starts, self.lengths, self._rooms, self._columns, self._values, self._end, *row, lost
            )  # fmt: skip
            if n == len(ids):
                return lost
            self._make_room(2 * self.n_columns)

    def _make_room(self, n: int) -> None:
        """Room for `n` further values at the end of the pool, or somewhat more."""
        size = len(self._columns)
        needed = int((self.lengths + self.lengths // 4).sum())  # with the room that rows keep
        if (size - needed) * _SPARE > size:
            order = np.argsort(self._starts, kind="stable")
            self._end[0] = _kernels.compact(
                order, self._starts, self.lengths, self._rooms, self._columns, self._values
            )
        if self._end[0] + n > size:
            size += size // _SPARE + n
            self._extend("_values", size)
            self._extend("_columns", size)  # last, since it is the one that tells how much room there is

    def _extend(self, name: str, size: int) -> None:
        """In place, since a large pool would not fit twice; where others read it, elsewhere."""
        try:
            getattr(self, name).resize(size)  # refuses an array that anything else refers to
        except ValueError:
            pool = getattr(self, name)
            setattr(self, name, np.concatenate([pool, np.empty(size - len(pool), pool.dtype)]))

    def fold(self, scale: np.ndarray) -> np.ndarray:
        """self[:, k] *= scale[k]; returns the sums of the columns, float64 (n_columns,)."""
        sums = np.zeros(self.n_columns)
        _kernels.fold_rows(*self._rows(), scale, sums)
        return sums

    def column_sums(self) -> np.ndarray:
        """float64 (n_columns,)."""
        sums = np.zeros(self.n_columns)
        _kernels.column_sums(*self._rows(), sums)
        return sums

    def taken(self, ids: np.ndarray) -> SparseRows:
        """A copy of these rows."""
        return SparseRows(*self.lists(ids), self.n_columns)

    def copy(self) -> SparseRows:
        """A copy, without room to grow."""
        return self.taken(np.arange(len(self), dtype=np.int32))

    def grown(self, n_rows: int) -> SparseRows:
        """The same with further rows, without values."""
        more = np.zeros(n_rows - len(self), np.int64)
        grown = self.copy()
        return SparseRows(
            np.concatenate([grown.lengths, more]), grown._columns, grown._values, self.n_columns
        )

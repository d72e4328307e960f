"""A dense stand-in for the lazy params, with statistics and rounds to feed to a scheme."""

from __future__ import annotations

import numpy as np

from bigtopic.types import AxisStats, RoundInfo, Stats

__all__ = [
    "N_COLUMNS",
    "N_COMPONENTS",
    "N_ROWS",
    "DenseArray",
    "info",
    "random_array",
    "random_stats",
    "reading",
    "update",
]

N_ROWS, N_COLUMNS, N_COMPONENTS = 30, 16, 5
PRIOR = 0.05


class DenseArray:
    """A `MutableArray` that holds all of its statistics, and notes which rows a scheme reads or moves."""

    n_rows, n_columns, n_components = N_ROWS, N_COLUMNS, N_COMPONENTS

    def __init__(self, statistics, prior=PRIOR):
        self.statistics = np.array(statistics, float)
        self.prior = np.full((1, 1), prior)
        self.touched, self.moved = set(), set()
        self.beside = {}

    def companions(self, scheme):
        """The arrays that a scheme asks for beside this one: the same at every call."""
        for name in getattr(scheme, "companions", {}):
            self.beside.setdefault(name, DenseArray(np.zeros_like(self.statistics), prior=0.0))
        return self.beside

    def gather(self, ids):
        rows = np.arange(N_ROWS) if ids is None else ids
        self.touched.update(rows.tolist())
        weights = self.statistics[rows]
        weights[:, :N_COMPONENTS] += np.broadcast_to(self.prior, (N_ROWS, self.prior.shape[1]))[rows]
        return weights

    def add(self, stats, weight=1.0, decay=1.0, row_weight=None, row_decay=None):
        rows = np.arange(N_ROWS) if stats.ids is None else stats.ids
        assert stats.values.shape == (len(rows), N_COLUMNS)
        self.touched.update(rows.tolist())
        self.moved.update(rows.tolist())
        self.statistics *= decay
        for i, row in enumerate(rows):
            self.statistics[row] *= 1.0 if row_decay is None else row_decay[i]
            own = 1.0 if row_weight is None else row_weight[i]
            self.statistics[row] += own * weight * stats.values[i].astype(float)

    def set_prior(self, prior):
        self.prior = np.array(prior, float)

    def totals(self):
        return self.statistics.sum(axis=0)

    def fold(self):
        self.touched.update(range(N_ROWS))


def random_array(seed=0):
    statistics = np.zeros((N_ROWS, N_COLUMNS))
    statistics[:, :N_COMPONENTS] = np.random.default_rng(seed).gamma(0.5, size=(N_ROWS, N_COMPONENTS))
    return DenseArray(statistics)


def random_stats(seed=1, ids=(2, 3, 11, 29), dtype=np.float32):
    values = np.zeros((len(ids), N_COLUMNS), dtype)
    values[:, :N_COMPONENTS] = np.random.default_rng(seed).gamma(0.5, size=(len(ids), N_COMPONENTS))
    return AxisStats(np.array(ids, np.int32), values)


def update(scheme, array, stats, told):
    """One step of a scheme, with its companions."""
    told = reading(scheme, stats, told)._replace(companions=array.companions(scheme))
    scheme.step(array, stats, told)


def reading(scheme, stats, told):
    """The round with what the scheme reads of other arrays, unless it is told: documents in the corpus' proportion."""
    names = [name for name in getattr(scheme, "reads", ()) if name not in told.arrays]
    if not names:
        return told
    seen = AxisStats(stats.ids, np.full((len(stats.values), 1), float(told.n_docs)))
    known = DenseArray(np.full((N_ROWS, N_COLUMNS), told.total_docs), prior=0.0)
    found = Stats(dict.fromkeys(names, seen), told.n_docs, told.n_tokens)
    return told._replace(arrays=dict.fromkeys(names, known), stats=found)


def info(step=1, n_docs=10, n_tokens=500.0, total_docs=1000.0, total_tokens=40_000.0):
    return RoundInfo(step, n_docs, n_tokens, total_docs, total_tokens)

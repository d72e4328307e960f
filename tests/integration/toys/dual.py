"""A dual topic model: rows and columns have topics of their own, and the pairs of these one distribution (batch EM).

p(row, column) = sum_kl rows_rk joint_kl columns_cl. New rows have no weights; another kernel infers theirs.
"""

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.schemes.replace import Replace
from bigtopic.types import Kernel, KernelResult, Scratch

START = {"prior": "dual_prior", "start": ("uniform", None)}
ARRAYS = {
    "rows": ArraySpec("row", "row_topic", **START),
    "columns": ArraySpec("column", "column_topic", **START),
    "joint": ArraySpec("row_topic", "column_topic", normalised_over=None, **START),
}


def learn(docs, view, hyper, seed, state):
    k, m = hyper.components.values()
    rows, columns, joint = (view.arrays[name] for name in ARRAYS)
    entry = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    share = rows[entry, :k, None] * joint[None, :k, :m] * columns[docs.words, None, :m]
    share *= (docs.counts / share.sum(axis=(1, 2)))[:, None, None]
    stats = {name: np.zeros_like(view.arrays[name]) for name in ARRAYS}
    np.add.at(stats["rows"][:, :k], entry, share.sum(axis=2))
    np.add.at(stats["columns"][:, :m], docs.words, share.sum(axis=1))
    stats["joint"][:k, :m] = share.sum(axis=0)
    return KernelResult(stats, None, None, {})


def infer(docs, view, hyper, seed, state):
    k, m = hyper.components.values()
    joint = view.arrays["joint"][:k, :m]
    words = (view.arrays["columns"][:, :m] @ joint.T) / joint.sum(axis=1)
    topics = np.full((docs.n_docs, k), 1 / k)
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        for _ in range(20 if docs.indptr[d] < docs.indptr[d + 1] else 0):
            share = words[docs.words[own]] * topics[d]
            topics[d] = docs.counts[own] @ (share / share.sum(axis=1, keepdims=True)) / docs.counts[own].sum()
    return KernelResult({}, topics.astype(np.float32), None, {})


def scratch(size, options):
    """For each entry the shares of all pairs of topics, as they are made."""
    k = m = size.n_components  # about
    return Scratch(passing=2 * 4 * size.n_entries * k * m)


VIEWS = {"rows": "mean", "columns": "mean", "joint": "counts"}
METHOD = Method(
    "dual",
    Kernel("dual", learn, VIEWS, {name: spec.rows for name, spec in ARRAYS.items()}, scratch=scratch),
    {name: Replace() for name in ARRAYS},
    Model("dual", ARRAYS, components=("row_topic", "column_topic")),
    batch_size=None,
    max_iter=4,
    inference=Kernel("dual-infer", infer, {"columns": "mean", "joint": "counts"}, {}),
)

"""A dual topic model: rows and columns have topics of their own, and the pairs of these one distribution (batch EM).

p(row, column) = sum_kl rows_rk joint_kl columns_cl. New rows have no weights; another kernel infers theirs.
"""

import numpy as np
from scipy.sparse import csr_array

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


def ratios(docs, rows, columns):
    """Counts, each divided by the product of what its row and its column have."""
    expected = [columns[own] @ rows[d] for d, own in enumerate(np.split(docs.words, docs.indptr[1:-1]))]
    ratio = docs.counts / np.concatenate(expected)
    return csr_array((ratio, docs.words, docs.indptr), (docs.n_docs, len(columns)))


def learn(docs, view, hyper, seed, state):
    """The shares of all pairs of topics in an entry, summed without being made."""
    rows, columns, joint = (view.arrays[name] for name in ARRAYS)
    padded = np.pad(joint, ((0, rows.shape[1] - len(joint)), (0, 0)))
    found = ratios(docs, rows @ padded, columns)
    stats = {"rows": rows * (found @ columns @ padded.T), "columns": columns * (found.T @ rows @ padded)}
    stats["joint"] = joint * (rows.T @ (found @ columns))[: len(joint)]
    return KernelResult(stats, None, None, {})


def infer(docs, view, hyper, seed, state):
    """Topics of rows by EM; even ones where a row has no entry."""
    columns, joint = view.arrays["columns"], view.arrays["joint"]
    words = columns @ (joint / joint.sum(axis=1, keepdims=True)).T
    topics = np.full((docs.n_docs, len(joint)), 1 / len(joint))
    for _ in range(20):
        topics = topics * (ratios(docs, topics, words) @ words) + 1e-9
        topics /= topics.sum(axis=1, keepdims=True)
    return KernelResult({}, topics, None, {})


def scratch(size, options):
    """For each column what the slice says, before it is shared among the column's topics."""
    return Scratch(transient=4 * size.rows["columns"] * size.columns["columns"])


AXES = {name: spec.rows for name, spec in ARRAYS.items()}
LEARN = Kernel("dual", learn, {"rows": "mean", "columns": "mean", "joint": "counts"}, AXES, scratch=scratch)
INFER = Kernel("dual-infer", infer, {"columns": "mean", "joint": "counts"}, {})
MODEL = Model("dual", ARRAYS, components=("row_topic", "column_topic"))
SCHEMES = dict.fromkeys(ARRAYS, Replace())
METHOD = Method("dual", LEARN, SCHEMES, MODEL, batch_size=None, max_iter=4, inference=INFER)

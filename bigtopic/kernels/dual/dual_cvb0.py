"""CVB0 of rows with the topics of the columns and the joint distribution held fixed.

Given these, the records of a row are a document of LDA, with the row topics as its topics:

    p(column c | row topic k)  =  sum_j T_kj p(c | j),   T_kj = (alpha + P_kj) / (n_rows beta_r + P_k.)

but for a factor of k near 1, and beta_r as the prior of the row's topics. So the kernel `cvb0` infers the shares r of
the row topics in each entry, and these are divided among the column topics: with S_ck = sum_d n r_k and G = S /
p(c | k),

    D_dk = sum_c n r_k ;   W_cj = p(c | j) (G T)_cj ;   P_kj = T_kj sum_c G_ck p(c | j)

are the expected counts of these rows, with no sum over the pairs of an entry. The rows of a call do not interact.

Cost: as `cvb0` with the row topics, and for each distinct column of a call row topics x column topics.

References: as for `cvb0`; Rugeles et al., "Infinite latent state replication", equation 5.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.kernels.collapsed import cvb0
from bigtopic.kernels.support.entry import State, frozen, outer
from bigtopic.kernels.support.vector import LANES
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]


@outer
def _mix(columns, transfer, out):
    """`out` += columns @ transfer, each row by itself: in a product of matrices its last bit depends on the others."""
    for c in range(columns.shape[0]):
        for j in range(transfer.shape[0]):
            share = columns[c, j]
            for k in range(transfer.shape[1]):
                out[c, k] += share * transfer[j, k]


@outer
def _divide(by_word, words, columns, transfer, by_column, joint):
    """Add W of the module to `by_column` and P to `joint`. BLAS would start threads of its own in each call."""
    tiny = by_word.dtype.type(np.finfo(np.float32).tiny)
    for c in range(words.shape[0]):
        for k in range(transfer.shape[0]):
            share = by_word[c, k] / max(words[c, k], tiny)
            for j in range(transfer.shape[1]):
                by_column[c, j] += share * transfer[k, j]
                joint[k, j] += share * columns[c, j]
        for j in range(transfer.shape[1]):
            by_column[c, j] *= columns[c, j]
    for k in range(transfer.shape[0]):
        for j in range(transfer.shape[1]):
            joint[k, j] *= transfer[k, j]


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these rows; see the module.

    Parameters
    ----------
    docs : rows as documents, columns as words
    view : "column_topics" (n_words, n_columns) as "mean", p(column | column topic); "joint" (n_row_topics, n_columns)
        as "counts", prior included
    hyper : options as for `cvb0`; the row topics' prior is the mean of `priors["row_topics"]`
    seed, state : unused

    Returns
    -------
    KernelResult
        stats, expected counts: "row_topics" (n_docs, n_columns), "column_topics" and "joint" in the shapes of the view;
        doc_topics (n_docs, n_row_topics); info as for `cvb0`.

    Raises
    ------
    SettingError
        When `max_doc_update_iter` is not a whole number of at least 1.
    """
    columns, transfer = view.arrays["column_topics"], _transfer(view, hyper)
    dtype, by_column = columns.dtype, _padded(transfer.T)
    words = buffers.zeros((len(columns), by_column.shape[1]), dtype)
    _mix(frozen(columns, dtype), frozen(by_column, dtype), words)
    prior = np.full(hyper.n_components, hyper.priors["row_topics"])
    told = hyper._replace(doc_topic_prior=prior, doc_topics=True, statistics=())
    found = cvb0.run(docs, View({"topic_words": words}, {}), told, seed, None)
    if not hyper.statistics:
        return KernelResult({}, found.doc_topics, None, found.info)
    by_column, joint = buffers.zeros(columns.shape, dtype), np.zeros(transfer.shape)
    inputs = (found.stats["topic_words"], words, columns, transfer)
    _divide(*(frozen(array, dtype) for array in inputs), by_column, joint)
    stats = {
        "row_topics": _records(docs, found.doc_topics, prior),
        "column_topics": by_column,
        "joint": joint.astype(dtype),
    }
    return KernelResult(stats, found.doc_topics, None, found.info)


def _transfer(view: View, hyper: Hyper) -> np.ndarray:
    """T of the module, (n_row_topics, n_columns)."""
    joint, n = view.arrays["joint"], hyper.components["column_topic"]
    records = joint[:, :n].sum(axis=1) - n * hyper.priors["joint"]
    totals = records + hyper.priors["row_topics"] * hyper.axis_sizes["row"]
    return (joint / totals[:, None]).astype(view.arrays["column_topics"].dtype)


def _padded(rows: np.ndarray) -> np.ndarray:
    out = buffers.zeros((len(rows), -(-rows.shape[1] // LANES) * LANES), rows.dtype)
    out[:, : rows.shape[1]] = rows
    return out


def _records(docs: Docs, doc_topics: Any, prior: np.ndarray) -> np.ndarray:
    """D, padded: the topics of the rows, in records, without the prior."""
    n_records = np.add.reduceat(np.append(docs.counts, 0.0), docs.indptr[:-1]) * (np.diff(docs.indptr) > 0)
    return _padded(
        np.maximum(doc_topics * (n_records + prior.sum())[:, None] - prior, 0.0).astype(np.float32)
    )


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """As of `cvb0`, p(column | row topic) and the numbers divided by it."""
    n_row_columns = -(-size.rows["joint"] // LANES) * LANES
    inner = size._replace(columns={"topic_words": n_row_columns})
    by_word = size.rows["column_topics"] * n_row_columns * 4
    return Scratch([*cvb0.KERNEL.scratch(inner, options).pooled, by_word, by_word])


KERNEL = Kernel(
    name="dual_cvb0",
    run=run,
    views={"column_topics": "mean", "joint": "counts"},
    statistics={"row_topics": "row", "column_topics": "column", "joint": "row_topic"},
    options=cvb0.KERNEL.options,
    meanings=cvb0.KERNEL.meanings,
    cost=cvb0.KERNEL.cost,
    scratch=_scratch,
    paper="Asuncion et al. 2009; Rugeles et al., infinite latent state replication",
)

"""Iterative CVB0: collapsed variational inference of order zero on both sides, with responsibilities that are kept from
pass to pass; also iterated latent responsibilities (ILR), the limit of the sampler `cgs` for infinitely many labels.

For each distinct word v of a document d, with count c and responsibilities r (one vector for all c tokens):

    a_k = (alpha_k + N_dk - r_k) (eta_v + N_kv - r_k) / (sum_v eta_v + N_k - r_k) ;  a <- a / sum(a)
    N_dk, N_kv, N_k += c (a_k - r_k) ;  r <- a

Entries are visited in storage order, each sees the newest N, and one token's own share r is excluded. The documents of
a slice see each other's responsibilities, and those of other slices as they were when the params were read. New
documents begin with all of each word in a topic at random: equal responsibilities would stay equal forever.
Statistics: by how much the expected counts have changed.

Sums from which an entry takes its own share keep a rounding error, which may be negative or exceed a tiny prior. So
N_dk is summed without alpha and is at least 0 without the own share, eta_v + N_kv is at least 1e-10, and sum_v eta_v +
N_k at least eta_v + N_kv. An entry whose a_k are all too small for a number keeps its r.

What is remembered of an entry are numbers in proportion to r; they are rounded first and divided by their sum
afterwards, so that r sums to 1 and all counts are those of what is remembered: nothing drifts. `KERNEL` keeps float32,
`HALF` whole numbers up to 65 535 in two bytes, for half of the space.

Cost: entries x topics, a division each. Space: entries x topics numbers on disk, twice.

Reference: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models", equation 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.support.collapsed import begin, stay
from bigtopic.kernels.support.drawn_labels import expected_logs_of_shares, labels_scratch
from bigtopic.kernels.support.entry import UNCOUNTED, csr, frozen, padded_prior, put_shares
from bigtopic.kernels.support.memory import prefetch
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = ["HALF", "KERNEL", "run", "run_half", "sweep"]

_FAST = {"reassoc", "arcp", "nsz"}  # not "contract": a lone token's share, taken out, must leave nothing
_FLOOR = 1e-10  # of a word's count: what rounding leaves of it is less
_LEVELS = 65535.0
_AHEAD, _LINE = 2, 8  # entries, and numbers in a cache line


@njit(**UNCOUNTED | {"fastmath": _FAST})
def _sweep(
    indptr, words, counts, rows, topic_words, prior, n_components, seed, new, scale, half, least,
    earlier, shares, units, totals, mass, old, fresh, change, doc_topics,
):  # fmt: skip
    if new:
        begin(indptr, words, counts, rows, seed, n_components, scale, shares, totals, change)
    zero, one, floor = mass.dtype.type(0), mass.dtype.type(1), mass.dtype.type(_FLOOR)
    moved = 0.0
    for d in range(rows.shape[0]):
        for k in range(n_components):
            mass[k] = zero
        for i in range(indptr[d], indptr[d + 1]):
            row, known = earlier[i], zero
            for k in range(n_components):
                known += row[k]
            units[i] = one / known if known > 0 else zero
            unit = counts[i] * units[i]
            for k in range(n_components):
                mass[k] += unit * row[k]
        for i in range(indptr[d], indptr[d + 1]):
            # rows by themselves: loops over them need no look at their place in the whole
            before, row, weights, grown = earlier[i], shares[i], topic_words[words[i]], change[words[i]]
            unit, whole, ahead = units[i], zero, words[min(i + _AHEAD, words.shape[0] - 1)]
            for k in range(0, n_components, _LINE):
                prefetch(topic_words, ahead, k)
                prefetch(change, ahead, k)
            for k in range(n_components):
                own = unit * before[k]
                by_doc = prior[k] + max(mass[k] - own, zero)
                by_word = max(weights[k] + grown[k] - own, floor)
                fresh[k] = by_doc * (by_word / max(mass.dtype.type(totals[k] - own), by_word))
                old[k] = own
                whole += fresh[k]
            if not least < whole < np.inf:
                whole = stay(old, unit > 0, fresh, n_components)
            unit, known = scale / whole, zero
            for k in range(n_components):
                row[k] = fresh[k] * unit + half
            for k in range(n_components):
                known += row[k]
            unit = one / known
            for k in range(n_components):
                old[k] = counts[i] * (unit * row[k] - old[k])
                moved += abs(old[k])
            for k in range(n_components):
                mass[k] += old[k]
                grown[k] += old[k]
                totals[k] += old[k]
        if doc_topics.shape[0] > 0:
            for k in range(n_components):
                fresh[k] = prior[k] + max(mass[k], zero)
            put_shares(fresh[:n_components], doc_topics[d])
    return moved


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Update the responsibilities of these documents once; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored, counts may be weights
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals; what `state` says is
        among them
    hyper : no options
    seed : with a document's source row, the key of its start and of labels
    state : "shares" (n_entries, n_components), zeros of entries that are not counted yet; None for documents that are
        new

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), by how much the expected counts have changed, and
        stats["doc_topic_prior"] (1, n_columns), the sum of E[log theta] given labels drawn from the responsibilities,
        if wanted; doc_topics (n_docs, n_components) if wanted; state["shares"]; info: "moved_tokens", the sum over
        entries of c sum_k |a_k - r_k|.

    Raises
    ------
    SettingError
        When the statistics of the prior are wanted and a count is not a whole number.
    """
    return _run(docs, view, hyper, seed, state, "float32", 1.0, 0.0)


def run_half(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """As `run`, with shares in two bytes."""
    return _run(docs, view, hyper, seed, state, "uint16", _LEVELS, 0.5)


def _run(
    docs: Docs,
    view: View,
    hyper: Hyper,
    seed: int,
    state: Mapping[str, np.ndarray] | None,
    kept: str,
    scale: float,
    half: float,
) -> KernelResult:
    topic_words = view.arrays["topic_words"]
    shares = buffers.empty((len(docs.words), hyper.n_components), kept)
    change = buffers.zeros(topic_words.shape, topic_words.dtype)
    totals = view.totals["topic_words"].astype(np.float64)
    doc_topics = np.empty((docs.n_docs if hyper.doc_topics else 0, hyper.n_components), topic_words.dtype)
    earlier = None if state is None else state["shares"]
    moved = sweep(docs, topic_words, hyper, seed, earlier, shares, totals, change, doc_topics, scale, half)
    stats = {"topic_words": change}
    if "doc_topic_prior" in hyper.statistics:
        stats["doc_topic_prior"] = expected_logs_of_shares(
            docs, shares, hyper.doc_topic_prior, topic_words.shape[1], seed
        )
    info = {"moved_tokens": moved}
    return KernelResult(stats, doc_topics if hyper.doc_topics else None, {"shares": shares}, info)


def sweep(
    docs: Docs,
    topic_words: np.ndarray,
    hyper: Hyper,
    seed: int,
    earlier: np.ndarray | None,
    shares: np.ndarray,
    totals: np.ndarray,
    change: np.ndarray,
    doc_topics: np.ndarray,
    scale: float = 1.0,
    half: float = 0.0,
) -> float:
    """Visit each entry once, for kernels that keep the counts of these documents by themselves.

    Parameters
    ----------
    docs, hyper, seed : as for `run`
    topic_words : (n_words, n_columns), eta_v + N_kv before anything was counted in `change`
    earlier : (n_entries, n_components), what is remembered, perhaps `shares` itself; None for documents that are new
    shares : of its shape and type; becomes what is to be remembered
    totals : float64 (n_columns,), sum_v eta_v + N_k, which follow
    change : (n_words, n_columns), is added to
    doc_topics : (n_docs, n_components) to be filled, or (0, n_components)
    scale, half : what a share is multiplied by before it is kept, and what is added, so that it is rounded

    Returns
    -------
    float
        "moved_tokens" of `run`.
    """
    dtype, n_columns = topic_words.dtype, topic_words.shape[1]
    if earlier is None:
        shares[:] = 0
    moved = _sweep(
        *csr(docs, dtype),
        frozen(docs.rows, np.int64),
        frozen(topic_words, dtype),
        padded_prior(hyper.doc_topic_prior, n_columns, dtype),
        hyper.n_components,
        int(seed),
        earlier is None,
        dtype.type(scale),
        dtype.type(half),
        dtype.type(np.finfo(dtype).tiny * _LEVELS),
        frozen(shares if earlier is None else earlier, shares.dtype),
        shares,
        buffers.empty(len(docs.words), dtype),
        totals,
        np.empty(n_columns, dtype),
        np.empty(n_columns, dtype),
        np.empty(n_columns, dtype),
        change,
        doc_topics,
    )
    return float(moved)


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """A number for each entry, and what labels are drawn with."""
    return Scratch([size.n_entries * 8, *labels_scratch(size)])


KERNEL = Kernel(
    name="ilr",
    run=run,
    views={"topic_words": "counts"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    scratch=_scratch,
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("n_components",))},
    dtype="float64",
    changes=("topic_words",),
    paper="Asuncion et al. 2009",
)

HALF = replace(
    KERNEL,
    name="ilr-half",
    run=run_half,
    remembers={"shares": StateSpec("entry", "uint16", ("n_components",))},
)

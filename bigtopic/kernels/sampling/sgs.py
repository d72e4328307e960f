"""Streaming Gibbs sampling (SGS): collapsed Gibbs sampling of one minibatch, given what is left of all before it.

The weights G of the params are the past, with the prior; n are counts of the labels of this minibatch alone:

    p_k  prop. to  (alpha_k + n_dk) (G_kv + n_kv) / (G_k + n_k)

The first sweep labels every token given those that have a label. Further sweeps remove a token, draw its label from
the same formula, and add it, until the likelihood of the minibatch under the means of these counts,

    sum over tokens of log sum_k theta_dk beta_kv,
    theta_dk = (alpha_k + n_dk) / sum_k,  beta_kv = (G_kv + n_kv) / (G_k + n_k)

has not improved for `patience` sweeps. Statistics: n; the labels are forgotten. With the scheme `DecayAdd`, G is the
decayed sum of the past. One minibatch of a whole corpus and a decay of 1 are collapsed Gibbs sampling.

A call is a minibatch: its documents see each other's newest labels. Those of other slices of the same minibatch they do
not see (AD-LDA), so `slice_size` should be the `batch_size`.

How it is computed: a sweep is a call of the kernel `cgs`, with a seed of its own. It visits tokens by word, so that the
weights of a word are read once per sweep; algorithm 2 visits them by document, which is as valid an order. The
likelihood is computed word by word, too, when the labels of a word are added up.

Cost: a sweep of `cgs` and entries x topics multiply-adds for the likelihood, for each sweep.

Reference: Gao, Chen, Zhu (2016), "Streaming Gibbs sampling for LDA model", algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.sampling import cgs
from bigtopic.kernels.support.entry import UNCOUNTED, csr, frozen, whole_number
from bigtopic.kernels.support.vector import LANES, load, spread, total
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]


class _Minibatch(NamedTuple):
    """What is known of the documents, and how the likelihood visits them.

    Attributes
    ----------
    counts : int32 (n_words, n_columns), their labels
    weights : (n_words, n_columns), those of the params and these counts
    order, documents : int64 (n_entries,), entry and document of each visit, by word
    shares : (n_docs, n_columns), theta_k / W_k, zero in the padding
    likelihoods : (n_entries,), of a token of each entry
    """

    counts: np.ndarray
    weights: np.ndarray
    order: np.ndarray
    documents: np.ndarray
    shares: np.ndarray
    likelihoods: np.ndarray


def _minibatch(docs: Docs, shape: tuple[int, int]) -> _Minibatch:
    """Nothing is counted yet."""
    order = np.argsort(docs.words, kind="stable")
    return _Minibatch(
        buffers.zeros(shape, np.int32),
        buffers.empty(shape, np.float64),
        order,
        np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))[order],
        buffers.zeros((docs.n_docs, shape[1]), np.float64),
        buffers.empty(len(order), np.float64),
    )


@njit(**UNCOUNTED)
def _count(changes, before, words, minibatch):
    """Count what a sweep has changed, and fill the likelihoods: sum_k theta_k W_k / W."""
    counts, weights, order, documents, shares, likelihoods = minibatch
    i = 0
    for v in range(counts.shape[0]):
        # each loop writes to one array: the compiler makes vectors only where few may overlap
        change, past, own, row = changes[v], before[v], counts[v], weights[v]
        for k in range(own.shape[0]):
            own[k] += change[k]
        for k in range(own.shape[0]):
            row[k] = past[k] + own[k]
        while i < order.shape[0] and words[order[i]] == v:
            mixed = spread(0.0)
            for k in range(0, row.shape[0], LANES):
                mixed = mixed + load(shares, (documents[i], k)) * load(row, k)
            likelihoods[order[i]] = total(mixed)
            i += 1


@njit(**UNCOUNTED)
def _log_likelihood(counts, likelihoods):
    """The sum over tokens, in nats."""
    nats = 0.0
    for i in range(counts.shape[0]):
        nats += counts[i] * np.log(likelihoods[i])
    return nats


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Label the tokens of these documents; see the module.

    Parameters
    ----------
    docs : the documents, counts are whole numbers; authors are ignored
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals
    hyper : options `max_sweeps` (after the first, at least 0) and `patience` (sweeps without an improvement, at least
        1; more than `max_sweeps` makes all of these)
    seed : sweep s = 0, 1, ... draws as the kernel `cgs` does with `seed` + s
    state : unused

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), the labels of each word, and stats["doc_topic_prior"] (1, n_columns),
        the sum of E[log theta] given the labels of the last sweep, if wanted; doc_topics (n_docs, n_components) if
        wanted; info: "iterations" (sweeps, all documents), "log_likelihood" (of these documents after the last sweep,
        in nats).

    Raises
    ------
    InputError
        When a count is not a whole number.
    SettingError
        When an option is not what it may be, or there are more topics than a label can name.
    """
    max_sweeps = whole_number(hyper.options, "max_sweeps", 0)
    patience = whole_number(hyper.options, "patience", 1)
    told = hyper._replace(options=cgs.KERNEL.options, doc_topics=True)
    before, past = frozen(view.arrays["topic_words"], np.float64), view.totals["topic_words"]
    minibatch, best, best_sweep = _minibatch(docs, before.shape), -np.inf, 0
    now, state = View({"topic_words": before}, {"topic_words": past}), None
    for sweep in range(1 + max_sweeps):
        result = cgs.run(docs, now, told, seed + sweep, state)
        state = result.state
        now, nats = _counted(docs, result, before, past, minibatch)
        if nats > best:
            best, best_sweep = nats, sweep
        if sweep - best_sweep == patience:
            break
    counts = buffers.empty(before.shape, np.float64)
    counts[:] = minibatch.counts
    info = {"iterations": float(docs.n_docs * (1 + sweep)), "log_likelihood": nats}
    found = {**result.stats, "topic_words": counts}
    return KernelResult(found, result.doc_topics if hyper.doc_topics else None, None, info)


def _counted(
    docs: Docs, swept: KernelResult, before: np.ndarray, past: np.ndarray, minibatch: _Minibatch
) -> tuple[View, float]:
    """The weights after a sweep of `cgs` over these documents, and the log likelihood of these.

    Weights are float64, whatever the params are: taken out of counts that hundreds of sweeps have added up, a token
    must leave a word's past, which can be a millionth of it.
    """
    assert swept.state is not None and swept.doc_topics is not None
    n_components, (_, words, counts) = swept.doc_topics.shape[1], csr(docs, np.dtype(np.float64))
    totals = past + np.bincount(swept.state["labels"][:, 0], minlength=len(past))
    np.divide(swept.doc_topics, totals[:n_components], out=minibatch.shares[:, :n_components])
    _count(frozen(swept.stats["topic_words"], np.int32), before, words, minibatch)
    nats = _log_likelihood(counts, minibatch.likelihoods)
    return View({"topic_words": minibatch.weights}, {"topic_words": totals}), float(nats)


def _cost(options: Mapping[str, Any]) -> float:
    """A draw and the likelihood in each sweep."""
    return 2.0 * (1 + whole_number(options, "max_sweeps", 0))


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """What a sweep takes, the labels and the changes of two sweeps, and the minibatch."""
    sweep = cgs.KERNEL.scratch(size, cgs.KERNEL.options)
    labels = size.n_tokens * np.dtype(np.int16).itemsize
    table = size.rows["topic_words"] * size.columns["topic_words"]
    minibatch = [
        table * 4,
        table * 8,
        size.n_docs * size.columns["topic_words"] * 8,
        *[size.n_entries * 8] * 3,
    ]
    return Scratch([*sweep.pooled, labels, labels, table * 4, table * 4, *minibatch], sweep.transient)


KERNEL = Kernel(
    name="sgs",
    run=run,
    views={"topic_words": "counts"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"max_sweeps": 400, "patience": 10},
    cost=_cost,
    scratch=_scratch,
    interacts=True,
    dtype="float64",
    paper="Gao, Chen, Zhu 2016",
)

"""Collapsed variational Bayes (CVB) of second order, with responsibilities that are kept from pass to pass.

For each distinct word v of a document d, with count c and responsibilities r (one vector for all c tokens), and with
sums over the other tokens of expected counts m and of their variances s = sum r (1 - r):

    a_k = (alpha_k + m_dk) (eta_v + m_kv) / (sum_v eta_v + m_k)
          exp( - s_dk / 2 (alpha_k + m_dk)^2 - s_kv / 2 (eta_v + m_kv)^2 + s_k / 2 (sum_v eta_v + m_k)^2 )

then r <- a / sum(a), and m and s follow. The exponent is kept between -30 and 30: it is far below where a count is
small and uncertain. Without it this is the kernel `ilr`, which says in which order entries are visited, what slices see
of each other, how documents begin, what the state is and which least values keep rounding errors out. Statistics: by
how much expected counts and their variances have changed.

Cost: entries x topics, a division and an exponential each. Space: entries x topics numbers on disk, twice.

Reference: Teh, Newman, Welling (2007), "A collapsed variational Bayesian inference algorithm for latent Dirichlet
allocation", equation 18.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.collapsed import begin, stay
from bigtopic.kernels.support.entry import (
    UNCOUNTED,
    Call,
    State,
    begins_at_random,
    frozen,
    put_shares,
)
from bigtopic.kernels.support.expected_logs import expected_logs_of_shares, shares_scratch
from bigtopic.kernels.support.math import fast_exp
from bigtopic.kernels.support.vector import LANES, larger, load, prefetch, spread, store
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_FAST = {"reassoc", "arcp", "nsz"}  # not "contract": a lone token's share, taken out, must leave nothing
_LEAST, _MOST = -30.0, 30.0  # of the exponent
_FLOOR = 1e-10  # of a count: rounding may leave less than nothing
_AHEAD, _LINE = 2, 8  # entries, and numbers in a cache line


@njit(**UNCOUNTED | {"fastmath": _FAST})
def _sweep(
    indptr, words, counts, rows, topic_words, variances, prior, n_components, least,
    earlier, shares, units, totals, total_variances, mass, doc_variances, old, known_doubts, fresh, power, change,
    change_of_variances, doc_topics,
):  # fmt: skip
    zero, one = mass.dtype.type(0), mass.dtype.type(1)
    lowest, highest, n_columns = mass.dtype.type(_LEAST), mass.dtype.type(_MOST), mass.shape[0]
    zeros, ones, halves = spread(zero), spread(one), spread(mass.dtype.type(0.5))
    least_count, moved = spread(mass.dtype.type(_FLOOR)), 0.0
    for d in range(rows.shape[0]):
        for k in range(n_components):
            mass[k], doc_variances[k] = zero, zero
        for i in range(indptr[d], indptr[d + 1]):
            row, known = earlier[i], zero
            for k in range(n_components):
                known += row[k]
            unit = units[i] = one / known if known > 0 else zero
            for k in range(n_components):
                own = unit * row[k]
                mass[k] += counts[i] * own
                doc_variances[k] += counts[i] * (own * (one - own))
        for i in range(indptr[d], indptr[d + 1]):
            # rows by themselves: loops over them need no look at their place in the whole
            before, row, weights, grown = earlier[i], shares[i], topic_words[words[i]], change[words[i]]
            doubts, grown_doubts = variances[words[i]], change_of_variances[words[i]]
            unit, whole, ahead = units[i], zero, words[min(i + _AHEAD, words.shape[0] - 1)]
            for k in range(0, n_components, _LINE):
                prefetch(topic_words, ahead, k)
                prefetch(variances, ahead, k)
                prefetch(change, ahead, k)
                prefetch(change_of_variances, ahead, k)
            # plain loops, in which nothing is fused into what is taken out; each writes to two arrays at most, because
            # the compiler makes vectors only where few may overlap
            for k in range(n_components):
                old[k] = unit * before[k]
                known_doubts[k] = old[k] * (one - old[k])
            for k in range(n_components):
                fresh[k] = totals[k] - old[k]
                power[k] = total_variances[k] - known_doubts[k]
            for k in range(0, n_columns, LANES):
                own, sure = load(old, k), load(known_doubts, k)
                by_word = larger(load(weights, k) + load(grown, k) - own, least_count)
                by_topic = larger(load(fresh, k), by_word)
                by_doc = load(prior, k) + larger(load(mass, k) - own, zeros)
                certain, both = larger(by_doc, least_count), by_word * by_topic
                inverse = ones / (both * certain)
                of_doc, of_both = both * inverse, certain * inverse
                of_word, of_topic = by_topic * of_both, by_word * of_both
                of_topics = larger(load(power, k), zeros) * (of_topic * of_topic)
                of_words = larger(load(doubts, k) + load(grown_doubts, k) - sure, zeros) * (of_word * of_word)
                of_docs = larger(load(doc_variances, k) - sure, zeros) * (of_doc * of_doc)
                store(power, k, halves * (of_topics - of_words - of_docs))
                store(fresh, k, by_doc * (by_word * of_topic))
            # by itself: an exponential is a long chain, of which a short loop has several under way
            for k in range(n_components):
                power[k] = fast_exp(min(max(power[k], lowest), highest))
            for k in range(n_components):
                fresh[k] *= power[k]
                whole += fresh[k]
            if not least < whole < np.inf:
                whole = stay(old, unit > 0, fresh, n_components)
            unit, known = one / whole, zero
            for k in range(n_components):
                row[k] = fresh[k] * unit
            for k in range(n_components):
                known += row[k]
            unit = one / known
            for k in range(n_components):
                new = unit * row[k]
                fresh[k] = counts[i] * (new * (one - new) - known_doubts[k])
                old[k] = counts[i] * (new - old[k])
                moved += abs(old[k])
            for k in range(n_components):
                mass[k] += old[k]
                doc_variances[k] += fresh[k]
            for k in range(n_components):
                grown[k] += old[k]
                grown_doubts[k] += fresh[k]
            for k in range(n_components):
                totals[k] += old[k]
                total_variances[k] += fresh[k]
        if doc_topics.shape[0] > 0:
            for k in range(n_components):
                fresh[k] = prior[k] + max(mass[k], zero)
            put_shares(fresh[:n_components], doc_topics[d])
    return moved


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Update the responsibilities of these documents once; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored, counts may be weights
    view : as "counts", with their totals: "topic_words" (n_words, n_columns), prior included, and
        "topic_word_variances" (n_words, n_columns); what `state` says is among them
    hyper : no options
    seed : with a document's source row, the key of its start and of labels
    state : "shares" (n_entries, n_components), zeros of entries that are not counted yet; None for documents that are
        new

    Returns
    -------
    KernelResult
        stats, by how much the arrays of the view have changed, and stats["doc_topic_prior"] (1, n_columns), the sum of
        E[log theta] given labels drawn from the responsibilities, if wanted; doc_topics (n_docs, n_components) if
        wanted; state["shares"]; info: "moved_tokens", the sum over entries of c sum_k |a_k - r_k|.

    Raises
    ------
    SettingError
        When the statistics of the prior are wanted and a count is not a whole number.
    """
    call, n, dtype = Call(docs, view, hyper), hyper.n_components, view.arrays["topic_words"].dtype
    totals, total_variances = (view.totals[name].astype(np.float64) for name in KERNEL.views)
    shares = buffers.empty((len(docs.words), n), np.float32)
    if state is None:
        shares[:] = 0
    change, doc_topics = call.outputs
    change_of_variances = call.stats["topic_word_variances"] = buffers.zeros(change.shape, dtype)
    if begins_at_random(state, view, hyper):  # what is certain has no variance
        begin(*call.documents, call.rows, int(seed), n, np.float32(1), shares, totals, change)
    moved = _sweep(
        *call.documents, call.rows, call.topic_words, frozen(view.arrays["topic_word_variances"], dtype),
        call.prior(), n, np.finfo(dtype).tiny, frozen(shares if state is None else state["shares"], np.float32), shares,
        buffers.empty(len(docs.words), dtype), totals, total_variances, *buffers.zeros((6, call.n_columns), dtype),
        change, change_of_variances, doc_topics,
    )  # fmt: skip
    if call.learns:
        call.stats["doc_topic_prior"] = expected_logs_of_shares(
            docs, shares, hyper.doc_topic_prior, call.n_columns, seed, second_order=True
        )
    return call.result({"moved_tokens": moved}, {"shares": shares})


KERNEL = Kernel(
    name="cvb",
    run=run,
    views={"topic_words": "counts", "topic_word_variances": "counts"},
    statistics={"topic_words": "word", "topic_word_variances": "word"},
    offers={"doc_topic_prior": "none"},
    scratch=shares_scratch,
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("n_components",))},
    dtype="float64",
    changes=("topic_words", "topic_word_variances"),
    paper="Teh, Newman, Welling 2007",
)

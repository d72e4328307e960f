"""Collapsed variational inference of order zero (CVB0), with the topics held fixed.

For each distinct word v of a document, with count c and responsibilities r (one vector for all c tokens):

    a_k  = (alpha_k + N_k - r_k) W_vk ;  a <- a / sum(a)
    N_k += c (a_k - r_k) ;  r <- a

N_k = sum_v c_v r_vk. Words are visited in storage order, each sees the newest N, and one token's own share r
is excluded. The first sweep starts from N = 0 and adds the words one after another, so that there is nothing
random. Statistics: S_vk = sum_d c r. Document topics: (alpha_k + N_k) / sum.

How it is computed: a is kept as it is, with 1 / sum(a) beside it, so that a word's topics are passed over once: the
pass that visits a word also adds the word before it to N. The sum and the division at the end of a word make the next
word wait; documents are therefore visited in pairs, a word of each by turns. The results of both stay the same.

Cost: sweeps x distinct words x topics, a few multiply-adds each; no transcendental function.

References: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models", equation 7,
on the side of the document; Foulds et al. (2013), "Stochastic collapsed variational Bayesian inference for
LDA", for fixed expected counts on the side of the words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.support.collapsed import PAIR, by_length, move_of_pair, sweep_pair
from bigtopic.kernels.support.entry import (
    Call,
    State,
    doc_update_cost,
    inner,
    learns,
    outer,
    put_shares,
    tolerance,
    whole_number,
)
from bigtopic.kernels.support.expected_logs import expected_logs_of_topics, topics_scratch
from bigtopic.kernels.support.slice_loop import SLICE_LOOP
from bigtopic.kernels.support.vector import LANES, load, prefetch, spread, store, total
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, SliceLoop, View

__all__ = ["KERNEL", "infer_slice", "loop_scratch", "run"]

_AHEAD = 4  # words

# For i, j, `left` and `factors` see `support.collapsed.sweep_pair`.


@inner
def _first_sweep(left, words, counts, topic_words, block, shares, inverses, mass, factors):
    """Add the words one after another to the mass, and copy their rows to `block`."""
    zero, one = mass.dtype.type(0), mass.dtype.type(1)
    for i in range(max(left[0], left[1])):
        for j in range(PAIR):
            if i >= left[j]:
                continue
            before, word, ahead = max(i - 1, 0), words[i, j], words[min(i + _AHEAD, left[j] - 1), j]
            sums, factor = spread(zero), spread(factors[j])
            for k in range(0, mass.shape[1], LANES):
                prefetch(topic_words, ahead, k)
                row = load(topic_words, (word, k))
                own = load(mass, (j, k)) + factor * load(shares, (before, j, k))
                share = own * row
                sums = sums + share
                store(block, (i, j, k), row)
                store(mass, (j, k), own)
                store(shares, (i, j, k), share)
            weight = total(sums)
            # a word that no topic knows has no share
            inverses[i, j] = one / weight if weight > 0 else zero
            factors[j] = counts[i, j] * inverses[i, j]


@inner
def _add(j, length, words, counts, shares, inverses, prior, mass, seen, stats):
    """Add a document's statistics; its mass is summed anew. Returns the tokens of words that no topic knows.

    Anew, because the mass of a sweep is a sum of differences and has rounding errors of its largest value. A word's row
    of statistics is written when it is seen first: most words of a slice are in few documents.
    """
    dropped = 0.0
    for k in range(0, mass.shape[1], LANES):
        store(mass, (j, k), load(prior, k))
    for i in range(length):
        word, ahead = words[i, j], words[min(i + _AHEAD, length - 1), j]
        if inverses[i, j] == 0:
            dropped += counts[i, j]
        factor = spread(counts[i, j] * inverses[i, j])
        if seen[word]:
            for k in range(0, mass.shape[1], LANES):
                prefetch(stats, ahead, k)
                tokens = factor * load(shares, (i, j, k))
                store(stats, (word, k), load(stats, (word, k)) + tokens)
                store(mass, (j, k), load(mass, (j, k)) + tokens)
        else:
            seen[word] = True
            for k in range(0, mass.shape[1], LANES):
                prefetch(stats, ahead, k)
                tokens = factor * load(shares, (i, j, k))
                store(stats, (word, k), tokens)
                store(mass, (j, k), load(mass, (j, k)) + tokens)
    return dropped


@outer
def _infer(
    indptr, all_words, all_counts, topic_words, prior, max_sweeps, tolerance,
    block, shares, mass, before, stats, doc_topics,
):  # fmt: skip
    """Returns sweeps, of all documents, and tokens of words that no topic knows."""
    n_docs, n_components = len(indptr) - 1, doc_topics.shape[1]  # no rows if the caller does not need them
    order, seen = np.empty(n_docs, np.int64), np.zeros(len(stats), np.bool_)
    by_length(indptr, order)  # a pair ends together
    words, counts = np.empty(block.shape[:2], all_words.dtype), np.empty(block.shape[:2], block.dtype)
    inverses, factors = np.empty(block.shape[:2], block.dtype), np.empty(PAIR, block.dtype)
    lengths, left = np.empty(PAIR, np.int64), np.empty(PAIR, np.int64)
    limit = tolerance * n_components
    sweeps, dropped = 0, 0.0
    for first in range(0, n_docs, PAIR):
        for j in range(PAIR):
            lengths[j], factors[j] = 0, 0
            if first + j < n_docs:
                start = indptr[order[first + j]]
                lengths[j] = indptr[order[first + j] + 1] - start
                for i in range(lengths[j]):
                    words[i, j], counts[i, j] = all_words[start + i], all_counts[start + i]
            left[j] = lengths[j]
            for k in range(0, prior.shape[0], LANES):
                store(mass, (j, k), load(prior, k))
                store(shares, (0, j, k), spread(prior.dtype.type(0)))
        for sweep in range(max_sweeps):
            if sweep == 0:
                _first_sweep(left, words, counts, topic_words, block, shares, inverses, mass, factors)
            else:
                sweep_pair(left, counts, block, shares, inverses, mass, factors)
            for j in range(PAIR):
                sweeps += left[j] > 0
                if limit > 0 and left[j] > 0:
                    change = move_of_pair(j, left[j] - 1, n_components, shares, mass, factors, before)
                    if sweep > 0 and change < limit:
                        left[j] = 0
        for j in range(min(PAIR, n_docs - first)):
            dropped += _add(j, lengths[j], words, counts, shares, inverses, prior, mass, seen, stats)
            if doc_topics.shape[0] > 0:
                put_shares(mass[j], doc_topics[order[first + j]])
    for word in range(len(stats)):
        if not seen[word]:
            stats[word] = 0
    return sweeps, dropped


@njit(**SLICE_LOOP)
def infer_slice(seed, rows, indptr, words, counts, topic_words, prior, options, scratch, stats, figures):
    """The loop of slices, see `types.SliceLoop`."""
    n_columns, max_sweeps = topic_words.shape[1], np.int64(options[0])
    size = PAIR * n_columns
    room = len(scratch) // size // 2 - 1
    held = scratch[: (2 * room + 2) * size].reshape((2 * room + 2, PAIR, n_columns))
    doc_topics = np.empty((0, np.int64(options[2])), np.float32)
    figures[0], figures[1] = _infer(
        indptr, words, counts, topic_words, prior, max_sweeps, options[1],
        held[:room], held[room : 2 * room], held[2 * room], held[2 * room + 1], stats, doc_topics,
    )  # fmt: skip


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic)
    hyper : for its options see `KERNEL`
    seed : with a document's source row, the key of labels; topics do not depend on it
    state : unused, the algorithm keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts, and stats["doc_topic_prior"] (1, n_columns), the sum
        of E[log theta] given labels drawn from the responsibilities, if wanted; doc_topics (n_docs, n_components) if
        wanted; info: "iterations" (sweeps, all documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When an option has a value that is not allowed; or the statistics of the prior are wanted, and a count is not a
        whole number.
    """
    call = Call(docs, view, hyper, keeps=learns(hyper), filled=True)
    room = max(1, int(np.diff(docs.indptr).max(initial=1)))
    scratch = buffers.empty((2 * room + 2, PAIR, call.n_columns), call.dtype)
    max_sweeps, limit, _ = _options(hyper)
    sweeps, dropped = _infer(
        *call.inputs, call.prior(), int(max_sweeps), limit, scratch[:room], scratch[room : 2 * room], *scratch[-2:],
        *call.outputs,
    )  # fmt: skip
    if call.learns:
        call.stats["doc_topic_prior"] = expected_logs_of_topics(
            docs, call.topic_words, call.doc_topics, hyper.doc_topic_prior, seed
        )
    return call.result({"iterations": sweeps, "dropped_tokens": dropped})


def _options(hyper: Hyper) -> tuple[float, float, float]:
    """Sweeps, tolerance and number of topics."""
    sweeps = whole_number(hyper.options, "max_doc_update_iter", 1)
    return float(sweeps), tolerance(hyper.options), float(hyper.n_components)


def _loop_options(hyper: Hyper) -> np.ndarray:
    return np.array(_options(hyper))


def loop_scratch(longest: int, n_columns: int) -> int:
    return (2 * max(1, longest) + 2) * PAIR * n_columns


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Rows and shares of the words of two documents, and their masses before and after a sweep."""
    rows = (2 * size.longest + 2) * PAIR * size.columns["topic_words"] * 4
    return Scratch([rows, *topics_scratch(size)])


KERNEL = Kernel(
    name="cvb0",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"max_doc_update_iter": 5, "mean_change_tol": 0.0},
    meanings={
        "max_doc_update_iter": "sweeps over a document at most, from 1",
        "mean_change_tol": "sweeps end with one that moves its expected counts by less than this, mean over topics, in "
        "tokens; 0 makes all",
    },
    cost=doc_update_cost,
    scratch=_scratch,
    paper="Asuncion et al. 2009; Foulds et al. 2013",
    loop=SliceLoop(
        infer_slice,
        _loop_options,
        loop_scratch,
        ("iterations", "dropped_tokens"),
    ),
)

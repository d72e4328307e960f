"""Zero-order collapsed variational inference (CVB0) of a few topics of each document, with the topics held fixed.

A document of n tokens cannot have tokens of more than n topics, however many the model has. Its words propose the
topics that it may have: each of its tokens, of the first four of a word, draws one from

    q_v(k) = W_vk / sum_j W_vj

which is p(k | v) where no topic is more likely than another, and `explored` topics are drawn evenly. The document's
*candidates* are the topics that were drawn most often; of those drawn equally often, the ones that rarer words drew.
Then, as in `cvb0`, for each distinct word v, with count c and responsibilities r, in `max_doc_update_iter` sweeps

    a_k  = (alpha_k + N_k - r_k) W_vk ;  a <- a / sum(a)
    N_k += c (a_k - r_k) ;  r <- a                                                 k among the candidates

Other topics have N_k = 0. In a dense model with at most `FEW` times as many topics as `candidates`, draws would cost
more than they save: all are candidates, and the kernel is `cvb0`. The expected number of draws of a topic is the first
step of expectation-maximisation from equal shares; that draws are few lets topics part sooner.

Where topics are lists, which many topics are, each token draws `draws` topics, at most max(2, `draws`) x `kept` are
candidates, and after two sweeps (or all but one), the `kept` ones with most tokens remain, for the other sweeps and the
statistics. A word's lists of thousands of topics need many draws; where topics have few tokens, many draws leave more
topics unused.

Cost: candidates x sweeps of each distinct word of a document, draws of its tokens, and topics, once, of each word of a
slice: draws search sums over blocks of topics.

References: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models", equation 7; Lücke and
Eggert (2010), "Expectation truncation and the benefits of preselection in training generative models", for
responsibilities of few preselected states.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.collapsed import _lists, cvb0
from bigtopic.kernels.collapsed._candidates import DRAWS, add_draw, found, most_drawn, sweeps_of_pair
from bigtopic.kernels.support.collapsed import PAIR, by_length
from bigtopic.kernels.support.entry import (
    Call,
    State,
    csr,
    frozen,
    inner,
    learns,
    outer,
    tolerance,
    whole_number,
)
from bigtopic.kernels.support.expected_logs import expected_logs_of_topics, topics_scratch
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.slice_loop import SLICE_LOOP
from bigtopic.kernels.support.vector import LANES, load, prefetch, spread, store, total
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Lists, Scratch, SliceLoop, View

__all__ = ["FEW", "KERNEL", "run"]

FEW = 4
_AHEAD = 2  # words
_MOST_DRAWS = 8  # of a token, where their number is not given
_LARGEST_DRAWS = 64
_LARGEST_EXPLORED = 10_000
_TOKENS_PER_DRAW = 500  # of a topic


@inner
def _add_up_blocks(topic_words, sums):
    """sums[v, b] <- the sum of W_vk over the topics of the blocks up to b."""
    for v in range(sums.shape[0]):
        running, ahead = sums.dtype.type(0), min(v + _AHEAD, sums.shape[0] - 1)
        for b in range(sums.shape[1]):
            prefetch(topic_words, ahead, b * LANES)
            running += total(load(topic_words, (v, b * LANES)))
            sums[v, b] = running


@inner
def _draw(u, row, sums, n_components):
    """The topic at which the sums of the row exceed u of the whole; rounding may leave the last of its block."""
    target = u * sums[sums.shape[0] - 1]
    block = found(sums, 0, sums.shape[0] - 1, target)
    rest = target - (sums[block - 1] if block > 0 else 0)
    last = min((block + 1) * LANES, n_components) - 1
    for k in range(block * LANES, last):
        rest -= row[k]
        if rest < 0:
            return k
    return last


@inner
def _find_candidates(row_key, words, counts, topic_words, sums, n_explored, drawn, times, candidates):
    """The candidates of a document; returns how many there are."""
    n_components, n_words, n_drawn = times.shape[0], words.shape[0], 0
    for i in range(n_words - 1, -1, -1):
        row, own = topic_words[words[i]], sums[words[i]]
        if own[own.shape[0] - 1] > 0:
            for j in range(np.int64(min(np.ceil(counts[i]), DRAWS))):
                topic = _draw(uniform(row_key, i * DRAWS + j), row, own, n_components)
                n_drawn = add_draw(topic, drawn, n_drawn, times)
    for j in range(n_explored):
        topic = np.int64(uniform(row_key, n_words * DRAWS + j) * n_components)
        n_drawn = add_draw(min(topic, n_components - 1), drawn, n_drawn, times)
    return most_drawn(drawn, n_drawn, times, candidates)


@inner
def _gather(j, words, counts, topic_words, candidates, n, prior, width, all_counts, block, shares, mass):
    """Copy the weights of the candidates and their prior for the document j of a pair, which has no shares yet."""
    zero = block.dtype.type(0)
    for t in range(width):
        mass[j, t] = prior[candidates[t]] if t < n else zero
    for i in range(words.shape[0]):
        all_counts[i, j], row = counts[i], topic_words[words[i]]
        for t in range(n):
            block[i, j, t] = row[candidates[t]]
        for t in range(n, width):
            block[i, j, t] = zero
        for t in range(0, width, LANES):
            store(shares, (i, j, t), spread(zero))


@inner
def _add(j, words, counts, candidates, n, shares, inverses, prior, mass, stats):
    """Add the statistics of a document; its mass is summed anew, without errors of differences. Returns the tokens of
    words that no candidate knows."""
    dropped = 0.0
    for t in range(n):
        mass[j, t] = prior[candidates[t]]
    for i in range(words.shape[0]):
        own, factor = stats[words[i]], counts[i] * inverses[i, j]
        dropped += counts[i] if inverses[i, j] == 0 else 0.0
        for t in range(n):
            tokens = factor * shares[i, j, t]
            own[candidates[t]] += tokens
            mass[j, t] += tokens
    return dropped


@outer
def _infer(
    seed, rows, indptr, all_words, all_counts, topic_words, prior, n_components, n_candidates, n_explored, n_sweeps,
    tolerance, block, shares, stats, doc_topics,
):  # fmt: skip
    """Returns sweeps, of all documents, and tokens of words that no candidate knows."""
    n_docs, room, width, dtype = rows.shape[0], block.shape[0], block.shape[2], block.dtype
    sums = np.empty((topic_words.shape[0], topic_words.shape[1] // LANES), dtype)
    drawn, times = np.empty(room * DRAWS + n_explored, np.int64), np.zeros(n_components, np.int64)
    candidates, n_found = np.zeros((PAIR, width), np.int64), np.zeros(PAIR, np.int64)
    counts, inverses = np.empty((room, PAIR), dtype), np.empty((room, PAIR), dtype)
    mass, before = np.empty((PAIR, width), dtype), np.empty((PAIR, width), dtype)
    left, factors, order = np.empty(PAIR, np.int64), np.empty(PAIR, dtype), np.empty(n_docs, np.int64)
    sweeps, dropped, limit = 0, 0.0, tolerance * n_components
    by_length(indptr, order)  # a pair ends together
    _add_up_blocks(topic_words, sums)
    stats[:] = 0
    for first in range(0, n_docs, PAIR):
        n_pair = min(PAIR, n_docs - first)
        left[:], factors[:], inverses[:] = 0, 0, 0
        for j in range(n_pair):
            d = order[first + j]
            own = slice(indptr[d], indptr[d + 1])
            words, left[j] = all_words[own], indptr[d + 1] - indptr[d]
            n_found[j] = _find_candidates(
                key(seed, rows[d]), words, all_counts[own], topic_words, sums, n_explored, drawn, times,
                candidates[j, :n_candidates],
            )  # fmt: skip
            _gather(
                j, words, all_counts[own], topic_words, candidates[j], n_found[j], prior, width,
                counts, block, shares, mass,
            )  # fmt: skip
        sweeps += sweeps_of_pair(
            n_sweeps, limit, left, counts, block, shares, inverses, mass, factors, before
        )
        for j in range(n_pair):
            d = order[first + j]
            own = slice(indptr[d], indptr[d + 1])
            dropped += _add(
                j,
                all_words[own],
                all_counts[own],
                candidates[j],
                n_found[j],
                shares,
                inverses,
                prior,
                mass,
                stats,
            )
            if doc_topics.shape[0] > 0:
                _put_topics(prior, candidates[j, : n_found[j]], mass[j], doc_topics[d])
    return sweeps, dropped


@inner
def _put_topics(prior, candidates, mass, doc_topics):
    """The document's topics: prior and tokens, divided by their sum."""
    whole = 0.0
    for k in range(doc_topics.shape[0]):
        doc_topics[k] = prior[k]
    for t in range(candidates.shape[0]):
        doc_topics[candidates[t]] = mass[t]
    for k in range(doc_topics.shape[0]):
        whole += doc_topics[k]
    for k in range(doc_topics.shape[0]):
        doc_topics[k] /= whole


@njit(**SLICE_LOOP)
def _infer_slice(seed, rows, indptr, words, counts, topic_words, prior, options, scratch, stats, figures):
    """The loop of slices, see `types.SliceLoop`."""
    if options[3] == 0:
        cvb0.infer_slice(
            seed, rows, indptr, words, counts, topic_words, prior, options, scratch, stats, figures
        )
        return
    n_components, n_candidates, n_explored = np.int64(options[2]), np.int64(options[3]), np.int64(options[4])
    width = (n_candidates + LANES - 1) // LANES * LANES
    room = len(scratch) // (2 * PAIR * width)
    size, doc_topics = room * PAIR * width, np.empty((0, n_components), np.float32)
    figures[0], figures[1] = _infer(
        seed, rows, indptr, words, counts, topic_words, prior, n_components, n_candidates, n_explored,
        np.int64(options[0]), options[1], scratch[:size].reshape((room, PAIR, width)),
        scratch[size : 2 * size].reshape((room, PAIR, width)), stats, doc_topics,
    )  # fmt: skip


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "sparse_mean", (n_words, n_columns) or `Lists`, p(word | topic)
    hyper : for its options see `KERNEL`
    seed : with a document's source row, the key of its draws
    state : unused, the algorithm keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts, of `Lists` a `csr_array`; stats["doc_topic_prior"]
        (1, n_columns), the sum of E[log theta] given labels drawn from the responsibilities, if wanted; doc_topics
        (n_docs, n_components) if wanted; info: "iterations" (sweeps, all documents), "dropped_tokens" (of words that no
        candidate knows).

    Raises
    ------
    SettingError
        When an option has a value that is not allowed; or the statistics of the prior are wanted, and a count is not a
        whole number.
    """
    n_sweeps, limit, n_components, n_candidates, n_explored, *_ = _options(hyper)
    if isinstance(view.arrays["topic_words"], Lists):
        return _run_on_lists(docs, view.arrays["topic_words"], hyper, seed)
    if n_candidates == 0:
        return cvb0.run(docs, view, hyper, seed, state)
    call = Call(docs, view, hyper, keeps=learns(hyper), filled=True)
    longest, width = max(1, int(np.diff(docs.indptr).max(initial=1))), -(-n_candidates // LANES) * LANES
    sweeps, dropped = _infer(
        int(seed), call.rows, *call.inputs, call.prior(), n_components, n_candidates, n_explored, n_sweeps, limit,
        *buffers.empty((2, longest, PAIR, width), call.dtype), *call.outputs,
    )  # fmt: skip
    if call.learns:
        call.stats["doc_topic_prior"] = expected_logs_of_topics(
            docs, call.topic_words, call.doc_topics, hyper.doc_topic_prior, seed
        )
    return call.result({"iterations": sweeps, "dropped_tokens": dropped})


def _run_on_lists(docs: Docs, lists: Lists, hyper: Hyper, seed: int) -> KernelResult:
    """As `run`, where topics are lists; statistics, too, where any are wanted."""
    n_sweeps, limit, n_components, _, n_explored, kept, n_draws = _options(hyper)
    n = min(whole_number(hyper.options, "candidates", 1), max(2, n_draws) * kept, n_components)
    n_best = min(kept, n)
    n_entries = len(docs.words) if hyper.statistics else 0
    longest = max(1, int(np.diff(docs.indptr).max(initial=1)))
    of_all, of_best = (
        buffers.empty((2, longest, PAIR, -(-width // LANES) * LANES), np.float32) for width in (n, n_best)
    )
    n_sums = int((lists.stops - lists.starts).sum()) // LANES + len(lists.starts)
    candidates, n_found = np.empty((docs.n_docs, n), np.int32), np.zeros(docs.n_docs, np.int32)
    tokens, masses = (buffers.empty((rows, n_best), np.float32) for rows in (n_entries, docs.n_docs))
    documents, prior = csr(docs, np.dtype(np.float32)), hyper.doc_topic_prior.astype(np.float32)
    sweeps, dropped = _lists.infer(
        int(seed), frozen(docs.rows, np.int64), *documents, lists,
        lists.offset_sums[:n_components], frozen(prior, np.float32), n_draws, n_explored, n_sweeps, limit,
        buffers.empty(n_sums, np.float32), of_all, of_best, tokens, candidates, n_found, masses,
    )  # fmt: skip
    stats: dict[str, Any] = {}
    if hyper.statistics:
        stats["topic_words"] = _lists.statistics(*documents[:2], tokens, candidates, n_found, lists.shape)
    doc_topics = _lists.shares(prior, candidates, n_found, masses) if hyper.doc_topics else None
    return KernelResult(
        stats, doc_topics, None, {"iterations": float(sweeps), "dropped_tokens": float(dropped)}
    )


def _options(hyper: Hyper) -> tuple[int, float, int, int, int, int, int]:
    """Sweeps, tolerance, topics, candidates or 0 for all, topics drawn evenly, candidates that remain, and draws of a
    token. Raises SettingError like `run`."""
    names = ("max_doc_update_iter", "candidates", "kept")
    sweeps, candidates, kept = (whole_number(hyper.options, name, 1) for name in names)
    n, explored = hyper.n_components, whole_number(hyper.options, "explored", 0, _LARGEST_EXPLORED)
    n_candidates = 0 if n <= FEW * candidates else candidates
    return sweeps, tolerance(hyper.options), n, n_candidates, explored, kept, _draws(hyper)


def _draws(hyper: Hyper) -> int:
    """Draws of a token: as given, or one for each `_TOKENS_PER_DRAW` of a topic in learning, the most elsewhere."""
    given = whole_number(hyper.options, "draws", 0, _LARGEST_DRAWS)
    fit = hyper.total_tokens / hyper.n_components / _TOKENS_PER_DRAW if hyper.total_tokens else _MOST_DRAWS
    return given or int(min(max(fit, 1), _MOST_DRAWS))


def _loop_options(hyper: Hyper) -> np.ndarray:
    return np.array(_options(hyper), np.float64)


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Weights and shares of the words of two documents, and sums over blocks of topics."""
    n_columns = size.columns["topic_words"]
    block = 2 * PAIR * (size.longest + 1) * min(n_columns, FEW * whole_number(options, "candidates", 1)) * 4
    return Scratch([block, *topics_scratch(size)], size.rows["topic_words"] * (n_columns // LANES) * 4)


KERNEL = Kernel(
    name="sparse_cvb0",
    run=run,
    views={"topic_words": "sparse_mean"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={**cvb0.KERNEL.options, "candidates": 32, "kept": 8, "draws": 0, "explored": 4},
    meanings={
        **cvb0.KERNEL.meanings,
        "candidates": "topics that a document can have, from 1; all, of a dense model with up to four times as many; "
        "where topics are lists, also at most max(2, `draws`) times `kept`",
        "kept": "where topics are lists, topics that a document keeps after two sweeps, from 1 to `candidates`",
        "draws": "where topics are lists, topics that each token draws, up to 64; 0 for one for each 500 tokens of the "
        "corpus per topic, from 1 to 8, and for 8 outside learning",
        "explored": "topics drawn evenly, besides those that the words of a document propose, from 0 to 10,000",
    },
    scratch=_scratch,
    paper="Asuncion et al. 2009; Lücke and Eggert 2010",
    loop=SliceLoop(_infer_slice, _loop_options, cvb0.loop_scratch, ("iterations", "dropped_tokens")),
)

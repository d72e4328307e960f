"""Gibbs sampling of the topics of a document's tokens, one sweep for each inner iteration of a round.

The sampler of `gibbs` with the statistic "conditionals", interrupted after every sweep: documents remember labels and
sums for the round, and inner iteration t of a round is sweep t. A method with as many inner iterations as there are
sweeps thus refreshes the topics between sweeps from what the sweeps so far say (boosting), where `gibbs` holds them
fixed. Without that, the last inner iteration has the numbers of `gibbs`.

Statistics of inner iteration t: for each token the mean of its p given all other labels over the sweeps from
`burn_in` + 1 to t; nothing up to inner iteration `burn_in`, and the params stay as they are until then. Document
topics: (alpha_k + N_k) / sum, with N_k the same mean, or the labels' number up to inner iteration `burn_in`. The
statistic of the prior is E[log theta] given the labels, likewise their mean, or the last sweep's.

Outside learning there is one inner iteration: name `gibbs` for the inference of a method.

Cost of an inner iteration: one sweep of `gibbs`.

Reference: Dupuy and Bach (2017), "Online but accurate inference for latent variable models with local Gibbs sampling",
there G-OEM++.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.kernels.sampling import gibbs
from bigtopic.kernels.sampling.gibbs import STARTS
from bigtopic.kernels.support.entry import (
    Call,
    State,
    frozen,
    inner,
    one_of,
    outer,
    put_shares,
    whole_number,
)
from bigtopic.kernels.support.expected_logs import add_labels
from bigtopic.kernels.support.labels import (
    TOGETHER,
    count_labels,
    gather,
    hold_conditionals,
    sampled,
    start_labels,
    sweep_labels,
)
from bigtopic.kernels.support.labels import scratch as scratch_of_sweeps
from bigtopic.kernels.support.random import key, uniform
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = ["KERNEL", "run"]

_MOST_TOPICS = np.iinfo(np.int16).max


@inner
def _resume(j, first, words, counts, known, row_key, n_components, prior, remembered, labels, mass, numbers):
    """Take up the labels of a document, and count all but the first token's. `first` is its first token of all."""
    n_columns, n, token = prior.shape[0] // TOGETHER, 0, first
    own = slice(j * n_columns, (j + 1) * n_columns)
    numbers[own] = 0
    for i in range(words.shape[0]):
        for _ in range(np.intp(counts[i])):
            if known[words[i]]:
                label = np.intp(remembered[token])
                if label < 0:  # no topic knew its word before
                    label = min(np.intp(uniform(row_key, n) * n_components), n_components - 1)
                labels[n * TOGETHER + j] = label
                numbers[own][label] += n > 0
                n += 1
            token += 1
    for k in range(n_columns):
        mass[own][k] = prior[own][k] + numbers[own][k]


@inner
def _remember(j, first, words, counts, known, labels, remembered):
    n, token = 0, first
    for i in range(words.shape[0]):
        for _ in range(np.intp(counts[i])):
            remembered[token] = labels[n * TOGETHER + j] if known[words[i]] else -1
            n += known[words[i]]
            token += 1


@inner
def _add(place, first, words, n_columns, n_kept, held, before, summed, mean, stats):
    """Add the held counts to the document's sums `before`, and their means to the statistics and to `mean`, which has
    alpha."""
    for i in range(words.shape[0]):
        # rows by themselves: loops over them need no look at their place in the whole
        old, new, sums, counted = (
            before[first + i],
            held[place + i * n_columns :],
            summed[first + i],
            stats[words[i]],
        )
        # two loops that write to few arrays: the compiler makes vectors only where few may overlap
        for k in range(sums.shape[0]):
            sums[k] = old[k] + new[k]
        for k in range(sums.shape[0]):
            share = sums[k] / n_kept
            counted[k] += share
            mean[k] += share


@outer
def _infer(
    order, all_tokens, first_tokens, indptr, words, counts, source_rows, topic_words, known, prior, seed, sweep,
    n_kept, fresh, by_words, n_components, rows, labels, block, held, mass, numbers, sums, ends, targets, lanes,
    row_keys, n_tokens, alpha, psi_alpha, counted, remembered, before, summed, mean, stats, doc_topics, logs,
):  # fmt: skip
    n_docs, n_columns, nothing = len(order), topic_words.shape[1], mass.dtype.type(0)
    for end in range(n_docs, 0, -TOGETHER):
        n_tokens[:], place = 0, 0
        for j in range(max(0, TOGETHER - end), TOGETHER):
            d = order[end - TOGETHER + j]
            own, n = slice(indptr[d], indptr[d + 1]), all_tokens[d]
            n_tokens[j], row_keys[j] = n, key(seed, source_rows[d])
            gather(place, words[own], counts[own], topic_words, known, block, held, j, rows)
            if fresh:
                start_labels(
                    j, n, n_components, n_columns, by_words, row_keys[j], prior,
                    rows, labels, block, mass, numbers, sums, ends, targets,
                )  # fmt: skip
            else:
                _resume(
                    j, first_tokens[d], words[own], counts[own], known, row_keys[j], n_components, prior,
                    remembered, labels, mass, numbers,
                )  # fmt: skip
            place += (own.stop - own.start) * n_columns
        sweep_labels(
            n_tokens, sweep, nothing, row_keys, n_columns, prior,
            rows, labels, block, mass, numbers, held, sums, ends, targets, lanes,
        )  # fmt: skip
        if n_kept > 0:
            hold_conditionals(n_tokens, n_columns, prior, rows, labels, block, mass, numbers, held, targets)
        place = 0
        for j in range(max(0, TOGETHER - end), TOGETHER):
            d = order[end - TOGETHER + j]
            own, n = slice(indptr[d], indptr[d + 1]), all_tokens[d]
            _remember(j, first_tokens[d], words[own], counts[own], known, labels, remembered)
            mean[:] = prior[: mean.shape[0]]
            if n_kept > 0:
                _add(place, own.start, words[own], n_columns, n_kept, held, before, summed, mean, stats)
            else:
                for i in range(n):
                    mean[labels[i * TOGETHER + j]] += 1
            if doc_topics.shape[0] > 0:
                put_shares(mean, doc_topics[d])
            if logs.shape[0] > 0:
                count_labels(j, n, labels, counted)
                add_labels(alpha, psi_alpha, counted, 1.0, logs[d])
            place += (own.stop - own.start) * n_columns


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """One sweep over these documents; see the module.

    Parameters
    ----------
    docs : the documents, with whole counts; authors are ignored
    view : "topic_words", (n_words, n_columns), weights of each word's topics, in any form
    hyper : `iteration` is the number of the sweep; for its options see `KERNEL`
    seed : with a document's source row, the key of its draws
    state : "labels" int16 (n_tokens,), -1 where no topic knew the word; "sums" float64 (n_entries, n_components) of the
        conditionals of kept sweeps, and "logs" float64 (n_docs, n_components) of their E[log theta], zeros if these are
        not wanted; None before the first sweep

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts, and stats["doc_topic_prior"] (1, n_columns), the sum
        of E[log theta], if wanted; doc_topics (n_docs, n_components) if wanted; state; info: "iterations" (sweeps, all
        documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When an option is not what it may be, a count is not a whole number, or there are more topics than a label can
        name.
    """
    by_words, burn_in = one_of(hyper.options, "start", STARTS) == "words", _burn_in(hyper.options)
    n, n_kept, call = hyper.n_components, max(0, hyper.iteration - burn_in), Call(docs, view, hyper)
    if n > _MOST_TOPICS:
        raise SettingError(
            f"{argument('n_components', n)}: kernel 'gibbs_boosted' has at most {_MOST_TOPICS}"
        )
    found = sampled(call)
    ends = np.concatenate([[0], np.cumsum(docs.counts, dtype=np.float64)]).astype(np.int64)
    labels, before, summed = _state(int(ends[-1]), (len(docs.words), n), n_kept > 0, state)
    logs = np.zeros((docs.n_docs, n))
    if n_kept > 1 and state is not None:
        logs += state["logs"]
    _infer(
        found.order, found.n_tokens, frozen(ends[docs.indptr], np.int64), *found.inputs, int(seed), hyper.iteration,
        n_kept, state is None, by_words, n, *found.room, labels, before, summed, np.empty(n), *call.outputs,
        logs if call.learns else logs[:0],
    )  # fmt: skip
    if call.learns:
        call.expected_logs()[:n] = logs.sum(axis=0) / max(1, n_kept)
    return call.result(found.info(docs, 1), {"labels": labels, "sums": summed, "logs": logs})


def _state(
    n_tokens: int, shape: tuple[int, int], adds: bool, state: State
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels to change, sums to add to, and sums to fill. If nothing is added, the latter are those remembered."""
    labels, summed = buffers.empty(n_tokens, np.int16), buffers.empty(shape, np.float64)
    labels[:] = -1 if state is None else state["labels"]
    if state is None or not adds:
        summed[:] = 0 if state is None else state["sums"]
    return labels, frozen(summed if state is None else state["sums"], np.float64), summed


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Of documents worked on together, and the labels and sums of all."""
    pooled = scratch_of_sweeps(size, options).pooled
    sums = [n * size.n_components * 8 for n in (size.n_entries, size.n_docs)]
    return Scratch([*pooled, size.n_tokens * 2, *sums])


def _burn_in(options: Mapping[str, Any]) -> int:
    return whole_number(options, "burn_in", 0)


def _cost(options: Mapping[str, Any]) -> float:
    return 3.0 if _burn_in(options) == 0 else 1.0


KERNEL = Kernel(
    name="gibbs_boosted",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"burn_in": 0, "start": "words"},
    meanings={name: gibbs.KERNEL.meanings[name] for name in ("burn_in", "start")},
    cost=_cost,
    burn_in=_burn_in,
    scratch=_scratch,
    state="round",
    remembers={
        "labels": StateSpec("token", "int16", missing=-1),
        "sums": StateSpec("entry", "float64", ("n_components",)),
        "logs": StateSpec("document", "float64", ("n_components",)),
    },
    paper="Dupuy and Bach 2017",
)

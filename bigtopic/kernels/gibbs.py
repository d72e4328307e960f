"""Gibbs sampling of the topics of a document's tokens, the topics' words held fixed.

Each token i, of word w, has a label z_i. A sweep visits the tokens in storage order and draws each label anew given
all the others, with theta integrated out:

    N_k -= [z_i = k]
    z_i ~ p_k,  p_k = (alpha_k + N_k) W_wk / sum
    N_k += [z_i = k]

The labels begin uniform over the topics or in proportion to W_wk. After `burn_in` sweeps, each of `samples` sweeps is
kept. Statistics, means over the kept sweeps: "labels" counts the labels drawn; "conditionals" adds, at the end of
the sweep, each token's p given all other labels (Rao-Blackwell: the same mean, less noise); "theta" gives each word its
count times N_k / sum(N) of the document, N from labels, which is what ML-CGS interpolates. Document topics:
(alpha_k + N_k) / sum, with N_k the mean of what was counted.

W need not be normalised: with p(word | topic) it is G-OEM's and ML-CGS's sampler, with exp(E log p(word | topic))
Online-CGS's.

How it is computed: a draw waits for the label before it; some documents are therefore visited together, a token of each
by turns, which changes no number.

Cost: sweeps x tokens x topics multiply-adds; "conditionals" three times that in kept sweeps.

References: Mimno, Hoffman, Blei (2012), "Sparse stochastic inference for latent Dirichlet allocation", section 3; Dupuy
and Bach (2017), "Online but accurate inference for latent variable models with local Gibbs sampling", section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.errors import SettingError
from bigtopic.kernels._draw import ENDS, put
from bigtopic.kernels._labels import TOGETHER, hold_conditionals, start_labels, sweep_labels
from bigtopic.kernels._memory import prefetch
from bigtopic.kernels._random import key
from bigtopic.kernels._shell import INNER, OUTER, csr, frozen, padded_prior, positive, put_shares
from bigtopic.kernels._vector import LANES, larger, largest, load, spread, store
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]

STARTS = ("uniform", "words")
STATISTICS = ("labels", "conditionals", "theta")

_LEAST_PRIOR = 1e-18  # keeps products with it normal numbers in float32
_AHEAD = 4  # words


@njit(**INNER)
def _gather(first, words, counts, topic_words, block, held, j, rows):
    """Copy the rows of the words to `block` from `first` on, clear what is held, and list the tokens.

    Returns the number of tokens, and that of words that no topic knows: they are not in the list.
    """
    none, n_columns = spread(block.dtype.type(0)), topic_words.shape[1]
    n, dropped, last = 0, 0.0, words.shape[0] - 1
    for i in range(words.shape[0]):
        word, ahead, most = words[i], words[min(i + _AHEAD, last)], none
        place = first + i * n_columns
        for k in range(0, n_columns, LANES):
            prefetch(topic_words, ahead, k)
            row = load(topic_words, (word, k))
            most = larger(most, row)
            store(block, place + k, row)
            store(held, place + k, none)
        if largest(most) > 0:
            for _ in range(np.intp(counts[i])):
                put(rows, n * TOGETHER + j, place)
                n += 1
        else:
            dropped += counts[i]
    return n, dropped


@njit(**INNER)
def _add(first, words, counts, n_samples, n_tokens, by_theta, prior, held, mean, stats):
    """Add a document's statistics. `mean` (n_columns,) becomes alpha + N, the mean of what was counted."""
    one, n_columns = mean.dtype.type(1), mean.shape[0]
    zero, once = spread(mean.dtype.type(0)), spread(mean.dtype.type(one / n_samples))
    for k in range(0, n_columns, LANES):
        number = zero
        for i in range(words.shape[0]):
            number = number + load(held, first + i * n_columns + k)
        store(mean, k, once * number)
    for i in range(words.shape[0]):
        ahead = words[min(i + _AHEAD, words.shape[0] - 1)]
        share = spread(mean.dtype.type(counts[i] / n_tokens))
        for k in range(0, n_columns, LANES):
            prefetch(stats, ahead, k)
            own = share * load(mean, k) if by_theta else once * load(held, first + i * n_columns + k)
            store(stats, (words[i], k), load(stats, (words[i], k)) + own)
    for k in range(0, n_columns, LANES):
        store(mean, k, load(mean, k) + load(prior, k))


@njit(**OUTER)
def _infer(
    order, indptr, words, counts, source_rows, topic_words, prior, seed, burn_in, samples, by_words, conditionals,
    by_theta, room, rows, labels, block, held, mass, numbers, sums, ends, targets, lanes, row_keys, n_tokens, stats,
    doc_topics,
):  # fmt: skip
    n_docs, n_components = len(order), doc_topics.shape[1]  # no rows where nobody looks at them
    n_columns, dropped = topic_words.shape[1], 0.0
    keep = mass.dtype.type(0 if conditionals else 1)
    for end in range(n_docs, 0, -TOGETHER):
        n_tokens[:] = 0
        for j in range(max(0, TOGETHER - end), TOGETHER):
            d = order[end - TOGETHER + j]
            own = slice(indptr[d], indptr[d + 1])
            n, lost = _gather(j * room, words[own], counts[own], topic_words, block, held, j, rows)
            n_tokens[j], row_keys[j] = n, key(seed, source_rows[d])
            dropped += lost
            start_labels(
                j, n, n_components, n_columns, by_words, row_keys[j], prior,
                rows, labels, block, mass, numbers, sums, ends, targets,
            )  # fmt: skip
        for sweep in range(1, burn_in + samples + 1):
            sweep_labels(
                n_tokens, sweep, keep if sweep > burn_in else keep - keep, row_keys, n_columns, prior,
                rows, labels, block, mass, numbers, held, sums, ends, targets, lanes,
            )  # fmt: skip
            if conditionals and sweep > burn_in:
                hold_conditionals(
                    n_tokens, n_columns, prior, rows, labels, block, mass, numbers, held, targets
                )
        for j in range(max(0, TOGETHER - end), TOGETHER):
            d = order[end - TOGETHER + j]
            own, mean = slice(indptr[d], indptr[d + 1]), mass[j * n_columns : (j + 1) * n_columns]
            if n_tokens[j] > 0:
                _add(
                    j * room,
                    words[own],
                    counts[own],
                    samples,
                    n_tokens[j],
                    by_theta,
                    prior,
                    held,
                    mean,
                    stats,
                )
            if doc_topics.shape[0] > 0:
                put_shares(mean, doc_topics[d])
    return dropped


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents, with whole counts; authors are ignored
    view : "topic_words", (n_words, n_columns), weights of each word's topics, in any form
    hyper : options `burn_in` (sweeps, at least 0), `samples` (sweeps that are kept, at least 1), `start` ("uniform" or
        "words") and `statistic` ("labels", "conditionals" or "theta")
    seed : with a document's source row, the key of its draws
    state : unused

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts; doc_topics (n_docs, n_components) if wanted; info:
        "iterations" (sweeps, all documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When an option is not what it may be, or a count is not a whole number.
    """
    options = hyper.options
    for name, allowed in (("start", STARTS), ("statistic", STATISTICS)):
        if options[name] not in allowed:
            raise SettingError(f"{name}={options[name]!r}: must be one of {', '.join(allowed)}")
    if options["burn_in"] < 0:
        raise SettingError(f"burn_in={options['burn_in']!r}: must be a whole number of at least 0")
    burn_in, samples = int(options["burn_in"]), positive(options, "samples")
    n_tokens = _numbers_of_tokens(docs)
    topic_words = view.arrays["topic_words"]
    assert topic_words.shape[1] % LANES == 0, "rows come in whole vectors"
    dtype, n_columns = topic_words.dtype, topic_words.shape[1]
    room, most_tokens = int(np.diff(docs.indptr).max(initial=1)) * n_columns, int(n_tokens.max(initial=1))
    prior = padded_prior(np.maximum(hyper.doc_topic_prior, _LEAST_PRIOR), n_columns, dtype)
    stats = buffers.zeros(topic_words.shape, dtype)
    doc_topics = buffers.empty((docs.n_docs if hyper.doc_topics else 0, hyper.n_components), dtype)
    dropped = _infer(
        np.argsort(n_tokens, kind="stable"),  # a pair ends together
        *csr(docs, dtype),
        frozen(docs.rows, np.int64),
        frozen(topic_words, dtype),
        frozen(np.tile(prior, TOGETHER), dtype),
        int(seed),
        burn_in,
        samples,
        options["start"] == "words",
        options["statistic"] == "conditionals",
        options["statistic"] == "theta",
        room,
        buffers.empty((most_tokens * TOGETHER,), np.int64),
        buffers.empty((most_tokens * TOGETHER,), np.int32),
        buffers.empty((room * TOGETHER,), dtype),
        buffers.empty((room * TOGETHER,), dtype),
        buffers.empty((n_columns * TOGETHER,), dtype),
        buffers.empty((n_columns * TOGETHER,), dtype),
        buffers.empty((n_columns * TOGETHER,), dtype),
        np.zeros(ENDS * TOGETHER, dtype),
        np.empty(TOGETHER, dtype),
        np.empty(TOGETHER, np.int64),
        np.empty(TOGETHER, np.uint64),
        np.empty(TOGETHER, np.int64),
        stats,
        doc_topics,
    )
    info = {
        "iterations": float(np.count_nonzero(n_tokens) * (burn_in + samples)),
        "dropped_tokens": dropped,
    }
    return KernelResult({"topic_words": stats}, doc_topics if hyper.doc_topics else None, None, info)


def _numbers_of_tokens(docs: Docs) -> np.ndarray:
    """Tokens of each document, int64 (n_docs,)."""
    fractions = np.flatnonzero(docs.counts != np.floor(docs.counts))
    if len(fractions):
        raise SettingError(
            f"a word has a count of {docs.counts[fractions[0]]:g}, but kernel 'gibbs' labels tokens one by one and "
            "needs whole counts. Choose a method with another kernel (cvb0, ope, vb), or a corpus of counts"
        )
    return np.diff(np.concatenate([[0], np.cumsum(docs.counts, dtype=np.int64)])[docs.indptr])


def _cost(options: Mapping[str, Any]) -> float:
    passes = 3 if options["statistic"] == "conditionals" else 1
    return float(options["burn_in"] + passes * options["samples"])


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Rows of the words of the documents worked on together, and what is held of them."""
    return Scratch([size.longest * TOGETHER * size.columns["topic_words"] * 4] * 2)


KERNEL = Kernel(
    name="gibbs",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    options={"burn_in": 25, "samples": 25, "start": "uniform", "statistic": "labels"},
    cost=_cost,
    scratch=_scratch,
    paper="Mimno, Hoffman, Blei 2012; Dupuy and Bach 2017",
)

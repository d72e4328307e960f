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

The statistic of the prior is E[log theta] given the labels, the mean over the kept sweeps (in the code of Dupuy and
Bach, over all sweeps, the first of which still depend on the start).

How it is computed: a draw waits for the label before it; some documents are therefore visited together, a token of each
by turns, which changes no number. The code of Dupuy and Bach shuffles the tokens before each sweep; a fixed order, as
valid, reads the rows of a document's words one after the other.

Cost: sweeps x tokens x topics multiply-adds; "conditionals" three times that in kept sweeps.

References: Mimno, Hoffman, Blei (2012), "Sparse stochastic inference for latent Dirichlet allocation", section 3; Dupuy
and Bach (2017), "Online but accurate inference for latent variable models with local Gibbs sampling", section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic.errors import SettingError, argument
from bigtopic.kernels.support.entry import OUTER, csr, frozen, padded_prior, put_shares, whole_number
from bigtopic.kernels.support.expected_logs import add_labels, with_psi
from bigtopic.kernels.support.gibbs import (
    LEAST_PRIOR,
    add,
    count_tokens,
    gather,
    largest_sum,
    refuse_fractions,
    room,
    scratch,
)
from bigtopic.kernels.support.labels import (
    TOGETHER,
    count_labels,
    hold_conditionals,
    start_labels,
    sweep_labels,
)
from bigtopic.kernels.support.random import key
from bigtopic.kernels.support.vector import LANES
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

STARTS = ("uniform", "words")
STATISTICS = ("labels", "conditionals", "theta")


@njit(**OUTER)
def _infer(
    order, all_tokens, indptr, words, counts, source_rows, topic_words, known, prior, seed, burn_in, samples, by_words,
    conditionals, by_theta, rows, labels, block, held, mass, numbers, sums, ends, targets, lanes, row_keys, n_tokens,
    alpha, psi_alpha, counted, stats, doc_topics, logs,
):  # fmt: skip
    n_docs, n_components = len(order), doc_topics.shape[1]  # no rows where nobody looks at them
    n_columns = topic_words.shape[1]
    nothing, keep = mass.dtype.type(0), mass.dtype.type(0 if conditionals else 1)
    for end in range(n_docs, 0, -TOGETHER):
        n_tokens[:], place = 0, 0
        for j in range(max(0, TOGETHER - end), TOGETHER):
            d = order[end - TOGETHER + j]
            own, n = slice(indptr[d], indptr[d + 1]), all_tokens[d]
            n_tokens[j], row_keys[j] = n, key(seed, source_rows[d])
            gather(place, words[own], counts[own], topic_words, known, block, held, j, rows)
            start_labels(
                j, n, n_components, n_columns, by_words, row_keys[j], prior,
                rows, labels, block, mass, numbers, sums, ends, targets,
            )  # fmt: skip
            place += (own.stop - own.start) * n_columns
        for sweep in range(1, burn_in + samples + 1):
            sweep_labels(
                n_tokens, sweep, keep if sweep > burn_in else nothing, row_keys, n_columns, prior,
                rows, labels, block, mass, numbers, held, sums, ends, targets, lanes,
            )  # fmt: skip
            if conditionals and sweep > burn_in:
                hold_conditionals(
                    n_tokens, n_columns, prior, rows, labels, block, mass, numbers, held, targets
                )
            for j in range(
                max(0, TOGETHER - end) if logs.shape[0] > 0 and sweep > burn_in else TOGETHER, TOGETHER
            ):
                count_labels(j, n_tokens[j], labels, counted)
                add_labels(alpha, psi_alpha, counted, 1.0 / samples, logs)
        place = 0
        for j in range(max(0, TOGETHER - end), TOGETHER):
            d = order[end - TOGETHER + j]
            own, n = slice(indptr[d], indptr[d + 1]), all_tokens[d]
            mean = mass[j * n_columns : (j + 1) * n_columns]
            if n > 0:
                add(place, words[own], counts[own], samples, n, by_theta, prior, held, mean, stats)
            if doc_topics.shape[0] > 0:
                put_shares(mean, doc_topics[d])
            place += (own.stop - own.start) * n_columns


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents, with whole counts; authors are ignored
    view : "topic_words", (n_words, n_columns), weights of each word's topics, in any form
    hyper : for its options see `KERNEL`
    seed : with a document's source row, the key of its draws
    state : unused

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts, and stats["doc_topic_prior"] (1, n_columns), the sum
        of E[log theta], mean over the kept sweeps, if wanted; doc_topics (n_docs, n_components) if wanted; info:
        "iterations" (sweeps, all documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When an option is not what it may be, or a count is not a whole number.
    """
    burn_in, samples = _checked(hyper.options)
    refuse_fractions(docs)
    topic_words = view.arrays["topic_words"]
    assert topic_words.shape[1] % LANES == 0, "rows come in whole vectors"
    dtype, n_columns = topic_words.dtype, topic_words.shape[1]
    indptr, words, counts = csr(docs, dtype)
    rows_of_words, known = frozen(topic_words, dtype), np.empty(len(topic_words), np.bool_)
    n_tokens = np.empty(docs.n_docs, np.int64)
    count_tokens(indptr, words, counts, rows_of_words, known, n_tokens)
    order = np.argsort(n_tokens, kind="stable")  # documents worked on together end together
    n_words, most_tokens = largest_sum(np.diff(docs.indptr)[order]), int(n_tokens.max(initial=1))
    prior = padded_prior(np.maximum(hyper.doc_topic_prior, LEAST_PRIOR), n_columns, dtype)
    found = {"topic_words": buffers.zeros(topic_words.shape, dtype)}
    if "doc_topic_prior" in hyper.statistics:
        found["doc_topic_prior"] = np.zeros((1, n_columns))
    doc_topics = buffers.empty((docs.n_docs if hyper.doc_topics else 0, hyper.n_components), dtype)
    _infer(
        order,
        n_tokens,
        indptr,
        words,
        counts,
        frozen(docs.rows, np.int64),
        rows_of_words,
        known,
        frozen(np.tile(prior, TOGETHER), dtype),
        int(seed),
        burn_in,
        samples,
        hyper.options["start"] == "words",
        hyper.options["statistic"] == "conditionals",
        hyper.options["statistic"] == "theta",
        *room(n_words, most_tokens, n_columns, dtype),
        *with_psi(np.maximum(hyper.doc_topic_prior, LEAST_PRIOR)),
        np.empty(hyper.n_components),
        found["topic_words"],
        doc_topics,
        found["doc_topic_prior"][0] if "doc_topic_prior" in found else np.zeros(0),
    )
    info = {
        "iterations": float(np.count_nonzero(n_tokens) * (burn_in + samples)),
        "dropped_tokens": float(docs.counts.sum(dtype=np.float64) - n_tokens.sum()),
    }
    return KernelResult(found, doc_topics if hyper.doc_topics else None, None, info)


def _checked(options: Mapping[str, Any]) -> tuple[int, int]:
    """Sweeps before the first that is kept, and how many are kept. Raises SettingError like `run`."""
    for name, allowed in (("start", STARTS), ("statistic", STATISTICS)):
        if options[name] not in allowed:
            raise SettingError(f"{argument(name, options[name])}: must be one of {', '.join(allowed)}")
    return whole_number(options, "burn_in", 0), whole_number(options, "samples", 1)


def _cost(options: Mapping[str, Any]) -> float:
    burn_in, samples = _checked(options)
    return float(burn_in + (3 if options["statistic"] == "conditionals" else 1) * samples)


KERNEL = Kernel(
    name="gibbs",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"burn_in": 25, "samples": 25, "start": "uniform", "statistic": "labels"},
    meanings={
        "burn_in": "sweeps over a document before those that are kept, from 0",
        "samples": "sweeps that are kept, from 1",
        "start": 'the first labels: "uniform", or "words" by the probabilities of their words',
        "statistic": 'what a token counts for the topics: "labels", those of the kept sweeps; "conditionals", the '
        'probabilities that labels are drawn with; "theta", the shares of topics in its document',
    },
    cost=_cost,
    scratch=scratch,
    paper="Mimno, Hoffman, Blei 2012; Dupuy and Bach 2017",
)

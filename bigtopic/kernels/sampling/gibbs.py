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
(alpha_k + N_k) / sum, with N_k the mean of the counts.

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

The kernel `gibbs_expected_log`, against topics that are uncertain, has weights W_wk = exp(E log p(word | topic)) under
the topics' Dirichlet distributions, which is what makes a draw of all labels the best factor of a variational
distribution given the topics' factor: stochastic variational inference with sampled local statistics (sparse stochastic
inference, online CGS).

Reference: Mimno, Hoffman, Blei (2012), "Sparse stochastic inference for latent Dirichlet allocation", section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bigtopic.kernels.support.entry import (
    Call,
    State,
    one_of,
    outer,
    put_shares,
    whole_number,
)
from bigtopic.kernels.support.expected_logs import add_labels
from bigtopic.kernels.support.labels import (
    TOGETHER,
    add,
    count_labels,
    gather,
    hold_conditionals,
    sampled,
    scratch,
    start_labels,
    sweep_labels,
)
from bigtopic.kernels.support.random import key
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["FURTHER", "KERNEL", "run"]

STARTS = ("uniform", "words")
STATISTICS = ("labels", "conditionals", "theta")


@outer
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


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
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
    call, statistic = Call(docs, view, hyper), hyper.options["statistic"]
    found = sampled(call)
    _infer(
        found.order, found.n_tokens, *found.inputs, int(seed), burn_in, samples, hyper.options["start"] == "words",
        statistic == "conditionals", statistic == "theta", *found.room, *call.outputs, call.expected_logs(),
    )  # fmt: skip
    return call.result(found.info(docs, burn_in + samples))


def _checked(options: Mapping[str, Any]) -> tuple[int, int]:
    """Sweeps before the first that is kept, and how many are kept. Raises SettingError like `run`."""
    one_of(options, "start", STARTS)
    one_of(options, "statistic", STATISTICS)
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
        "statistic": 'what a token counts for the topics: "labels", its labels in the kept sweeps; "conditionals", '
        'the probabilities that labels are drawn with; "theta", the shares of topics in its document',
    },
    cost=_cost,
    scratch=scratch,
    paper="Mimno, Hoffman, Blei 2012; Dupuy and Bach 2017",
)

FURTHER = {
    "gibbs_expected_log": replace(
        KERNEL,
        name="gibbs_expected_log",
        views={"topic_words": "expected_log"},
        posteriors=("topic_words",),
        paper="Mimno, Hoffman, Blei 2012",
    ),
}

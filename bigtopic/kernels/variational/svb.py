"""Variational Bayes of a minibatch that is repeated until it is at rest: streaming variational Bayes (SVB).

The kernel `vb`, where each document begins with the gamma that the previous inner iteration of the round left it. With
the scheme `AddToPrior` and several inner iterations, a round is batch variational Bayes of the minibatch with the
weights before it as the prior; since both documents and topics go on from where they are, no inner iteration decreases
the bound.

`moved` tells how far it is from rest: sum_dk |gamma_dk - gamma_dk of the previous inner iteration|, in tokens; all of
them in the first inner iteration. `UntilRest` of `bigtopic.methods.method` is a rule for it.

Cost: as `vb`, less in later inner iterations.

Reference: Broderick, Boyd, Wibisono, Wilson, Jordan (2013), "Streaming variational Bayes".

The kernel `svb_progressive` begins minibatches progressively: each document with the topics that the documents before
it make.

In the first inner iteration of a round, document d is inferred as by the kernel `vb`, with the weights

    P + S_1 + ... + S_(d - 1)

of the params, P, and of the documents before it. Later inner iterations are as in the kernel `svb`.

A call is a whole minibatch, as for `sgs`.

Cost: as `svb`, and topics x exp psi per distinct word in every inner iteration.

References: Broderick, Boyd, Wibisono, Wilson, Jordan (2013), "Streaming variational Bayes"; Gao, Chen, Zhu (2016),
"Streaming Gibbs sampling for LDA model", section 3.1, for the start of minibatches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic.kernels.support.entry import State, means, outer
from bigtopic.kernels.support.math import digamma
from bigtopic.kernels.variational import vb
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, KernelResult, Scratch, StateSpec, View

__all__ = ["FURTHER", "KERNEL", "run", "run_progressive"]


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs, view, hyper, seed : as in the kernel `vb`
    state : "gamma" (n_docs, n_components), where the previous inner iteration ended; None for the first inner iteration

    Returns
    -------
    KernelResult
        As of the kernel `vb`, with the state; info has also "moved" and "tokens", in tokens.

    Raises
    ------
    SettingError
        As the kernel `vb` does.
    """
    start = None if state is None else state["gamma"]
    gammas, result = vb.posterior(docs, view, hyper, start)
    n_tokens = float(docs.counts.sum(dtype=np.float64))
    moved = n_tokens if start is None else float(np.abs(gammas - start).sum(dtype=np.float64))
    return result._replace(
        doc_topics=means(gammas) if hyper.doc_topics else None,
        state={"gamma": gammas.astype(np.float32)},
        info={**result.info, "moved": moved, "tokens": n_tokens},
    )


_LENGTHS = 2  # of documents, each half of the one before, for which a thread keeps memory


@outer
def _expected_log_rows(weights, words, psi_totals, rows, shift):
    """rows[i, k] <- exp(psi(weights[words[i], k]) - psi_totals[k] - shift[i]), so that the largest of a row is 1."""
    exponents = np.empty(psi_totals.shape[0])
    for i in range(words.shape[0]):
        own, top = weights[words[i]], -np.inf
        for k in range(exponents.shape[0]):
            exponents[k] = digamma(np.float64(own[k])) - psi_totals[k] if own[k] > 0 else -np.inf
            top = max(top, exponents[k])
        shift[i] = top if top > -np.inf else 0.0
        for k in range(exponents.shape[0]):
            rows[i, k] = np.exp(exponents[k] - shift[i])


def _expected_logs(weights: np.ndarray, words: np.ndarray, totals: np.ndarray, n: int) -> View:
    """The rows of some words of the weights as `vb` reads them; columns from `n` on are padding."""
    from scipy.special import psi

    rows, shift = buffers.zeros((len(words), weights.shape[1]), weights.dtype), np.empty(len(words))
    _expected_log_rows(weights, words, psi(totals[:n]), rows, shift)
    return View({"topic_words": rows, "topic_words:shift": shift}, {})


def run_progressive(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs, hyper, seed : as in the kernel `vb`
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals
    state : as in the kernel `svb`

    Returns
    -------
    KernelResult
        As of the kernel `svb`. In the first inner iteration, "bound" belongs to no single posterior of the topics.

    Raises
    ------
    SettingError
        As the kernel `vb` does.
    """
    weights, totals = np.ascontiguousarray(view.arrays["topic_words"]), view.totals["topic_words"]
    if state is None:
        return _progressive(docs, weights, totals, hyper)
    every = np.arange(len(weights), dtype=np.int32)
    return run(docs, _expected_logs(weights, every, totals, hyper.n_components), hyper, seed, state)


def _progressive(docs: Docs, weights: np.ndarray, totals: np.ndarray, hyper: Hyper) -> KernelResult:
    """The first inner iteration."""
    now, totals = buffers.empty(weights.shape, weights.dtype), np.array(totals, np.float64)
    now[:] = weights
    stats = {name: np.zeros((1, weights.shape[1])) for name in hyper.statistics}
    stats["topic_words"] = buffers.zeros(weights.shape, weights.dtype)
    gammas = np.empty((docs.n_docs, hyper.n_components), weights.dtype)
    n_tokens = float(docs.counts.sum(dtype=np.float64))
    info = {"iterations": 0.0, "dropped_tokens": 0.0, "moved": n_tokens, "tokens": n_tokens}
    for d in range(docs.n_docs):
        one, words = _document(docs, d)
        gammas[d : d + 1], own = vb.posterior(
            one, _expected_logs(now, words, totals, hyper.n_components), hyper
        )
        for name in stats:
            stats[name][words if name == "topic_words" else slice(None)] += own.stats[name]
        now[words] += own.stats["topic_words"]
        totals += own.stats["topic_words"].sum(axis=0, dtype=np.float64)
        info |= {name: info.get(name, 0.0) + value for name, value in own.info.items()}
    doc_topics = means(gammas) if hyper.doc_topics else None
    return KernelResult(stats, doc_topics, {"gamma": gammas.astype(np.float32)}, info)


def _document(docs: Docs, d: int) -> tuple[Docs, np.ndarray]:
    """A document with local word ids, and the ids they had."""
    own = slice(docs.indptr[d], docs.indptr[d + 1])
    words, n = docs.words[own], int(docs.indptr[d + 1] - docs.indptr[d])
    return Docs(
        np.array([0, n]), np.arange(n, dtype=np.int32), docs.counts[own], docs.rows[d : d + 1], n
    ), words


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """As of `svb`, and the weights as they move, or their expected logs; of one document after another, the rows
    of its words three times, and once more while they are added. A thread keeps memory for documents of several
    lengths."""
    row = size.columns["topic_words"] * 8
    of_document = size.longest * row
    lengths = [of_document >> halved for halved in range(_LENGTHS) for _ in range(3)]
    pooled = [*KERNEL.scratch(size, options).pooled, size.rows["topic_words"] * row, *lengths]
    return Scratch(pooled, transient=of_document)


KERNEL = replace(
    vb.KERNEL,
    name="svb",
    run=run,
    state="round",
    remembers={"gamma": StateSpec("document", "float32", ("n_components",))},
    paper="Broderick et al. 2013",
)

FURTHER = {
    "svb_progressive": replace(
        KERNEL,
        name="svb_progressive",
        run=run_progressive,
        views={"topic_words": "counts"},
        interacts=True,
        whole_minibatches=True,
        dtype="float64",
        scratch=_scratch,
        paper="Broderick et al. 2013; Gao, Chen, Zhu 2016",
    ),
}

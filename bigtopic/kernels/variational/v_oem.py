"""Variational inference of online expectation-maximisation (V-OEM): fixed iterations from a random start.

The topics' words W are a point estimate. From responsibilities r drawn for each distinct word (in the authors' code,
each token) from a Dirichlet distribution of ones, which tells topics apart even where W does not, and with counts c:

    gamma_k = alpha_k + sum_v c_v r_vk
    r_vk    = W_vk exp(psi(gamma_k)) / sum

`n_iter` times. Statistics: S_vk = sum_d c r. An inner iteration goes on with the r of the previous one; so with
`n_iter` 1 and 20 inner iterations of a method, W, and alpha if it is learned, follow the statistics after every
iteration of 20 (boosting, V-OEM++). Document topics: alpha_k + sum_v c_v r_vk, divided by the sum.

A document's state is its expected counts, sum_v c_v r_vk, from which gamma and r follow.

Cost: (n_iter + 1) x (2 x distinct words x topics multiply-adds + topics x exp psi); the start, a logarithm for each
distinct word and topic.

References: Dupuy and Bach (2017), "Online but accurate inference for latent variable models with local Gibbs sampling";
Sato, Kurihara, Nakagawa (2010), "Deterministic single-pass algorithm for LDA".

The kernel `v_oem_expected_log`, against topics that are uncertain, has weights W_vk = exp(E log p(word | topic)) under
the topics' Dirichlet distributions. With one document per update and boosting (`n_iter` 1, `inner` iterations of the
method) it is single-pass LDA (SPLDA).

Reference: Sato, Kurihara, Nakagawa (2010), "Deterministic single-pass algorithm for LDA".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import (
    INNER,
    Call,
    State,
    inner,
    means,
    outer,
    whole_number,
)
from bigtopic.kernels.support.expected_logs import expected_logs
from bigtopic.kernels.support.math import exp_digamma, fast_log
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.rows import GROUP, add_shares, gather_scaled, mixture_gradient
from bigtopic.kernels.variational import vb
from bigtopic.kernels.variational.vb import move
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["FURTHER", "KERNEL", "run"]


@njit(**INNER | {"fastmath": {"reassoc", "contract"}})
def _start(row_key, tokens, length, prior, n_components, share, gamma):
    """gamma <- prior + sum_v c_v r_v, r_v ~ Dirichlet(1, ..., 1): exponential numbers divided by their sum."""
    least = gamma.dtype.type(1e-30)
    for k in range(gamma.shape[0]):
        gamma[k] = prior[k]
    for i in range(length):
        for k in range(n_components):
            share[k] = uniform(row_key, i * n_components + k)
        mass = share.dtype.type(0)
        for k in range(n_components):
            share[k] = max(-fast_log(share[k]), least)
            mass += share[k]
        factor = tokens[i] / mass
        for k in range(n_components):
            gamma[k] += factor * share[k]


@inner
def _raise(weights):
    """weights <- at least 1e-35 of the largest: a word's tokens / x times any of them then stays a number.

    Topics that changed between inner iterations may leave a word to a topic that its document has not.
    """
    most = weights[0]
    for k in range(weights.shape[0]):
        most = max(most, weights[k])
    least = most * weights.dtype.type(1e-35)
    for k in range(weights.shape[0]):
        weights[k] = max(weights[k], least)


@outer
def _infer(
    indptr, words, counts, source_rows, topic_words, prior, seed, goes_on, n_iter,
    block, tokens, gamma, weights, gradient, stats, expected,
):  # fmt: skip
    n_docs, n_components = expected.shape
    dropped = 0.0
    for d in range(n_docs):
        own = slice(indptr[d], indptr[d + 1])
        n, _, lost = gather_scaled(words[own], counts[own], topic_words, block, tokens)
        dropped += lost
        if goes_on:
            gamma[n_components:] = 1
            for k in range(n_components):
                gamma[k] = prior[k] + expected[d, k]
        else:
            length = own.stop - own.start
            _start(key(seed, source_rows[d]), tokens, length, prior, n_components, gradient, gamma)
        for k in range(gamma.shape[0]):
            weights[k] = exp_digamma(gamma[k])
        for _ in range(n_iter - 1):
            mixture_gradient(tokens, block, n, weights, gradient)
            move(prior, gradient, gamma, weights)
        _raise(weights)
        add_shares(words[own], tokens, block, weights, stats)
        mixture_gradient(tokens, block, n, weights, gradient)
        for k in range(n_components):
            expected[d, k] = weights[k] * gradient[k]
    return dropped


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words", (n_words, n_columns), as "mean" or, where the topics are uncertain, as "expected_log"
    hyper : for its options see `KERNEL`
    seed : of the random start
    state : "expected_counts" (n_docs, n_components), where the previous inner iteration ended; None for the start

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts, and stats["doc_topic_prior"] (1, n_columns), the sum
        of E[log theta], if wanted; doc_topics (n_docs, n_components) if wanted; state; info: "iterations" (all
        documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When `n_iter` is not a whole number of at least 1.
    """
    n_iter, call = whole_number(hyper.options, "n_iter", 1), Call(docs, view, hyper, keeps=True)
    expected = call.doc_topics
    if state is not None:
        expected[:] = state["expected_counts"]
    dropped = _infer(
        *call.documents, call.rows, call.topic_words,
        call.prior(fill=1.0),  # 1 in the padding, as in the kernel vb
        int(seed), state is not None, n_iter, *call.block(1, GROUP), *call.vectors(3), *call.outputs,
    )  # fmt: skip
    gammas = expected + np.asarray(hyper.doc_topic_prior, call.dtype)
    if call.learns:
        call.stats["doc_topic_prior"] = expected_logs(gammas, call.n_columns)
    info = {"iterations": docs.n_docs * n_iter, "dropped_tokens": dropped}
    return call.result(info, {"expected_counts": expected.astype(np.float32)}, means(gammas))


def _cost(options: Mapping[str, Any]) -> float:
    return float(whole_number(options, "n_iter", 1) + 1)


KERNEL = Kernel(
    name="v_oem",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"n_iter": 20},
    meanings={
        "n_iter": "iterations over a document in an inner iteration, from 1; in the literature P",
    },
    cost=_cost,
    scratch=vb.KERNEL.scratch,
    state="round",
    remembers={"expected_counts": StateSpec("document", "float32", ("n_components",))},
    paper="Dupuy and Bach 2017",
)

FURTHER = {
    "v_oem_expected_log": replace(
        KERNEL,
        name="v_oem_expected_log",
        views={"topic_words": "expected_log"},
        posteriors=("topic_words",),
        paper="Sato, Kurihara, Nakagawa 2010",
    ),
}

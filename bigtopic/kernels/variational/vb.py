"""Mean-field variational Bayes for the topics of a document, with the topics' words held fixed.

q(theta) = Dirichlet(gamma). From gamma = 1, with e_k = exp(psi(gamma_k)):

    Z_v     = sum_k e_k W_vk
    gamma_k = alpha_k + e_k sum_v (c_v / Z_v) W_vk

until a tolerance is met or an iteration limit. The tolerance is of what the option `stop` names: "gamma", its change
in tokens (mean over topics); "theta", the change of theta = gamma / sum gamma (mean over topics); "bound", the gain of
the document's bound relative to the bound, from the second iteration on. Neither exp(-psi(sum
gamma)) nor a factor per word of W changes anything, so e leaves out the first, and each word's row is divided
by its maximum, which keeps Z a normal number in float32. At any time sum gamma = sum alpha + sum c, exactly.
Statistics: S_vk = sum_d (c_v / Z_v) e_k W_vk at the final gamma.

Cost: iterations x (2 x distinct words x topics multiply-adds + topics x exp psi); "bound" adds half of that and two
transcendental functions of each topic.

References: Blei, Ng, Jordan (2003), "Latent Dirichlet allocation"; Hoffman, Blei, Wang, Paisley (2013),
"Stochastic variational inference", figure 4. Rule "bound": Than and Doan (2017); "theta": Gao, Chen, Zhu (2016),
"Streaming Gibbs sampling for LDA model".

The kernel `vb_mean`, against point estimates of the topics' words, has weights W_vk = p(word | topic), for models that
do not learn a distribution of each topic, as in online expectation-maximisation.

Reference: Dupuy and Bach (2017), "Online but accurate inference for latent variable models with local Gibbs sampling".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import (
    INNER,
    OUTER,
    Call,
    State,
    csr,
    doc_update_cost,
    frozen,
    inner,
    means,
    one_of,
    outer,
    sums_of_entries,
    tolerance,
    whole_number,
)
from bigtopic.kernels.support.expected_logs import expected_logs
from bigtopic.kernels.support.math import digamma, exp_digamma, lgamma
from bigtopic.kernels.support.rows import GROUP, add_shares, gather_scaled, mixture_gradient, rows_scratch
from bigtopic.kernels.support.vector import LANES, load, spread, total
from bigtopic.types import Bound, CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["FURTHER", "KERNEL", "document_bounds", "move", "posterior", "run"]

STOPS = ("gamma", "bound", "theta")

_FAST = {"reassoc", "contract", "arcp", "nsz"}
_fast = njit(**INNER | {"fastmath": _FAST})
_GAMMA, _BOUND, _THETA = range(len(STOPS))


@_fast
def move(prior, gradient, gamma, weights):
    """gamma <- prior + weights gradient, weights <- exp psi(gamma); the sum of how far gamma moved."""
    change = gamma.dtype.type(0)
    for k in range(gamma.shape[0] // LANES * LANES):
        new = prior[k] + weights[k] * gradient[k]
        change += abs(new - gamma[k])
        gamma[k] = new
        weights[k] = exp_digamma(new)
    return change


@_fast
def _bound_of(tokens, block, n, known, prior, gamma, weights, n_components):
    """The bound of one document, but for the terms that gamma does not change."""
    mass, words, topics = 0.0, 0.0, 0.0
    for k in range(n_components):
        mass += gamma[k]
    psi_mass = digamma(mass)
    for i in range(n):
        z = spread(weights.dtype.type(0))
        for k in range(0, block.shape[1], LANES):
            z = z + load(weights, k) * load(block, (i, k))
        words += tokens[i] * np.log(total(z))
    for k in range(n_components):
        own = np.float64(gamma[k])
        topics += (prior[k] - own) * (digamma(own) - psi_mass) + lgamma(own)
    return words - known * psi_mass + topics - lgamma(mass)


@inner
def _constant(prior, n_components):
    """The terms of a document's bound that only the prior changes."""
    prior_total, constant = 0.0, 0.0
    for k in range(n_components):
        prior_total += prior[k]
        constant -= lgamma(np.float64(prior[k]))
    return constant + lgamma(prior_total)


@outer
def _infer(
    indptr, words, counts, topic_words, levels, prior, warm, stop, max_iter, tolerance,
    block, tokens, gamma, weights, gradient, stats, gammas,
):  # fmt: skip
    n_docs, n_components = gammas.shape
    limit = tolerance * n_components
    iterations, dropped, prior_total = 0, 0.0, 0.0
    constant = _constant(prior, n_components) if stop == _BOUND else 0.0
    for k in range(n_components):
        prior_total += prior[k]
    start = exp_digamma(gamma.dtype.type(1))
    for d in range(n_docs):
        own = slice(indptr[d], indptr[d + 1])
        n, known, lost = gather_scaled(words[own], counts[own], topic_words, block, tokens)
        dropped += lost
        for k in range(prior.shape[0]):
            gamma[k], weights[k] = 1, start
        if (
            stop == _THETA
        ):  # even gammas have the same weights, whatever their sum: here the sum of all later ones
            limit = tolerance * n_components * (prior_total + known)
            for k in range(n_components):
                gamma[k] = (prior_total + known) / n_components
        for k in range(n_components if warm else 0):
            gamma[k] = gammas[d, k]
            weights[k] = exp_digamma(gamma[k])
        fixed, value = constant, -np.inf
        for i in range(own.start, own.stop if stop == _BOUND else own.start):
            fixed += counts[i] * levels[words[i]]
        for _ in range(max_iter):
            iterations += 1
            mixture_gradient(tokens, block, n, weights, gradient)
            change = move(prior, gradient, gamma, weights)
            if stop == _BOUND:
                before = value
                value = fixed + _bound_of(tokens, block, n, known, prior, gamma, weights, n_components)
                if abs(value - before) < tolerance * abs(before):
                    break
            elif change < limit:
                break
        add_shares(words[own], tokens, block, weights, stats)
        for k in range(n_components):
            gammas[d, k] = gamma[k]
    return iterations, dropped


@njit(**OUTER | {"fastmath": _FAST})
def _put_bounds(indptr, words, counts, topic_words, prior, gammas, bounds):
    """sum_v c_v log(sum_k exp(E log theta_k) W_vk) + E log p(theta) - E log q(theta) of each document."""
    n_components = gammas.shape[1]
    weights = np.zeros(n_components)
    prior_total, constant = 0.0, 0.0
    for k in range(n_components):
        prior_total += prior[k]
        constant -= lgamma(prior[k])
    constant += lgamma(prior_total)
    for d in range(indptr.shape[0] - 1):
        total = 0.0
        for k in range(n_components):
            total += gammas[d, k]
        psi_total = digamma(total)
        bound = constant - lgamma(total)
        for k in range(n_components):
            gamma = np.float64(gammas[d, k])
            weights[k] = exp_digamma(gamma)
            bound += (prior[k] - gamma) * (digamma(gamma) - psi_total) + lgamma(gamma)
        for i in range(indptr[d], indptr[d + 1]):
            row, z = topic_words[words[i]], 0.0
            for k in range(n_components):
                z += weights[k] * row[k]
            if z > 0:
                bound += counts[i] * (np.log(z) - psi_total)
        bounds[d] = bound


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words", (n_words, n_columns), as "expected_log" or, for point estimates of the topics, as "mean".
        If its rows were divided by exp(m_v), arrays["topic_words:shift"] (n_words,) float64 holds m_v; only
        the bound needs it.
    hyper : for its options see `KERNEL`
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts, and stats["doc_topic_prior"] (1, n_columns), the sum
        of E[log theta], if wanted; doc_topics (n_docs, n_components) if wanted; info: "iterations" (all documents),
        "dropped_tokens" (of words that no topic knows), and, if asked for, "bound" in nats: the terms of the evidence
        lower bound that belong to documents.

    Raises
    ------
    SettingError
        When an option has a value that is not allowed.
    """
    gammas, result = posterior(docs, view, hyper)
    return result._replace(doc_topics=means(gammas) if hyper.doc_topics else None)


def posterior(
    docs: Docs, view: View, hyper: Hyper, start: np.ndarray | None = None
) -> tuple[np.ndarray, KernelResult]:
    """gamma of these documents, (n_docs, n_components), with the result of `run` but for the documents' topics.

    `start` (n_docs, n_components) is the gamma to begin with, in place of 1.
    """
    stop, call = one_of(hyper.options, "stop", STOPS), Call(docs, view, hyper, keeps=True)
    gammas = call.doc_topics
    if start is not None:
        gammas[:] = start
    iterations, dropped = _infer(
        *call.inputs,
        _levels(view) if stop == "bound" else np.empty(0),
        # 1 in the padding: its gamma must be positive; its words are zero, so that nothing comes of it
        call.prior(fill=1.0),
        start is not None, STOPS.index(stop), whole_number(hyper.options, "max_doc_update_iter", 1),
        tolerance(hyper.options), *call.block(1, GROUP), *call.vectors(3), *call.outputs,
    )  # fmt: skip
    if call.learns:
        call.stats["doc_topic_prior"] = expected_logs(gammas, call.n_columns)
    info = {"iterations": float(iterations), "dropped_tokens": dropped}
    if hyper.options["bound"]:
        info["bound"] = float(_bounds(docs, view, hyper, gammas).sum())
    return gammas, KernelResult(call.stats, None, None, info)


def document_bounds(docs: Docs, view: View, hyper: Hyper) -> np.ndarray:
    """The terms of the evidence lower bound that belong to each document, float64 (n_docs,), in nats.

    Arguments and errors as for `run`; the option `bound` is ignored.
    """
    gammas, _ = posterior(docs, view, hyper._replace(options={**hyper.options, "bound": False}))
    return _bounds(docs, view, hyper, gammas)


def _bounds(docs: Docs, view: View, hyper: Hyper, gammas: np.ndarray) -> np.ndarray:
    """The same, at these gamma (n_docs, n_components)."""
    topic_words, bounds = view.arrays["topic_words"], np.empty(docs.n_docs)
    inputs = (*csr(docs, topic_words.dtype), frozen(topic_words, topic_words.dtype))
    _put_bounds(*inputs, frozen(hyper.doc_topic_prior, np.float64), gammas, bounds)
    shift = view.arrays.get("topic_words:shift")
    return bounds if shift is None else bounds + sums_of_entries(docs, shift)


def _levels(view: View) -> np.ndarray:
    """What each word adds to the bound, in nats per token, for the factors that its row was divided by; 0 where no
    topic knows it. Float64 (n_words,)."""
    rows = view.arrays["topic_words"]
    highest = rows.max(axis=1).astype(np.float64)
    shift = view.arrays.get("topic_words:shift", 0.0)
    return np.where(highest > 0, np.log(np.where(highest > 0, highest, 1.0)) + shift, 0.0)


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Rows of the words of a document, and gamma of all documents."""
    rows = rows_scratch(size, options).pooled
    return Scratch([*rows, size.n_docs * size.n_components * 4])


KERNEL = Kernel(
    name="vb",
    run=run,
    views={"topic_words": "expected_log"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    posteriors=("topic_words",),
    options={"max_doc_update_iter": 100, "mean_change_tol": 1e-3, "stop": "gamma", "bound": False},
    meanings={
        "max_doc_update_iter": "iterations over a document at most, from 1",
        "mean_change_tol": 'a document stops when what `stop` names is below this: tokens for "gamma", else a share; 0 '
        "makes all iterations",
        "stop": 'what a document stops on: "gamma", its change, mean over topics; "theta", the change of its '
        'shares of topics, mean over topics; "bound", the relative gain of its bound',
        "bound": "whether the bound is computed; on where `tol` compares it",
    },
    cost=doc_update_cost,
    scratch=_scratch,
    bound=Bound(
        "log p(words | alpha, eta), with q(topics) q(theta) q(labels) apart (mean field)",
        {"topic_words": "expected_log"},
        document_bounds,
        {"max_doc_update_iter": 100, "mean_change_tol": 1e-4, "stop": "gamma"},
    ),
    paper="Blei, Ng, Jordan 2003; Hoffman et al. 2013",
)

FURTHER = {
    "vb_mean": replace(
        KERNEL,
        name="vb_mean",
        views={"topic_words": "mean"},
        bound=False,
        posteriors=(),
        paper="Dupuy and Bach 2017",
    ),
}

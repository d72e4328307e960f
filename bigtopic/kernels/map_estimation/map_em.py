"""Expectation maximisation (EM) for the topics of a document, the topics' words held fixed.

Maximises over the simplex, for a prior of at least 1 in every topic, the concave

    f = sum_v c_v log sum_k theta_k W_vk + sum_k (alpha_k - 1) log theta_k

from theta = 1 / K by

    m_k     = theta_k sum_v c_v W_vk / x_v + alpha_k - 1,  x = W theta
    theta_k = m_k / sum(m)

until m moves by less than a tolerance (mean over topics) or an iteration limit. No step lowers f. With alpha = 1 it is
the fold-in of probabilistic latent semantic analysis (PLSA). For alpha < 1 f grows without limit towards every face of
the simplex, so there is nothing to maximise. Statistics: S_vk = sum_d c theta_k W_vk / x_v at the final theta.

How it is computed: the loop keeps m, since a factor of theta changes nothing; each word's row is divided by its maximum
for the same reason. m is at least 1e-20, which keeps products with it normal numbers in float32.

Cost: iterations x 2 x distinct words x topics multiply-adds, no transcendental function.

References: Dempster, Laird, Rubin (1977), "Maximum likelihood from incomplete data via the EM algorithm"; Hofmann
(1999), "Probabilistic latent semantic indexing"; Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for
topic models", equation 13, on the side of the document.
"""

from __future__ import annotations

from numba import njit

from bigtopic.errors import SettingError, argument
from bigtopic.kernels.support.entry import (
    INNER,
    Call,
    State,
    doc_update_cost,
    outer,
    put_shares,
    tolerance,
    whole_number,
)
from bigtopic.kernels.support.rows import GROUP, add_shares, gather_scaled, mixture_gradient, rows_scratch
from bigtopic.kernels.support.vector import LANES
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(**INNER | {"fastmath": _FAST})
def _move(pseudo_counts, floor, gradient, mass):
    """mass <- mass gradient + pseudo_counts, at least `floor`; the sum of how far it moved."""
    change = mass.dtype.type(0)
    for k in range(mass.shape[0] // LANES * LANES):
        new = max(mass[k] * gradient[k] + pseudo_counts[k], floor[k])
        change += abs(new - mass[k])
        mass[k] = new
    return change


@outer
def _infer(
    indptr, words, counts, topic_words, prior, pseudo_counts, floor, max_iter, tolerance,
    block, tokens, mass, gradient, stats, doc_topics,
):  # fmt: skip
    n_components = doc_topics.shape[1]
    wanted = doc_topics.shape[0] > 0
    limit = tolerance * n_components
    added = 0.0
    for k in range(n_components):
        added += pseudo_counts[k]
    iterations, dropped = 0, 0.0
    for d in range(indptr.shape[0] - 1):
        own = slice(indptr[d], indptr[d + 1])
        n, known, lost = gather_scaled(words[own], counts[own], topic_words, block, tokens)
        dropped += lost
        if known == 0:
            if wanted:
                put_shares(prior, doc_topics[d])
            continue
        mass[:] = 0
        mass[:n_components] = (known + added) / n_components
        for _ in range(max_iter):
            iterations += 1
            mixture_gradient(tokens, block, n, mass, gradient)
            if _move(pseudo_counts, floor, gradient, mass) < limit:
                break
        add_shares(words[own], tokens, block, mass, stats)
        if wanted:
            put_shares(mass, doc_topics[d])
    return iterations, dropped


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic)
    hyper : `doc_topic_prior` of at least 1 in every topic; for its options see `KERNEL`
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts; doc_topics (n_docs, n_components) if wanted; info:
        "iterations" (all documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When a topic's prior is below 1, or an option has a value that is not allowed.
    """
    prior = hyper.doc_topic_prior
    if not (prior >= 1).all():
        raise SettingError(
            f"{argument('doc_topic_prior', float(prior.min()))}: kernel 'map_em' needs at least 1 in every topic, "
            f"because the maximum a posteriori does not exist below. Set {argument('doc_topic_prior', 1)} for maximum "
            "likelihood, or choose a method with another kernel (vb, cvb0, gibbs, ope)"
        )
    call, max_iter = Call(docs, view, hyper), whole_number(hyper.options, "max_doc_update_iter", 1)
    iterations, dropped = _infer(
        *call.inputs, call.prior(), call.prior(prior - 1), call.prior(1e-20), max_iter, tolerance(hyper.options),
        *call.block(1, GROUP), *call.vectors(2), *call.outputs,
    )  # fmt: skip
    return call.result({"iterations": iterations, "dropped_tokens": dropped})


KERNEL = Kernel(
    name="map_em",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    options={"max_doc_update_iter": 100, "mean_change_tol": 1e-3},
    meanings={
        "max_doc_update_iter": "iterations over a document at most, from 1",
        "mean_change_tol": "iterations end with one that moves its expected counts by less than this, mean over "
        "topics, in tokens; 0 makes all",
    },
    cost=doc_update_cost,
    scratch=rows_scratch,
    paper="Hofmann 1999; Asuncion et al. 2009",
)

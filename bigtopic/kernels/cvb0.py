"""Collapsed variational inference of order zero (CVB0), with the topics held fixed.

For each distinct word v of a document, with count c and responsibilities r (one vector for all c tokens):

    a_k  = (alpha_k + N_k - r_k) W_vk ;  a <- a / sum(a)
    N_k += c (a_k - r_k) ;  r <- a

N_k = sum_v c_v r_vk. Words are visited in storage order, each sees the newest N, and one token's own share r
is excluded. The first sweep starts from N = 0 and adds the words one after another, so that there is nothing
random. Statistics: S_vk = sum_d c r. Document topics: (alpha_k + N_k) / sum.

Cost: sweeps x distinct words x topics, a few multiply-adds each; no transcendental function.

References: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models", equation 7,
on the side of the document; Foulds et al. (2013), "Stochastic collapsed variational Bayesian inference for
LDA", for fixed expected counts on the side of the words.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic.kernels._shell import csr, frozen, padded_prior, positive, scratch_rows
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]


_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _first_sweep(words, counts, topic_words, block, shares, mass):
    """Add the words one after another to `mass`, and copy their rows to `block`."""
    zero, one = mass.dtype.type(0), mass.dtype.type(1)
    n_columns = mass.shape[0] // 32 * 32
    for i in range(words.shape[0]):
        row, word, share = topic_words[words[i]], block[i], shares[i]
        for k in range(topic_words.shape[1]):
            word[k] = row[k]
        total = zero
        for k in range(n_columns):
            total += mass[k] * word[k]
        # a word that no topic knows has no share
        inverse = one / total if total > 0 else zero
        count = counts[i]
        for k in range(n_columns):
            new = mass[k] * word[k] * inverse
            mass[k] += count * new
            share[k] = new


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _sweep(counts, block, shares, mass):
    """Visit each word once more. Rounding may leave a mass below its share: the difference counts as zero."""
    zero, one = mass.dtype.type(0), mass.dtype.type(1)
    n_columns = mass.shape[0] // 32 * 32
    for i in range(counts.shape[0]):
        word, share = block[i], shares[i]
        total = zero
        for k in range(n_columns):
            total += max(mass[k] - share[k], zero) * word[k]
        inverse = one / total if total > 0 else zero
        count = counts[i]
        for k in range(n_columns):
            old = share[k]
            new = max(mass[k] - old, zero) * word[k] * inverse
            mass[k] += count * (new - old)
            share[k] = new


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _infer(
    indptr,
    words,
    counts,
    topic_words,
    prior,
    max_sweeps,
    tolerance,
    block,
    shares,
    scratch,
    stats,
    doc_topics,
):
    n_components = doc_topics.shape[1]
    mass, before = scratch
    limit = tolerance * n_components
    sweeps, dropped = 0, 0.0
    for d in range(indptr.shape[0] - 1):
        own_words = words[indptr[d] : indptr[d + 1]]
        own_counts = counts[indptr[d] : indptr[d + 1]]
        for k in range(prior.shape[0]):
            mass[k] = prior[k]
        _first_sweep(own_words, own_counts, topic_words, block, shares, mass)
        sweeps += 1
        for _ in range(1, max_sweeps):
            for k in range(n_components):
                before[k] = mass[k]
            _sweep(own_counts, block, shares, mass)
            sweeps += 1
            change = 0.0
            for k in range(n_components):
                change += abs(mass[k] - before[k])
            if change < limit:
                break
        # summed anew: the mass of a sweep is a sum of differences and has rounding errors of its largest value
        for k in range(prior.shape[0]):
            mass[k] = prior[k]
        for i in range(own_words.shape[0]):
            count, share, out = own_counts[i], shares[i], stats[own_words[i]]
            explained = prior.dtype.type(0)
            for k in range(stats.shape[1]):
                tokens = count * share[k]
                out[k] += tokens
                mass[k] += tokens
                explained += tokens
            if explained == 0:
                dropped += count
        for k in range(n_components):
            doc_topics[d, k] = mass[k]
    return sweeps, dropped


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic)
    hyper : options `max_doc_update_iter` (sweeps, at least 1) and `mean_change_tol` (stop when a sweep moves
        the expected counts of a document by less than this, mean over topics, in tokens; 0 does all sweeps)
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts; doc_topics (n_docs, n_components);
        info: "iterations" (sweeps, all documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When `max_doc_update_iter` is less than 1.
    """
    topic_words = view.arrays["topic_words"]
    dtype, n_components = topic_words.dtype, hyper.n_components
    block = scratch_rows(docs, topic_words.shape[1], dtype)
    stats = np.zeros(topic_words.shape, dtype)
    doc_topics = np.empty((docs.n_docs, n_components), dtype)
    sweeps, dropped = _infer(
        *csr(docs, dtype),
        frozen(topic_words, dtype),
        padded_prior(hyper.doc_topic_prior, block.shape[1], dtype),
        positive(hyper.options, "max_doc_update_iter"),
        float(hyper.options["mean_change_tol"]),
        block,
        np.empty_like(block),
        (np.empty(block.shape[1], dtype), np.empty(n_components, dtype)),
        stats,
        doc_topics,
    )
    doc_topics /= doc_topics.sum(axis=1, keepdims=True)
    info = {"iterations": float(sweeps), "dropped_tokens": dropped}
    return KernelResult({"topic_words": stats}, doc_topics, None, info)


KERNEL = Kernel(
    name="cvb0",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    options={"max_doc_update_iter": 5, "mean_change_tol": 0.0},
    paper="Asuncion et al. 2009; Foulds et al. 2013",
)

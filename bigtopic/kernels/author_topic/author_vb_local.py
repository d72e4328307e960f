"""Blocking variational Bayes for the author-topic model, with authors that each document moves before it is counted.

A minibatch says little of its authors while their topics are alike. So each document d has an own gamma of its authors,
which begins with theirs and moves as if all |D_a| documents of author a were like d, until it rests:

    gamma_dak = (1 - rho) gamma_ak + rho (alpha_k + |D_a| e_dak sum_v (c_dv / Z_dv) W_vk),    rho = (tau + t)^-kappa
    e_dak = exp E[log theta_dak],    s_dk = sum_a e_dak,    Z_dv = sum_k s_dk W_vk

Statistics are as in `author_vb`, with the e from before the last of these moves, so that the scheme's own step with
them is that move: of one document, both are Algorithm 2 of the thesis with M steps, M - 1 of them here if it does not
rest earlier. Later updates t move the authors of a document less, and in the end not at all, so that both kernels have
the same fixed points.

Cost: distinct words x topics x iterations, 2 multiply-adds each; authors x topics x iterations, an exp(digamma) each.

References: Mortensen (2017), "The author-topic model", algorithm 2, which moves gamma and topics document by document.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.author_topic.author_vb import BOUND
from bigtopic.kernels.support.authors import author_documents, signed_inputs
from bigtopic.kernels.support.entry import (
    INNER,
    State,
    doc_update_cost,
    frozen,
    inner,
    outer,
    padded_prior,
    step_size,
    tolerance,
    whole_number,
)
from bigtopic.kernels.support.math import exp_digamma
from bigtopic.kernels.support.rows import GROUP, add_shares, gather_scaled, mixture_gradient, rows_scratch
from bigtopic.kernels.support.vector import LANES, larger, largest, load, spread, store
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

_FAST = {"reassoc", "nsz", "contract"}  # sums are reordered
_fast = njit(**INNER | {"fastmath": _FAST})

_LEAST = 1e-30  # of e, where the largest is 1: products with it are normal numbers
# Of an author's gamma: with less, topics at the least exp_digamma would outweigh other authors.
_LEAST_TOTAL = 0.05


@_fast
def _weigh(gamma, own, shared):
    """Fill e of all authors, divided by their largest, and s."""
    n_authors, one = gamma.shape[0], shared.dtype.type(1)
    zero, least = spread(one - one), spread(shared.dtype.type(_LEAST))
    most = zero
    for i in range(n_authors):
        whole = 0.0
        for k in range(gamma.shape[1] // LANES * LANES):
            whole += gamma[i, k]
        factor = shared.dtype.type(1.0 / exp_digamma(max(whole, _LEAST_TOTAL)))
        for k in range(gamma.shape[1] // LANES * LANES):
            own[i, k] = factor * exp_digamma(gamma[i, k])
        for k in range(0, shared.shape[0], LANES):
            most = larger(most, load(own, (i, k)))
    inverse = spread(one / largest(most))
    for k in range(0, shared.shape[0], LANES):
        sums = zero
        for i in range(n_authors):
            part = larger(inverse * load(own, (i, k)), least)
            store(own, (i, k), part)
            sums = sums + part
        store(shared, k, sums)


@inner
def _begin(start, who, prior, rate, rest, gamma):
    """Fill gamma of a document's authors, and what of their next gamma does not depend on the document."""
    for i in range(who.shape[0]):
        for k in range(gamma.shape[1] // LANES * LANES):
            gamma[i, k] = start[who[i], k]
            rest[i, k] = (1 - rate) * start[who[i], k] + rate * prior[k]


@_fast
def _move(rest, who, documents, rate, own, gradient, gamma):
    """Move gamma of a document's authors; returns how far."""
    moved = gamma.dtype.type(0)
    for i in range(who.shape[0]):
        factor = rate * documents[who[i], 0]
        for k in range(gamma.shape[1] // LANES * LANES):
            new = rest[i, k] + factor * own[i, k] * gradient[k]
            moved += abs(new - gamma[i, k])
            gamma[i, k] = new
    return moved


@outer
def _infer(
    indptr, words, counts, author_indptr, authors, topic_words, start, documents, prior, rate, max_iter, limit,
    block, tokens, gamma, rest, own, shared, gradient, by_word, by_author,
):  # fmt: skip
    dropped, iterations = 0.0, 0
    for d in range(indptr.shape[0] - 1):
        entries = slice(indptr[d], indptr[d + 1])
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        if entries.start == entries.stop:
            continue
        n, _, lost = gather_scaled(words[entries], counts[entries], topic_words, block, tokens)
        dropped += lost
        n_authors = who.shape[0]
        _begin(start, who, prior, rate, rest, gamma)
        for iteration in range(max_iter + 1):
            _weigh(gamma[:n_authors], own, shared)
            mixture_gradient(tokens, block, n, shared, gradient)
            if iteration == max_iter:
                break
            iterations += 1
            if _move(rest, who, documents, rate, own, gradient, gamma) < limit * n_authors:
                break
        add_shares(words[entries], tokens, block, shared, by_word)
        for i in range(n_authors):
            for k in range(0, shared.shape[0], LANES):
                part = load(own, (i, k)) * load(gradient, k)
                store(by_author, (who[i], k), load(by_author, (who[i], k)) + part)
    return dropped, iterations


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Statistics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; each that has tokens has authors, without repetitions
    view : "topic_words", (n_words, n_columns), as "expected_log"; "author_topics", (n_authors, n_columns), and
        "author_documents", (n_authors, any), whose first column is the number of documents, as "counts"
    hyper : `step` is t; for its options see `KERNEL`
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns) and stats["author_topics"] (n_authors, n_columns), expected counts;
        stats["author_documents"] in the shape of the view, documents of each author, if wanted; doc_topics None,
        because the kernel `author_documents` infers them; info: "dropped_tokens" (of words that no topic knows) and
        "iterations", of all documents together.

    Raises
    ------
    InputError
        When a document has tokens and no author.
    SettingError
        When an option has a value that is not allowed.
    """
    inputs, most = signed_inputs(docs, view)
    (n_words, n_columns), dtype = inputs[-1].shape, inputs[-1].dtype
    weights, documents = (frozen(view.arrays[name], dtype) for name in ("author_topics", "author_documents"))
    decay, offset = step_size(hyper.options, "local", "updates")
    n_rows = int(np.diff(docs.indptr).max(initial=0)) + GROUP
    by_author, by_word = buffers.zeros(weights.shape, dtype), buffers.zeros((n_words, n_columns), dtype)
    dropped, iterations = _infer(
        *inputs, weights, documents, padded_prior(hyper.doc_topic_prior, n_columns, dtype),
        dtype.type((offset + hyper.step) ** -decay), whole_number(hyper.options, "max_doc_update_iter", 1),
        tolerance(hyper.options) * hyper.n_components, buffers.empty((n_rows, n_columns), dtype),
        np.empty(n_rows, dtype), *buffers.empty((3, most, n_columns), dtype), *buffers.empty((2, n_columns), dtype),
        by_word, by_author,
    )  # fmt: skip
    stats = {"topic_words": by_word, "author_topics": by_author}
    if "author_documents" in hyper.statistics:
        stats["author_documents"] = np.zeros(documents.shape, np.float32)
        stats["author_documents"][:, :1] = author_documents(docs)
    return KernelResult(stats, None, None, {"dropped_tokens": dropped, "iterations": float(iterations)})


KERNEL = Kernel(
    name="author_vb_local",
    run=run,
    views={"topic_words": "expected_log", "author_topics": "counts", "author_documents": "counts"},
    statistics={"topic_words": "word", "author_topics": "author"},
    offers={"author_documents": "author"},
    posteriors=("topic_words", "author_topics"),
    options={"max_doc_update_iter": 50, "mean_change_tol": 1e-3, "local_decay": 0.55, "local_offset": 1.0},
    meanings={
        "max_doc_update_iter": "iterations over a document at most, from 1",
        "mean_change_tol": "iterations end with one that moves its authors by less than this, mean over topics, in "
        "tokens; 0 makes all",
        "local_decay": "of the step by which a document moves its authors, above 0 and at most 1; in the literature "
        "kappa",
        "local_offset": "of the step by which a document moves its authors, in updates, from 0; in the literature tau",
    },
    cost=doc_update_cost,
    scratch=rows_scratch,
    bound=BOUND,
    paper="Mortensen 2017",
)

"""Blocking variational Bayes for the author-topic model, with authors that each document moves before it is counted.

A minibatch says little of its authors while their topics are alike. So each document d has an own gamma of its authors,
which begins with theirs and moves as if all |D_a| documents of author a were like d, until it rests:

    gamma_dak = (1 - rho) gamma_ak + rho (alpha_k + |D_a| e_dak sum_v (c_dv / Z_dv) W_vk),    rho = (tau + t)^-kappa
    e_dak = exp E[log theta_dak],    s_dk = sum_a e_dak,    Z_dv = sum_k s_dk W_vk

Statistics are those of `author_vb` with the last e. Later updates t move the authors of a document less, and in the end
not at all, so that both kernels have the same fixed points.

Cost: distinct words x topics x iterations, 2 multiply-adds each; authors x topics x iterations, an exp(digamma) each.

References: Mortensen (2017), "The author-topic model", algorithm 2, which moves gamma and topics document by document.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.author_topic.support.lists import author_documents, author_lists
from bigtopic.kernels.support.entry import INNER, OUTER, csr, doc_update_cost, frozen, whole_number
from bigtopic.kernels.support.math import digamma, exp_digamma
from bigtopic.kernels.support.rows import GROUP, add_shares, gather_scaled, mixture_gradient, rows_scratch
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

_LEAST = 1e-30  # of e, where the largest is 1: products with it are normal numbers


@njit(**INNER)
def _weigh(gamma, logs, own, shared):
    """Fill e of all authors, divided by their largest, and s."""
    n_authors, n = gamma.shape
    most = 0.0
    for i in range(n_authors):
        whole = 0.0
        for k in range(n):
            whole += gamma[i, k]
        factor = np.exp(-digamma(whole))
        for k in range(n):
            logs[i, k] = factor * exp_digamma(gamma[i, k])
            most = max(most, logs[i, k])
    shared[:] = 0
    for i in range(n_authors):
        for k in range(n):
            own[i, k] = max(logs[i, k] / most, _LEAST)
            shared[k] += own[i, k]


@njit(**INNER)
def _move(start, who, documents, prior, rate, own, gradient, gamma):
    """Move gamma of a document's authors; returns how far."""
    moved = 0.0
    for i in range(who.shape[0]):
        rows = np.float64(documents[who[i], 0])
        for k in range(gamma.shape[1]):
            new = prior[k] + rows * own[i, k] * gradient[k]
            new = (1.0 - rate) * start[who[i], k] + rate * new
            moved += abs(new - gamma[i, k])
            gamma[i, k] = new
    return moved


@njit(**OUTER)
def _infer(
    indptr, words, counts, author_indptr, authors, topic_words, start, documents, prior, rate, max_iter, tolerance,
    block, tokens, gamma, logs, own, shared, gradient, by_word, by_author,
):  # fmt: skip
    dropped, iterations = 0.0, 0
    for d in range(indptr.shape[0] - 1):
        entries = slice(indptr[d], indptr[d + 1])
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        if entries.start == entries.stop:
            continue
        n, _, lost = gather_scaled(words[entries], counts[entries], topic_words, block, tokens)
        dropped += lost
        n_authors, limit = who.shape[0], tolerance * who.shape[0] * gamma.shape[1]
        for i in range(n_authors):
            for k in range(gamma.shape[1]):
                gamma[i, k] = start[who[i], k]
        moved = np.inf
        for iteration in range(max_iter + 1):
            _weigh(gamma[:n_authors], logs, own, shared)
            mixture_gradient(tokens, block, n, shared, gradient)
            if iteration == max_iter or moved < limit:
                break
            iterations += 1
            moved = _move(start, who, documents, prior, rate, own, gradient, gamma)
        add_shares(words[entries], tokens, block, shared, by_word)
        for i in range(n_authors):
            for k in range(gamma.shape[1]):
                by_author[who[i], k] += own[i, k] * gradient[k]
    return dropped, iterations


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Statistics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; each that has tokens has authors, without repetitions
    view : "topic_words", (n_words, n_columns), as "expected_log"; "author_topics", (n_authors, n_columns), and
        "author_documents", (n_authors, any), whose first column is the number of documents, as "counts"
    hyper : options `max_doc_update_iter` (of a document, at least 1), `mean_change_tol` (mean change of its gamma below
        which a document rests), `local_decay` and `local_offset` (kappa and tau); `step` is t
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
        When `max_doc_update_iter` is not a whole number of at least 1.
    """
    topic_words, n = view.arrays["topic_words"], hyper.n_components
    dtype, n_columns = topic_words.dtype, topic_words.shape[1]
    author_indptr, authors, most = author_lists(docs)
    n_rows = int(np.diff(docs.indptr).max(initial=0)) + GROUP
    by_author = buffers.zeros(view.arrays["author_topics"].shape, dtype)
    by_word = buffers.zeros(topic_words.shape, dtype)
    dropped, iterations = _infer(
        *csr(docs, dtype),
        author_indptr,
        authors,
        frozen(topic_words, dtype),
        frozen(view.arrays["author_topics"], dtype),
        frozen(view.arrays["author_documents"], dtype),
        frozen(hyper.doc_topic_prior, np.float64),
        float((hyper.options["local_offset"] + hyper.step) ** -hyper.options["local_decay"]),
        whole_number(hyper.options, "max_doc_update_iter", 1),
        float(hyper.options["mean_change_tol"]),
        buffers.empty((n_rows, n_columns), dtype),
        np.empty(n_rows, dtype),
        np.empty((most, n)),
        np.empty((most, n)),
        np.empty((most, n), dtype),
        buffers.empty((n_columns,), dtype),
        buffers.empty((n_columns,), dtype),
        by_word,
        by_author,
    )
    stats = {"topic_words": by_word, "author_topics": by_author}
    if "author_documents" in hyper.statistics:
        stats["author_documents"] = np.zeros(view.arrays["author_documents"].shape, np.float32)
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
    cost=doc_update_cost,
    scratch=rows_scratch,
    paper="Mortensen 2017",
)

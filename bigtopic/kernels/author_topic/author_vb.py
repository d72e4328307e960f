"""Blocking variational Bayes for the author-topic model: author and topic of a token are inferred together.

q(author a, topic k | word v of document d) is in proportion to e_ak W_vk over the authors a of d, where e and W are exp
of the expected logarithms of the authors' topics and of the topics' words, both held fixed:

    s_dk = sum_a e_ak,    Z_dv = sum_k s_dk W_vk
    S_ak = sum_d e_ak sum_v (c_dv / Z_dv) W_vk           (documents d of author a)
    S_vk = sum_d (c_dv / Z_dv) s_dk W_vk

Nothing of size authors x topics is kept of a token, and one call is enough: the optimum follows from e and W alone.
So a pass over the corpus after which both arrays are replaced is coordinate ascent, in any slices. Every token is
counted once among the words and once among the authors. Each row of e and W may have its own factor: factors of W
change nothing, and factors of e are evened out in each document.

Cost: 3 x distinct words x topics + authors of the document x topics multiply-adds, and nothing else.

References: Mortensen (2017), "The author-topic model", section 3.2, in which the sums over authors are not factorised;
Rosen-Zvi, Griffiths, Steyvers, Smyth (2004), "The author-topic model for authors and documents".

The kernel `author_vb_mean` is zero-order collapsed inference: means in place of exp E[log].

Topics and authors are fixed during a call. It is `author_vb` with e_ak = p(topic k | author a) and
W_vk = p(word v | topic k), the posterior means:

    q(author a, topic k | word v)  ~  (n_ak + alpha_k) / (n_a + sum alpha)  (n_vk + eta_v) / (n_k + sum eta)

exp E[log theta] of an author of few tokens is next to nothing but in the topics that happen to lead: while topics are
still alike, variational Bayes so fixes authors to topics by chance. Means leave them open until topics differ. No
token is taken out of the counts, which an update by minibatches does not have of its tokens alone. They are expected
counts, and not parameters of posteriors: no prior is learned from them, see docs/decisions/learned-priors.md.

References: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models" (zero order); Foulds,
Boyles, DuBois, Smyth, Welling (2013), "Stochastic collapsed variational Bayesian inference for LDA" (by minibatches).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bigtopic.kernels.support.authors import signed_inputs, signed_result
from bigtopic.kernels.support.entry import State, frozen, inner, outer, sums_of_entries
from bigtopic.kernels.support.rows import AHEAD
from bigtopic.kernels.support.vector import LANES, larger, load, prefetch, spread, store, total
from bigtopic.types import Bound, Docs, Hyper, Kernel, KernelResult, View

__all__ = ["BOUND", "FURTHER", "KERNEL", "document_bounds", "run"]

# The least weight of a topic for an author: products with it, and their inverses, are normal numbers.
_LEAST = {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-290}


@inner
def _gather_authors(authors, author_topics, shifts, least, own, shared):
    """Rows of these authors to `own`, with the factors of the document's largest; `shared` is their sum.

    Returns the logarithm of the factor that all of them lack.
    """
    level = shifts[authors[0]]
    for a in authors:
        level = max(level, shifts[a])
    shared[:] = 0
    for i in range(authors.shape[0]):
        factor = spread(shared.dtype.type(np.exp(shifts[authors[i]] - level)))
        for k in range(0, shared.shape[0], LANES):
            part = larger(factor * load(author_topics, (authors[i], k)), spread(least))
            store(own, (i, k), part)
            store(shared, k, load(shared, k) + part)
    return level


@inner
def _share_words(words, counts, topic_words, shared, gradient, by_word, with_bound):
    """Count a document's tokens among its words; gradient_k <- sum_v (c_v / Z_v) W_vk.

    Returns the tokens of words that some topic knows, and the sum of c_v log Z_v over these.
    """
    known, logs, zero = 0.0, 0.0, spread(shared.dtype.type(0))
    for k in range(0, gradient.shape[0], LANES):
        store(gradient, k, zero)
    for i in range(words.shape[0]):
        word, ahead = words[i], words[min(i + AHEAD, words.shape[0] - 1)]
        whole = zero
        for k in range(0, shared.shape[0], LANES):
            prefetch(topic_words, ahead, k)
            whole = whole + load(shared, k) * load(topic_words, (word, k))
        z = total(whole)
        if z > 0:
            known += counts[i]
            logs += counts[i] * np.log(np.float64(z)) if with_bound else 0.0
            ratio = spread(counts[i] / z)
            for k in range(0, shared.shape[0], LANES):
                part = ratio * load(topic_words, (word, k))
                store(gradient, k, load(gradient, k) + part)
                store(by_word, (word, k), load(by_word, (word, k)) + load(shared, k) * part)
    return known, logs


@outer
def _infer(
    indptr, words, counts, author_indptr, authors, topic_words, author_topics, shifts, least, with_bound,
    own, shared, gradient, by_word, by_author, bounds,
):  # fmt: skip
    dropped = 0.0
    for d in range(indptr.shape[0] - 1):
        entries = slice(indptr[d], indptr[d + 1])
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        if entries.start == entries.stop:
            continue
        level = _gather_authors(who, author_topics, shifts, least, own, shared)
        known, logs = _share_words(
            words[entries], counts[entries], topic_words, shared, gradient, by_word, with_bound
        )
        bounds[d] = logs + known * (level - np.log(who.shape[0]))
        for i in range(entries.start, entries.stop):
            dropped += counts[i]
        dropped -= known
        for i in range(who.shape[0]):
            for k in range(0, shared.shape[0], LANES):
                part = load(own, (i, k)) * load(gradient, k)
                store(by_author, (who[i], k), load(by_author, (who[i], k)) + part)
    return dropped


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Statistics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; each that has tokens has authors, without repetitions
    view : "topic_words", (n_words, n_columns), and "author_topics", (n_authors, n_columns), as "expected_log", or, for
        point estimates, as "mean". Logarithms of factors that rows were divided by are in
        arrays["topic_words:shift"] (n_words,) and arrays["author_topics:shift"] (n_authors,), float64
    hyper : for its options see `KERNEL`
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns) and stats["author_topics"] (n_authors, n_columns), expected counts;
        stats["author_documents"] (n_authors, 1), documents of each author, if wanted; doc_topics None, because the
        kernel `author_documents` infers them; info: "dropped_tokens" (of words that no topic knows), and, if asked
        for, "bound" in nats: the terms of the evidence lower bound that belong to documents.

    Raises
    ------
    InputError
        When a document has tokens and no author.
    """
    wanted = bool(hyper.options.get("bound", False))  # without an option, there is no bound
    stats, bounds, dropped = _inferred(docs, view, wanted)
    return signed_result(docs, hyper, stats, {"dropped_tokens": dropped}, bounds if wanted else None)


def document_bounds(docs: Docs, view: View, hyper: Hyper | None = None) -> np.ndarray:
    """The terms of the evidence lower bound that belong to each document, float64 (n_docs,), in nats.

    With both arrays as "mean", the log probability of each document given its authors. Arguments and errors as for
    `run`; `hyper` is unused.
    """
    return _inferred(docs, view, with_bound=True)[1]


def _inferred(docs: Docs, view: View, with_bound: bool) -> tuple[dict[str, np.ndarray], np.ndarray, float]:
    """Statistics, bounds of documents, and tokens of words that no topic knows."""
    inputs, most = signed_inputs(docs, view)
    (n_words, n_columns), dtype = inputs[-1].shape, inputs[-1].dtype
    author_topics = frozen(view.arrays["author_topics"], dtype)
    shifts = frozen(view.arrays.get("author_topics:shift", np.zeros(docs.n_authors)), np.float64)
    by_word, by_author = np.zeros((n_words, n_columns), dtype), np.zeros(author_topics.shape, dtype)
    bounds = np.zeros(docs.n_docs)
    dropped = _infer(
        *inputs, author_topics, shifts, dtype.type(_LEAST[dtype]), with_bound,
        np.empty((most, n_columns), dtype), *np.empty((2, n_columns), dtype), by_word, by_author, bounds,
    )  # fmt: skip
    shift = view.arrays.get("topic_words:shift")
    if with_bound and shift is not None:
        bounds += sums_of_entries(docs, shift)
    return {"topic_words": by_word, "author_topics": by_author}, bounds, dropped


_VIEWS = {"topic_words": "expected_log", "author_topics": "expected_log"}
BOUND = Bound(
    "log p(words | authors, alpha, eta), with author and topic of a token together (blocking)",
    _VIEWS,
    document_bounds,
)

KERNEL = Kernel(
    name="author_vb",
    run=run,
    views=_VIEWS,
    statistics={"topic_words": "word", "author_topics": "author"},
    offers={"author_documents": "author"},
    posteriors=("topic_words", "author_topics"),
    options={"bound": False},
    meanings={
        "bound": "whether the bound is computed; on where `tol` compares it",
    },
    bound=BOUND,
    paper="Mortensen 2017",
)

FURTHER = {
    "author_vb_mean": replace(
        KERNEL,
        name="author_vb_mean",
        views={"topic_words": "mean", "author_topics": "mean"},
        options={},
        meanings={},
        bound=False,
        posteriors=(),
        paper="Asuncion et al. 2009; Foulds et al. 2013",
    ),
}

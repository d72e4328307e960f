"""Collapsed variational Bayes of second order for the author-topic model, with responsibilities that are kept.

For each distinct word v of a document d, with count c and responsibilities r of its authors a and the topics k, and
with sums over the other tokens of expected counts m and of their variances s:

    q_ak  prop. to  (eta_v + m_vk) / (sum_v eta_v + m_k) x (alpha_k + m_ak) / (sum_k alpha_k + m_a)
                    exp( - s_vk / 2 (eta_v + m_vk)^2 + s_k / 2 (sum_v eta_v + m_k)^2
                         - s_ak / 2 (alpha_k + m_ak)^2 + s_a / 2 (sum_k alpha_k + m_a)^2 )

then r <- q, and m and s follow. The variance of a count is the sum of p (1 - p) over tokens, where p is the probability
that the token is in this count: the sum of r_ak over authors for s_vk and s_k, over topics for s_a, and r_ak itself for
s_ak alone. The exponent is kept between -30 and 30: it is far below where a count is small and uncertain. Without it
this is the kernel `author_cvb0`, which says in which order entries are visited, what slices see of each other and how
documents begin. Where each document has an author of its own, it is the kernel `cvb`. Statistics: by how much expected
counts and their variances have changed.

Cost: entries x topics x authors of the document, three divisions and an exponential each. Space: entries x topics x
`most_authors` numbers on disk, twice.

References: Mortensen (2017), "The author-topic model", appendix B, whose text has another sign for the variances than
its equation B.5, which is right; Teh, Newman, Welling (2007), "A collapsed variational Bayesian inference algorithm for
latent Dirichlet allocation", equation 18.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic.kernels.author_topic.support.counts import counts_of, moved
from bigtopic.kernels.author_topic.support.shares import authors_within, begin, remembered_shares, shares_of
from bigtopic.kernels.support.entry import INNER, OUTER, csr, frozen, whole_number
from bigtopic.kernels.support.math import fast_exp
from bigtopic.kernels.support.random import key
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_FLOOR = 1e-10  # of a count with its prior: what rounding leaves of it is less
_LEAST, _MOST = -30.0, 30.0  # of the exponent

_AXES = {
    "topic_words": "word",
    "topic_word_variances": "word",
    "author_topics": "author",
    "author_topic_variances": "author",
    "author_variances": "author",
}


@njit(**INNER)
def _variance(share):
    return share * (1.0 - share)


@njit(**INNER)
def _doubt(variance, count):
    """By how much the logarithm of an uncertain count is below that of its mean."""
    return 0.5 * max(variance, 0.0) / (count * count)


@njit(**INNER)
def _count(
    by, share, of_topic, of_author, word, who, word_counts, word_variances, totals, total_variances,
    author_counts, author_variances, author_totals, author_total_variances,
):  # fmt: skip
    """Add `by` times these shares, (n_authors, n_components), and their variances to all sums."""
    for k in range(totals.shape[0]):
        part, doubt = by * of_topic[k], by * _variance(of_topic[k])
        word_counts[word, k] += part
        totals[k] += part
        word_variances[word, k] += doubt
        total_variances[k] += doubt
    for i in range(who.shape[0]):
        for k in range(totals.shape[0]):
            author_counts[who[i], k] += by * share[i, k]
            author_variances[who[i], k] += by * _variance(share[i, k])
        author_totals[who[i]] += by * of_author[i]
        author_total_variances[who[i], 0] += by * _variance(of_author[i])


@njit(**OUTER)
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, seed, new, remembered, word_counts, word_variances, totals,
    total_variances, author_counts, author_variances, author_totals, author_total_variances,
    share, of_topic, of_author, fresh, factors, doubts,
):  # fmt: skip
    n = totals.shape[0]
    for d in range(rows.shape[0] if new else 0):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        begin(indptr[d], indptr[d + 1], key(seed, rows[d]), who.shape[0], remembered)
        for i in range(indptr[d], indptr[d + 1]):
            shares_of(remembered[i], who.shape[0], share, of_topic, of_author)
            _count(
                counts[i], share, of_topic, of_author, words[i], who, word_counts, word_variances, totals,
                total_variances, author_counts, author_variances, author_totals, author_total_variances,
            )  # fmt: skip
    for d in range(rows.shape[0]):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        for i in range(indptr[d], indptr[d + 1]):
            word, row, whole = words[i], remembered[i], 0.0
            known = shares_of(row, who.shape[0], share, of_topic, of_author)
            for k in range(n):
                own = _variance(of_topic[k])
                left = max(word_counts[word, k] - of_topic[k], _FLOOR)
                of_all = max(totals[k] - of_topic[k], left)
                factors[k] = left / of_all
                doubts[k] = _doubt(total_variances[k] - own, of_all)
                doubts[k] -= _doubt(word_variances[word, k] - own, left)
            for a in range(who.shape[0]):
                of_all = max(author_totals[who[a]] - of_author[a], _FLOOR)
                certain = _doubt(author_total_variances[who[a], 0] - _variance(of_author[a]), of_all)
                for k in range(n):
                    left = max(author_counts[who[a], k] - share[a, k], _FLOOR)
                    doubt = _doubt(author_variances[who[a], k] - _variance(share[a, k]), left)
                    power = fast_exp(min(max(doubts[k] + certain - doubt, _LEAST), _MOST))
                    fresh[a, k] = factors[k] * (left / of_all) * power
                    whole += fresh[a, k]
            by = -counts[i] if known > 0 else 0.0
            _count(
                by, share, of_topic, of_author, word, who, word_counts, word_variances, totals,
                total_variances, author_counts, author_variances, author_totals, author_total_variances,
            )  # fmt: skip
            for a in range(who.shape[0]):
                for k in range(n):
                    row[a, k] = fresh[a, k] / whole
            shares_of(row, who.shape[0], share, of_topic, of_author)
            _count(
                counts[i], share, of_topic, of_author, word, who, word_counts, word_variances, totals,
                total_variances, author_counts, author_variances, author_totals, author_total_variances,
            )  # fmt: skip


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Update the responsibilities of these documents once; see the module.

    Parameters
    ----------
    docs : the documents, counts may be weights; each that has tokens has authors, without repetitions
    view : as "counts": "topic_words" and "author_topics" as for `author_cvb0`, and the variances
        "topic_word_variances" (n_words, n_columns), with its totals, "author_topic_variances" (n_authors, n_columns)
        and "author_variances", in the first column; what `state` says is among them
    hyper : option `most_authors` (of a document)
    seed : with a document's source row, the key of its start
    state : "shares" float32 (n_entries, most_authors, n_components), zeros of entries that are not counted yet; None
        for documents that are new

    Returns
    -------
    KernelResult
        stats, by how much the arrays of the view have changed; doc_topics None, because the kernel `author_documents`
        infers them; state["shares"]; no info.

    Raises
    ------
    InputError
        When a document has tokens and no author, or more than `most_authors`.
    SettingError
        When `most_authors` is not a whole number of at least 1.
    """
    n, room = hyper.n_components, whole_number(hyper.options, "most_authors", 1)
    author_indptr, authors = authors_within(docs, room)
    remembered = remembered_shares(docs, room, n, state)
    sums = counts_of(view, _AXES)
    word_counts, word_variances, author_counts, author_variances, author_total_variances = sums
    totals, total_variances = (
        view.totals[name][:n].astype(np.float64) for name in ("topic_words", "topic_word_variances")
    )
    _sweep(
        *csr(docs, np.dtype(np.float64)),
        frozen(docs.rows, np.int64),
        author_indptr,
        authors,
        int(seed),
        state is None,
        remembered,
        word_counts,
        word_variances,
        totals,
        total_variances,
        author_counts,
        author_variances,
        author_counts[:, :n].sum(axis=1),
        author_total_variances,
        np.empty((room, n)),
        np.empty(n),
        np.empty(room),
        np.empty((room, n)),
        np.empty(n),
        np.empty(n),
    )
    return KernelResult(moved(sums, view, _AXES), None, {"shares": remembered}, {})


KERNEL = Kernel(
    name="author_cvb",
    run=run,
    views=dict.fromkeys(_AXES, "counts"),
    statistics=_AXES,
    options={"most_authors": 4},
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("most_authors", "n_components"))},
    dtype="float64",
    changes=tuple(_AXES),
    paper="Mortensen 2017; Teh, Newman, Welling 2007",
)

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
documents begin. Where each document has its own author, it is the kernel `cvb`. Statistics: by how much expected
counts and their variances have changed.

Cost: entries x topics x authors of the document, three divisions and an exponential each. Space: entries x topics x
`most_authors` numbers on disk, twice.

References: Mortensen (2017), "The author-topic model", appendix B, whose text has another sign for the variances than
its equation B.5, which is right; Teh, Newman, Welling (2007), "A collapsed variational Bayesian inference algorithm for
latent Dirichlet allocation", equation 18.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.authors import (
    FAST,
    begin,
    collapsed_inputs,
    counts_of,
    moved,
    remember,
    remember_no_more,
    shares_of,
    sums_of,
)
from bigtopic.kernels.support.entry import (
    INLINE,
    INNER,
    UNCOUNTED,
    State,
)
from bigtopic.kernels.support.math import fast_exp
from bigtopic.kernels.support.random import key
from bigtopic.kernels.support.vector import prefetch
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_fast = njit(**INNER | {"fastmath": FAST})

_AHEAD, _LINE = 2, 8  # entries, and numbers in a cache line
_FLOOR = 1e-10  # of a count with its prior: what rounding leaves of it is less
_LEAST, _MOST = -30.0, 30.0  # of the exponent

_AXES = {
    "topic_words": "word",
    "topic_word_variances": "word",
    "author_topics": "author",
    "author_topic_variances": "author",
    "author_variances": "author",
}


# Each loop writes to one array or two, of rows by themselves: the compiler makes vectors only where few may overlap.


@njit(**INLINE | {"fastmath": FAST})
def _variance(share):
    return share * (1.0 - share)


@_fast
def _doubt(variance, inverse):
    """By how much the logarithm of an uncertain count is below log of its mean, which is 1 / `inverse`."""
    return 0.5 * max(variance, 0.0) * (inverse * inverse)


@_fast
def _change(count, old, new, counts, variances):
    """Move a row of counts and their variances from old shares to new ones."""
    for k in range(old.shape[0]):
        counts[k] += count * (new[k] - old[k])
    for k in range(old.shape[0]):
        variances[k] += count * (_variance(new[k]) - _variance(old[k]))


@_fast
def _of_word(own, word, variances, totals, total_variances, factors, doubts):
    """The factor of each topic that all authors share, and by how much its log is below the log of the mean."""
    for k in range(own.shape[0]):
        left = max(word[k] - own[k], _FLOOR)
        of_all = max(totals[k] - own[k], left)
        both = 1.0 / (left * of_all)
        inverse, certain = left * both, of_all * both  # 1 / of_all and 1 / left
        variance = _variance(own[k])
        doubts[k] = _doubt(variances[k] - variance, certain) - _doubt(total_variances[k] - variance, inverse)
        factors[k] = left * inverse


@_fast
def _of_author(own, counts, variances, inverse, certain, factors, doubts, powers, fresh):
    """q of one author in proportion; `inverse` and `certain` are 1 / m_a and its doubt. Returns the sum."""
    for k in range(own.shape[0]):
        left = max(counts[k] - own[k], _FLOOR)
        doubt = _doubt(variances[k] - _variance(own[k]), 1.0 / left)
        powers[k] = min(max(certain - doubts[k] - doubt, _LEAST), _MOST)
        fresh[k] = factors[k] * (left * inverse)
    # by itself: an exponential is a long chain, of which a short loop has several under way
    for k in range(own.shape[0]):
        powers[k] = fast_exp(powers[k])
    whole = 0.0
    for k in range(own.shape[0]):
        fresh[k] *= powers[k]
        whole += fresh[k]
    return whole


@njit(**UNCOUNTED | {"fastmath": FAST})
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, seed, at_random, earlier, remembered, word_counts,
    word_variances, totals, total_variances, author_counts, author_variances, author_totals, author_total_variances,
    share, fresh, of_topic, of_author, fresh_topic, fresh_author, factors, doubts, powers,
):  # fmt: skip
    for d in range(rows.shape[0] if at_random else 0):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        begin(indptr[d], indptr[d + 1], key(seed, rows[d]), who.shape[0], remembered)
        for i in range(indptr[d], indptr[d + 1]):  # what is certain has no variance
            shares_of(remembered[i], who.shape[0], share)
            sums_of(share, who.shape[0], of_topic, of_author)
            word = word_counts[words[i]]
            for k in range(totals.shape[0]):
                word[k] += counts[i] * of_topic[k]
                totals[k] += counts[i] * of_topic[k]
            for a in range(who.shape[0]):
                own, part = author_counts[who[a]], share[a]
                for k in range(totals.shape[0]):
                    own[k] += counts[i] * part[k]
                author_totals[who[a]] += counts[i] * of_author[a]
    for d in range(rows.shape[0]):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        for i in range(indptr[d], indptr[d + 1]):
            word, row, whole = words[i], remembered[i], 0.0
            ahead = words[min(i + _AHEAD, words.shape[0] - 1)]
            for k in range(0, factors.shape[0], _LINE):
                prefetch(word_counts, ahead, k)
                prefetch(word_variances, ahead, k)
            shares_of(earlier[i], who.shape[0], share)
            sums_of(share, who.shape[0], of_topic, of_author)
            _of_word(
                of_topic, word_counts[word], word_variances[word], totals, total_variances, factors, doubts
            )
            for a in range(who.shape[0]):
                inverse = 1.0 / max(author_totals[who[a]] - of_author[a], _FLOOR)
                certain = _doubt(author_total_variances[who[a], 0] - _variance(of_author[a]), inverse)
                whole += _of_author(
                    share[a], author_counts[who[a]], author_variances[who[a]], inverse, certain, factors, doubts,
                    powers, fresh[a],
                )  # fmt: skip
            for a in range(who.shape[0]):
                remember(1.0 / whole, fresh[a], row[a])
            remember_no_more(row, who.shape[0])
            shares_of(row, who.shape[0], fresh)
            sums_of(fresh, who.shape[0], fresh_topic, fresh_author)
            _change(counts[i], of_topic, fresh_topic, word_counts[word], word_variances[word])
            _change(counts[i], of_topic, fresh_topic, totals, total_variances)
            for a in range(who.shape[0]):
                _change(counts[i], share[a], fresh[a], author_counts[who[a]], author_variances[who[a]])
                author_totals[who[a]] += counts[i] * (fresh_author[a] - of_author[a])
                doubt = _variance(fresh_author[a]) - _variance(of_author[a])
                author_total_variances[who[a], 0] += counts[i] * doubt


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Update the responsibilities of these documents once; see the module.

    Parameters
    ----------
    docs : the documents, counts may be weights; each that has tokens has authors, without repetitions
    view : as "counts": "topic_words" and "author_topics" as for `author_cvb0`, and the variances
        "topic_word_variances" (n_words, n_columns), with its totals, "author_topic_variances" (n_authors, n_columns)
        and "author_variances", in the first column; what `state` says is among them
    hyper : for its options see `KERNEL`
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
    inputs = collapsed_inputs(docs, view, hyper, seed, state)
    n, room = hyper.n_components, hyper.options["most_authors"]
    totals, total_variances = (
        view.totals[name][:n].astype(np.float64) for name in ("topic_words", "topic_word_variances")
    )
    sums = words, word_variances, authors, author_variances, author_total_variances = counts_of(view, _AXES)
    _sweep(
        *inputs, words, word_variances, totals, total_variances, authors, author_variances, authors[:, :n].sum(axis=1),
        author_total_variances, *np.empty((2, room, n)), np.empty(n), np.empty(room), np.empty(n), np.empty(room),
        *np.empty((3, n)),
    )  # fmt: skip
    return KernelResult(moved(sums, view, _AXES), None, {"shares": inputs[-1]}, {})


KERNEL = Kernel(
    name="author_cvb",
    run=run,
    views=dict.fromkeys(_AXES, "counts"),
    statistics=_AXES,
    options={"most_authors": 4},
    meanings={
        "most_authors": "authors of a document at most, from 1: responsibilities of each are on disk",
    },
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("most_authors", "n_components"))},
    dtype="float64",
    changes=tuple(_AXES),
    paper="Mortensen 2017; Teh, Newman, Welling 2007",
)

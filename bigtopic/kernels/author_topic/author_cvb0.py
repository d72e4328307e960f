"""Collapsed variational inference of order zero for the author-topic model, with responsibilities that are kept.

For each distinct word v of a document d, with count c and responsibilities r of its authors a and the topics k,

    q_ak  prop. to  (eta_v + N_vk - r_k) / (sum_v eta_v + N_k - r_k)
                    x (alpha_k + N_ak - r_ak) / (sum_k alpha_k + N_a - r_a)
    N_vk, N_k += c (q_k - r_k);  N_ak += c (q_ak - r_ak);  N_a += c (q_a - r_a);  r <- q

where r_k and r_a are sums of r_ak over authors and topics. Entries are visited in stored order, each sees the newest N,
and one token's own share is excluded. The documents of a slice see each other's responsibilities, and those of other
slices as they were when the params were read. New documents begin with all of each word in one author and topic at
random: equal responsibilities would stay equal forever. Statistics: by how much the expected counts have changed.

The same is iterative latent responsibilities (kernel `ilr`) for this model; where each document has an author of its
own, the two agree.

Cost: entries x topics x authors of the document, a division each. Space: entries x topics x `most_authors` numbers on
disk, twice.

References: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models", equation 7; Mortensen
(2017), "The author-topic model", appendix B, for responsibilities of authors and topics.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.author_topic.support.counts import VIEWS, counts_of, moved
from bigtopic.kernels.author_topic.support.shares import (
    authors_within,
    begin,
    change_of,
    remember,
    remember_no_more,
    remembered_shares,
    shares_of,
)
from bigtopic.kernels.support.entry import INLINE, UNCOUNTED, csr, frozen, whole_number
from bigtopic.kernels.support.memory import prefetch
from bigtopic.kernels.support.random import key
from bigtopic.kernels.support.vector import LANES, larger, load, spread, store, total
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_AHEAD, _LINE = 2, 8  # entries, and numbers in a cache line
_FLOOR = 1e-10  # of a count with its prior: what rounding leaves of it is less


# Shares are taken out of counts in vectors, and are made in plain loops, where nothing is fused: a lone token's share,
# taken out, must leave nothing. Totals of the padding are infinite, so that its factors are 0.


@njit(**INLINE)
def _conditional(share, who, word, totals, author_weights, author_totals, factors, units, fresh):
    """Fill q, that of author a to be multiplied by units[a]; returns the sum of it all."""
    whole, least = 0.0, spread(_FLOOR)
    for k in range(0, factors.shape[0], LANES):
        of_topic = spread(0.0)
        for a in range(who.shape[0]):
            of_topic = of_topic + load(share, (a, k))
        left = larger(load(word, k) - of_topic, least)
        store(factors, k, left / larger(load(totals, k) - of_topic, left))
    for a in range(who.shape[0]):
        of_author, sums = spread(0.0), spread(0.0)
        for k in range(0, factors.shape[0], LANES):
            own = load(share, (a, k))
            new = load(factors, k) * larger(load(author_weights, (who[a], k)) - own, least)
            store(fresh, (a, k), new)
            of_author, sums = of_author + own, sums + new
        units[a] = 1.0 / max(author_totals[who[a]] - total(of_author), _FLOOR)
        whole += units[a] * total(sums)
    return whole


@njit(**INLINE)
def _count(change, who, word, totals, author_weights, author_totals):
    """Add these shares, (n_authors, n_columns), to all counts."""
    for k in range(0, totals.shape[0], LANES):
        of_topic = spread(0.0)
        for a in range(who.shape[0]):
            of_topic = of_topic + load(change, (a, k))
        store(word, k, load(word, k) + of_topic)
        store(totals, k, load(totals, k) + of_topic)
    for a in range(who.shape[0]):
        of_author = spread(0.0)
        for k in range(0, totals.shape[0], LANES):
            own = load(change, (a, k))
            store(author_weights, (who[a], k), load(author_weights, (who[a], k)) + own)
            of_author = of_author + own
        author_totals[who[a]] += total(of_author)


@njit(**UNCOUNTED)
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, seed, new, earlier, remembered, word_weights, totals,
    author_weights, author_totals, share, fresh, units, factors,
):  # fmt: skip
    for d in range(rows.shape[0] if new else 0):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        begin(indptr[d], indptr[d + 1], key(seed, rows[d]), who.shape[0], remembered)
        for i in range(indptr[d], indptr[d + 1]):
            share[:] = 0.0
            change_of(counts[i], 1.0, remembered[i], who.shape[0], share)
            _count(share, who, word_weights[words[i]], totals, author_weights, author_totals)
    for d in range(rows.shape[0]):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        for i in range(indptr[d], indptr[d + 1]):
            word, row, ahead = (
                word_weights[words[i]],
                remembered[i],
                words[min(i + _AHEAD, words.shape[0] - 1)],
            )
            for k in range(0, factors.shape[0], _LINE):
                prefetch(word_weights, ahead, k)
            shares_of(earlier[i], who.shape[0], share)
            whole = _conditional(
                share, who, word, totals, author_weights, author_totals, factors, units, fresh
            )
            known = 0.0
            for a in range(who.shape[0]):
                known += remember(units[a] / whole, fresh[a], row[a])
            remember_no_more(row, who.shape[0])
            change_of(counts[i], known, row, who.shape[0], share)
            _count(share, who, word, totals, author_weights, author_totals)


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Update the responsibilities of these documents once; see the module.

    Parameters
    ----------
    docs : the documents, counts may be weights; each that has tokens has authors, without repetitions
    view : "topic_words", (n_words, n_columns), and "author_topics", (n_authors, n_columns), as "counts", priors
        included, with the totals of the first; what `state` says is among them
    hyper : option `most_authors` (of a document)
    seed : with a document's source row, the key of its start
    state : "shares" float32 (n_entries, most_authors, n_components), zeros of entries that are not counted yet; None
        for documents that are new

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns) and stats["author_topics"] (n_authors, n_columns), by how much the
        expected counts have changed; doc_topics None, because the kernel `author_documents` infers them;
        state["shares"]; no info.

    Raises
    ------
    InputError
        When a document has tokens and no author, or more than `most_authors`.
    SettingError
        When `most_authors` is not a whole number of at least 1.
    """
    n, room = hyper.n_components, whole_number(hyper.options, "most_authors", 1)
    author_indptr, authors = authors_within(docs, room)
    earlier, remembered = remembered_shares(docs, room, n, state)
    word_weights, author_weights = counts_of(view)
    totals = view.totals["topic_words"].astype(np.float64)
    totals[n:], n_columns = np.inf, len(totals)
    assert n_columns % LANES == 0, "rows come in whole vectors"
    _sweep(
        *csr(docs, np.dtype(np.float64)),
        frozen(docs.rows, np.int64),
        author_indptr,
        authors,
        int(seed),
        state is None,
        earlier,
        remembered,
        word_weights,
        totals,
        author_weights,
        author_weights[:, :n].sum(axis=1),
        *(buffers.zeros((room, n_columns), np.float64) for _ in range(2)),
        np.empty(room),
        buffers.empty(n_columns, np.float64),
    )
    return KernelResult(moved((word_weights, author_weights), view), None, {"shares": remembered}, {})


KERNEL = Kernel(
    name="author_cvb0",
    run=run,
    views=VIEWS,
    statistics={"topic_words": "word", "author_topics": "author"},
    options={"most_authors": 4},
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("most_authors", "n_components"))},
    dtype="float64",
    changes=("topic_words", "author_topics"),
    paper="Asuncion et al. 2009; Mortensen 2017",
)

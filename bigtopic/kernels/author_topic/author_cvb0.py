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

from bigtopic.kernels.author_topic.support.counts import VIEWS, counts_of, moved
from bigtopic.kernels.author_topic.support.shares import authors_within, begin, remembered_shares, shares_of
from bigtopic.kernels.support.entry import INNER, OUTER, csr, frozen, whole_number
from bigtopic.kernels.support.random import key
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_FLOOR = 1e-10  # of a count with its prior: what rounding leaves of it is less


@njit(**INNER)
def _count(share, by, word, who, word_weights, totals, author_weights, author_totals):
    """Add `by` times these shares, (n_authors, n_components), to all counts."""
    for i in range(who.shape[0]):
        for k in range(totals.shape[0]):
            part = by * share[i, k]
            word_weights[word, k] += part
            totals[k] += part
            author_weights[who[i], k] += part
            author_totals[who[i]] += part


@njit(**OUTER)
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, seed, new,
    remembered, word_weights, totals, author_weights, author_totals, share, of_topic, of_author, factors,
):  # fmt: skip
    n = totals.shape[0]
    for d in range(rows.shape[0] if new else 0):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        begin(indptr[d], indptr[d + 1], key(seed, rows[d]), who.shape[0], remembered)
        for i in range(indptr[d], indptr[d + 1]):
            shares_of(remembered[i], who.shape[0], share, of_topic, of_author)
            _count(share, counts[i], words[i], who, word_weights, totals, author_weights, author_totals)
    for d in range(rows.shape[0]):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        for i in range(indptr[d], indptr[d + 1]):
            word, row = words[i], remembered[i]
            known = shares_of(row, who.shape[0], share, of_topic, of_author)
            for k in range(n):
                left = max(word_weights[word, k] - of_topic[k], _FLOOR)
                factors[k] = left / max(totals[k] - of_topic[k], left)
            for a in range(who.shape[0]):
                inverse = 1.0 / max(author_totals[who[a]] - of_author[a], _FLOOR)
                for k in range(n):
                    left = max(author_weights[who[a], k] - share[a, k], _FLOOR)
                    row[a, k] = factors[k] * left * inverse
            by = -counts[i] if known > 0 else 0.0
            _count(share, by, word, who, word_weights, totals, author_weights, author_totals)
            shares_of(row, who.shape[0], share, of_topic, of_author)
            for a in range(who.shape[0]):
                for k in range(n):
                    row[a, k] = share[a, k]
            shares_of(row, who.shape[0], share, of_topic, of_author)
            _count(share, counts[i], word, who, word_weights, totals, author_weights, author_totals)


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
    remembered = remembered_shares(docs, room, n, state)
    word_weights, author_weights = counts_of(view)
    _sweep(
        *csr(docs, np.dtype(np.float64)),
        frozen(docs.rows, np.int64),
        author_indptr,
        authors,
        int(seed),
        state is None,
        remembered,
        word_weights,
        view.totals["topic_words"][:n].astype(np.float64),
        author_weights,
        author_weights[:, :n].sum(axis=1),
        np.empty((room, n)),
        np.empty(n),
        np.empty(room),
        np.empty(n),
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

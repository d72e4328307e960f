"""Collapsed variational inference of order zero for the author-topic model, with responsibilities that are kept.

For each distinct word v of a document d, with count c and responsibilities r of its authors a and the topics k,

    q_ak  prop. to  (eta_v + N_vk - r_k) / (sum_v eta_v + N_k - r_k)
                    x (alpha_k + N_ak - r_ak) / (sum_k alpha_k + N_a - r_a)
    N_vk, N_k += c (q_k - r_k);  N_ak += c (q_ak - r_ak);  N_a += c (q_a - r_a);  r <- q

where r_k and r_a are sums of r_ak over authors and topics. Entries are visited in stored order, each sees the newest N,
and one token's own share is excluded. The documents of a slice see each other's responsibilities, and the
responsibilities of other slices as they were when the params were read. New documents begin with all of each word in
one author and topic at random: equal responsibilities would stay equal forever. Where the run began with given topics,
an entry begins with the q_ak that follow from these and from what has been counted before it. Statistics: by how much
the expected counts have changed.

The same is iterative latent responsibilities (kernel `ilr`) for this model; where each document has an author of its
own, the two agree.

Cost: entries x topics x authors of the document, a division each. Space: entries x topics x `most_authors` numbers on
disk, twice.

References: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models", equation 7; Mortensen
(2017), "The author-topic model", appendix B, for responsibilities of authors and topics.
"""

from __future__ import annotations

import numpy as np

from bigtopic.kernels.support.authors import (
    VIEWS,
    begin,
    collapsed_inputs,
    counts_of,
    moved,
    remember_no_more,
)
from bigtopic.kernels.support.collapsed import ask, keep, remembered
from bigtopic.kernels.support.entry import (
    State,
    inline,
    uncounted,
)
from bigtopic.kernels.support.random import key
from bigtopic.kernels.support.vector import (
    LANES,
    double,
    larger,
    load,
    prefetch,
    product,
    single,
    spread,
    store,
    total,
)
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_AHEAD = 2  # entries
_FLOOR = 1e-10  # of a count with its prior: what rounding leaves of it is less


# Products that are taken out of counts are rounded by themselves: a lone token's share must leave nothing. Totals of
# the padding are infinite, so that its factors are 0.


@inline
def _ask(shares, i, n_authors):
    """Prefetch the remembered shares of an entry, or the memory where they will be."""
    ahead = shares[min(i, shares.shape[0] - 1)]
    for a in range(n_authors):
        for k in range(0, ahead.shape[1], LANES):
            prefetch(ahead, a, k)


@inline
def _sums(row, n_authors, n_columns, out):
    """Fill `out` with the sums over topics of the remembered shares of each author; returns the sum of all."""
    known = 0.0
    for a in range(n_authors):
        own, sums = row[a], spread(0.0)
        for k in range(0, n_columns, LANES):
            sums = sums + remembered(own, k, row.shape[1])
        out[a] = total(sums)
        known += out[a]
    return known


@inline
def _conditional(row, unit, who, word, totals, author_weights, factors, share, fresh, table, ahead):
    """Fill q, author a's with the factor factors[a], and `share` with r, `unit` times the remembered shares; returns
    the sum of q. Prefetch the row `ahead` of a table."""
    whole, inverse, least = spread(0.0), spread(unit), spread(_FLOOR)
    for k in range(0, totals.shape[0], LANES):
        ask(table, ahead, k)
        of_topic = spread(0.0)
        for a in range(who.shape[0]):
            own = product(inverse, remembered(row[a], k, row.shape[1]))
            store(share, (a, k), own)
            of_topic = of_topic + own
        left = larger(load(word, k) - of_topic, least)
        by_word = left / larger(load(totals, k) - of_topic, left)
        for a in range(who.shape[0]):
            by_author = larger(load(author_weights, (who[a], k)) - load(share, (a, k)), least)
            new = spread(factors[a]) * by_word * by_author
            store(fresh, (a, k), new)
            whole = whole + new
    return total(whole)


@inline
def _remember(unit, fresh, row, n_authors, out):
    """Remember `unit` times q, and fill `out` with the sums over topics of each author; returns the sum of all."""
    known, factor = 0.0, spread(unit)
    for a in range(n_authors):
        own, sums = row[a], spread(0.0)
        for k in range(0, fresh.shape[1], LANES):
            rounded = single(factor * load(fresh, (a, k)))
            keep(own, k, row.shape[1], rounded)
            sums = sums + double(rounded)
        out[a] = total(sums)
        known += out[a]
    return known


@inline
def _move(row, unit, count, who, share, word, totals, author_weights):
    """Move the counts from `share` to `unit` times the remembered shares."""
    inverse, tokens = spread(unit), spread(count)
    for k in range(0, totals.shape[0], LANES):
        of_topic = spread(0.0)
        for a in range(who.shape[0]):
            new = product(inverse, remembered(row[a], k, row.shape[1]))
            change = tokens * (new - load(share, (a, k)))
            store(author_weights, (who[a], k), load(author_weights, (who[a], k)) + change)
            of_topic = of_topic + change
        store(word, k, load(word, k) + of_topic)
        store(totals, k, load(totals, k) + of_topic)


@inline
def _begin(row, count, who, share, word, totals, author_weights, author_totals, sums):
    """Count an entry of a new document."""
    known = _sums(row, who.shape[0], totals.shape[0], sums)
    share[:] = 0.0
    _move(row, 1.0 / known, count, who, share, word, totals, author_weights)
    for a in range(who.shape[0]):
        author_totals[who[a]] += count * sums[a] / known


@uncounted
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, seed, at_random, earlier, kept, word_weights, totals,
    author_weights, author_totals, share, fresh, factors, old_sums, sums,
):  # fmt: skip
    for d in range(rows.shape[0] if at_random else 0):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        begin(indptr[d], indptr[d + 1], key(seed, rows[d]), who.shape[0], kept)
        for i in range(indptr[d], indptr[d + 1]):
            word = word_weights[words[i]]
            _begin(kept[i], counts[i], who, share, word, totals, author_weights, author_totals, sums)
    for d in range(rows.shape[0]):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        for i in range(indptr[d], indptr[d + 1]):
            word, row, before = word_weights[words[i]], kept[i], earlier[i]
            ahead = words[min(i + _AHEAD, words.shape[0] - 1)]
            _ask(earlier, i + _AHEAD, who.shape[0])
            _ask(kept, i + _AHEAD, who.shape[0])
            known = _sums(before, who.shape[0], totals.shape[0], old_sums)
            unit = 1.0 / known if known > 0.0 else 0.0
            for a in range(who.shape[0]):
                old_sums[a] *= unit
                factors[a] = 1.0 / max(author_totals[who[a]] - old_sums[a], _FLOOR)
            whole = _conditional(
                before, unit, who, word, totals, author_weights, factors, share, fresh, word_weights, ahead
            )
            known = _remember(1.0 / whole, fresh, row, who.shape[0], sums)
            remember_no_more(row, who.shape[0])
            _move(row, 1.0 / known, counts[i], who, share, word, totals, author_weights)
            for a in range(who.shape[0]):
                author_totals[who[a]] += counts[i] * (sums[a] / known - old_sums[a])


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Update the responsibilities of these documents once; see the module.

    Parameters
    ----------
    docs : the documents, counts may be weights; each that has tokens has authors, without repetitions
    view : "topic_words", (n_words, n_columns), and "author_topics", (n_authors, n_columns), as "counts", priors
        included, with the totals of the first; what `state` says is among them
    hyper : for its options see `KERNEL`
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
    inputs = collapsed_inputs(docs, view, hyper, seed, state)
    word_weights, author_weights = counts_of(view)
    n, room, totals = (
        hyper.n_components,
        hyper.options["most_authors"],
        view.totals["topic_words"].astype(np.float64),
    )
    totals[n:] = np.inf
    assert len(totals) % LANES == 0, "rows come in whole vectors"
    _sweep(
        *inputs, word_weights, totals, author_weights, author_weights[:, :n].sum(axis=1),
        *buffers.zeros((2, room, len(totals)), np.float64), *np.empty((3, room)),
    )  # fmt: skip
    return KernelResult(moved((word_weights, author_weights), view), None, {"shares": inputs[-1]}, {})


KERNEL = Kernel(
    name="author_cvb0",
    run=run,
    views=VIEWS,
    statistics={"topic_words": "word", "author_topics": "author"},
    options={"most_authors": 4},
    meanings={
        "most_authors": "authors of a document at most, from 1: responsibilities of each are on disk",
    },
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("most_authors", "n_components"))},
    dtype="float64",
    changes=("topic_words", "author_topics"),
    paper="Asuncion et al. 2009; Mortensen 2017",
)

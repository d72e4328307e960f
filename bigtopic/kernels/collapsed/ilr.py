"""Iterative CVB0: collapsed variational inference of order zero on both sides, with responsibilities that are kept from
pass to pass; also infinite latent state replication (ILR), the limit of the sampler `cgs` for infinitely many labels.

For each distinct word v of a document d, with count c and responsibilities r (one vector for all c tokens):

    a_k = (alpha_k + N_dk - r_k) (eta_v + N_kv - r_k) / (sum_v eta_v + N_k - r_k) ;  a <- a / sum(a)
    N_dk, N_kv, N_k += c (a_k - r_k) ;  r <- a

Entries are visited in storage order, each sees the newest N, and one token's own share r is excluded. The documents of
a slice see each other's responsibilities, and the responsibilities of other slices as they were when the params were
read. New documents begin with all of each word in a topic at random: equal responsibilities would stay equal forever.
Where the run began with given topics, an entry begins with the a_k that follow from these and from what has been
counted before it. Statistics: by how much the expected counts have changed.

Sums from which an entry takes its own share keep a rounding error, which may be negative or exceed a tiny prior. So
N_dk is summed without alpha and is at least 0 without the own share, eta_v + N_kv is at least 1e-10, and sum_v eta_v +
N_k at least eta_v + N_kv. An entry whose a_k are all too small for a number keeps its r.

The state of an entry are numbers in proportion to r; they are rounded first and divided by their sum
afterwards, so that r sums to 1 and all counts agree with the state: nothing drifts. `KERNEL` keeps float32,
`HALF` whole numbers up to 65 535 in two bytes, for half of the space.

How it is computed: in float64, whatever the view is. The sum over a_k and the sum of the rounded numbers make an entry
wait; meanwhile, the state of an entry of the next document is added to that document's N_dk.

Cost: entries x topics, a division each. Space: entries x topics numbers on disk, twice.

Reference: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models", equation 7.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bigtopic.kernels.support.collapsed import ask, begin, keep, remembered, stay
from bigtopic.kernels.support.entry import (
    Call,
    State,
    begins_at_random,
    frozen,
    inline,
    put_shares,
    uncounted,
)
from bigtopic.kernels.support.expected_logs import expected_logs_of_shares, shares_scratch
from bigtopic.kernels.support.vector import (
    LANES,
    double,
    larger,
    like,
    load,
    prefetch,
    product,
    spread,
    store,
    total,
)
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["HALF", "KERNEL", "run", "run_half", "sweep"]

_FLOOR = 1e-10  # of a word's count: what rounding leaves of it is less
_LEVELS = 65535.0
_LEAST = np.finfo(np.float64).tiny * _LEVELS  # of the sum of a_k
_AHEAD = 2  # entries


@inline
def _unit(row, n, n_columns):
    """What the numbers that are remembered of an entry are multiplied by; 0 of one that is not counted yet."""
    sums = spread(0.0)
    for k in range(0, n_columns, LANES):
        sums = sums + remembered(row, k, n)
    known = total(sums)
    return 1.0 / known if known > 0.0 else 0.0


@inline
def _add(row, factor, n, mass):
    """Add an entry to N_dk, the mass of its document: `factor` times its remembered shares."""
    factors = spread(factor)
    for k in range(0, mass.shape[0], LANES):
        store(mass, k, load(mass, k) + factors * remembered(row, k, n))


@inline
def _conditional(row, unit, n, prior, mass, weights, grown, totals, fresh, table, ahead):
    """Fill `fresh` with a, and return its sum; r is `unit` times the remembered shares. Prefetch the row `ahead` of a
    table."""
    whole, inverse, zero, least = spread(0.0), spread(unit), spread(0.0), spread(_FLOOR)
    for k in range(0, fresh.shape[0], LANES):
        ask(table, ahead, k)
        own = product(inverse, remembered(row, k, n))
        by_doc = load(prior, k) + larger(load(mass, k) - own, zero)
        by_word = larger(load(weights, k) + load(grown, k) - own, least)
        new = by_doc * (by_word / larger(load(totals, k) - own, by_word))
        store(fresh, k, new)
        whole = whole + new
    return total(whole)


@inline
def _round(unit, half, fresh, kept, table, ahead):
    """Fill `kept` with the shares to remember, `unit` times `fresh`, and return its sum. Prefetch likewise."""
    known, factor, rest = spread(0.0), spread(unit), spread(half)
    for k in range(0, fresh.shape[0], LANES):
        ask(table, ahead, k)
        rounded = like(kept, factor * load(fresh, k) + rest)
        store(kept, k, rounded)
        known = known + double(rounded)
    return total(known)


@inline
def _move(row, old_unit, kept, unit, count, n, shares, i, mass, grown, totals):
    """Remember `kept` in shares[i], and move the counts from `old_unit` times `row` to `unit` times `kept`; returns how
    many tokens moved."""
    ahead, out = min(i + _AHEAD, shares.shape[0] - 1), shares[i]
    moved, zero, share, gone, tokens = spread(0.0), spread(0.0), spread(unit), spread(old_unit), spread(count)
    for k in range(0, mass.shape[0], LANES):
        prefetch(shares, ahead, k)
        new = load(kept, k)
        change = tokens * (product(share, double(new)) - product(gone, remembered(row, k, n)))
        keep(out, k, n, new)
        store(mass, k, load(mass, k) + change)
        store(grown, k, load(grown, k) + change)
        store(totals, k, load(totals, k) + change)
        moved = moved + larger(change, zero - change)
    return total(moved)


@uncounted
def _sweep(
    indptr, words, counts, rows, topic_words, prior, n_components, seed, at_random, scale, half,
    earlier, shares, units, totals, masses, fresh, kept, change, doc_topics,
):  # fmt: skip
    if at_random:
        begin(indptr, words, counts, rows, seed, n_components, scale, shares, totals, change)
    n, n_columns, moved, recalled = n_components, prior.shape[0], 0.0, indptr[0]
    for d in range(rows.shape[0]):
        mass, following, first, last = masses[d % 2], masses[(d + 1) % 2], indptr[d], indptr[d + 1]
        while recalled < last:  # of the first document, and of one that is longer than the one before it
            units[recalled] = _unit(earlier[recalled], n, n_columns)
            _add(earlier[recalled], counts[recalled] * units[recalled], n, mass)
            recalled += 1
        end = indptr[min(d + 2, rows.shape[0])]
        following[:] = 0.0
        for i in range(first, last):
            before, weights, grown, unit = earlier[i], topic_words[words[i]], change[words[i]], units[i]
            ahead = words[min(i + _AHEAD, words.shape[0] - 1)]
            whole = _conditional(
                before, unit, n, prior, mass, weights, grown, totals, fresh, topic_words, ahead
            )
            if recalled < end:
                units[recalled] = _unit(earlier[recalled], n, n_columns)
            if not _LEAST < whole < np.inf:
                whole = stay(before, unit > 0, fresh, n)
            known = _round(scale / whole, half, fresh, kept, change, ahead)
            if recalled < end:
                _add(earlier[recalled], counts[recalled] * units[recalled], n, following)
                recalled += 1
            moved += _move(before, unit, kept, 1.0 / known, counts[i], n, shares, i, mass, grown, totals)
        if doc_topics.shape[0] > 0:
            for k in range(n_components):
                fresh[k] = prior[k] + max(mass[k], 0.0)
            put_shares(fresh[:n_components], doc_topics[d])
    return moved


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Update the responsibilities of these documents once; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored, counts may be weights
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals; what `state` says is
        among them
    hyper : no options
    seed : with a document's source row, the key of its start and of labels
    state : "shares" (n_entries, n_components), zeros of entries that are not counted yet; None for documents that are
        new

    Returns
    -------
    KernelResult
        stats["topic_words"] float64 (n_words, n_columns), by how much the expected counts have changed, and
        stats["doc_topic_prior"] (1, n_columns), the sum of E[log theta] given labels drawn from the responsibilities,
        if wanted; doc_topics (n_docs, n_components) if wanted; state["shares"]; info: "moved_tokens", the sum over
        entries of c sum_k |a_k - r_k|.

    Raises
    ------
    SettingError
        When the statistics of the prior are wanted and a count is not a whole number.
    """
    return _run(docs, view, hyper, seed, state, "float32", 1.0, 0.0)


def run_half(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """As `run`, with shares in two bytes."""
    return _run(docs, view, hyper, seed, state, "uint16", _LEVELS, 0.5)


def _run(
    docs: Docs,
    view: View,
    hyper: Hyper,
    seed: int,
    state: State,
    kept: str,
    scale: float,
    half: float,
) -> KernelResult:
    call = Call(docs, view, hyper, np.float64)
    shares = buffers.empty((len(docs.words), hyper.n_components), kept)
    totals, earlier = (
        view.totals["topic_words"].astype(np.float64),
        None if state is None else state["shares"],
    )
    moved = sweep(call, seed, earlier, shares, totals, begins_at_random(state, view, hyper), scale, half)
    if call.learns:
        call.stats["doc_topic_prior"] = expected_logs_of_shares(
            docs, shares, hyper.doc_topic_prior, call.n_columns, seed
        )
    return call.result({"moved_tokens": moved}, {"shares": shares})


def sweep(
    call: Call,
    seed: int,
    earlier: np.ndarray | None,
    shares: np.ndarray,
    totals: np.ndarray,
    at_random: bool,
    scale: float = 1.0,
    half: float = 0.0,
) -> float:
    """Visit each entry once, for kernels that keep the counts of these documents by themselves.

    Parameters
    ----------
    call : float64; its topic_words are eta_v + N_kv before anything was counted in its statistics, which are added to
    seed : as for `run`
    earlier : (n_entries, n_components), remembered shares, perhaps `shares` itself; None for new documents
    shares : of the same shape and type; becomes the shares to remember
    totals : float64 (n_columns,), sum_v eta_v + N_k, updated in place
    at_random : whether new documents begin at random, and not with the shares that follow from the counts
    scale, half : factor of a share before it is kept, and the number added to it, so that it is rounded

    Returns
    -------
    float
        "moved_tokens" of `run`.
    """
    n_entries, n_columns = len(shares), call.n_columns
    if earlier is None:
        shares[:] = 0
    moved = _sweep(
        *call.documents, call.rows, call.topic_words, call.prior(), call.hyper.n_components, int(seed), at_random,
        scale, half, frozen(shares if earlier is None else earlier, shares.dtype), shares,
        buffers.empty(n_entries, np.float64), totals, buffers.zeros((2, n_columns), np.float64), *call.vectors(1),
        buffers.zeros(n_columns, shares.dtype), *call.outputs,
    )  # fmt: skip
    return float(moved)


KERNEL = Kernel(
    name="ilr",
    run=run,
    views={"topic_words": "counts"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    scratch=shares_scratch,
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("n_components",))},
    dtype="float64",
    changes=("topic_words",),
    paper="Asuncion et al. 2009",
)

HALF = replace(
    KERNEL,
    name="ilr-half",
    run=run_half,
    remembers={"shares": StateSpec("entry", "uint16", ("n_components",))},
)

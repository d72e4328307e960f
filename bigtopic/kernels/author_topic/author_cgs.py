"""Collapsed Gibbs sampling for the author-topic model: an author and a topic for each token, drawn together.

For a token, a word v of document d, and its authors a, with its own label left out,

    p(a, k)  prop. to  (eta_v + N_vk) / (sum_v eta_v + N_k)  (alpha_k + N_ak) / (sum_k alpha_k + N_a)

Tokens are visited in stored order, each sees the newest labels of the slice, and the labels of other slices as they
were when the params were read (AD-LDA). A token without a label, of a document that is new, is drawn given the tokens
that have one. Statistics: what the labels have changed. A label is i K + k for topic k of the i-th author of the
document.

Taken out of a sum, a lone token leaves nothing of a tiny prior. So counts with their priors are at least 1e-10.

How it is computed: a document's authors are copied side by side, a vector of topics of each by turns, so that the word
is weighed once for all of them, and a draw finds the topic first, and then its author.

Cost of a token: topics x (authors of its document + 1).

References: Rosen-Zvi, Griffiths, Steyvers, Smyth (2004), "The author-topic model for authors and documents", equation
4; Newman, Asuncion, Smyth, Welling (2009), "Distributed algorithms for topic models", for slices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bigtopic.errors import ModelError, SettingError, argument
from bigtopic.kernels.support.authors import VIEWS, author_lists
from bigtopic.kernels.support.draw import n_reached, running
from bigtopic.kernels.support.entry import (
    State,
    csr,
    frozen,
    inline,
    outer,
    uncounted,
)
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import SHIFT, whole_counts
from bigtopic.kernels.support.vector import HALF, LANES, larger, load, prefetch, spread, store
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_AHEAD, _LINE = 2, np.uint64(8)  # entries, and numbers in a cache line
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_LANES, _IN_LANES, _ENDS = np.uint64(LANES), np.uint64(LANES - 1), np.uint64(2 * LANES)
_HALF, _IN_HALF = np.uint64(HALF), np.uint64(HALF - 1)
_FLOOR = 1e-10  # of a count with its prior: what rounding leaves of a tiny one is 0
_MOST_LABELS = 1 << 31


class _Room(NamedTuple):
    """What a sweep changes, and works with.

    Attributes
    ----------
    word_weights, author_weights : float64 (n_words, n_columns) and (n_authors, n_columns), eta_v + N_vk, alpha_k + N_ak
    totals, author_totals : float64 (n_components,) and (n_authors,), sums of these over words, and over topics
    inverses : float64 (n_columns,), 1 divided by the totals
    own : float64 (authors of a document * n_columns,), their weights; a vector of topics of each author by turns
    shares : float64 (authors of a document,), 1 divided by their totals
    sums : float64 (authors of a document * n_columns,), running sums of each lane, in the order of `own`
    ends : float64 (2 * LANES,), running sums over the lanes, after zeros
    one_hot : float64 (HALF * HALF,)
    """

    word_weights: np.ndarray
    author_weights: np.ndarray
    totals: np.ndarray
    author_totals: np.ndarray
    inverses: np.ndarray
    own: np.ndarray
    shares: np.ndarray
    sums: np.ndarray
    ends: np.ndarray
    one_hot: np.ndarray


@inline
def _take(who, room):
    """Copy what a document's authors have to where its tokens are weighed."""
    n_authors, n_columns = np.uint64(who.shape[0]), np.uint64(room.inverses.shape[0])
    for a in range(n_authors):
        author = np.uint64(who[a])
        room.shares[a] = 1.0 / max(room.author_totals[author], _FLOOR)
        for k in range(_ZERO, n_columns, _LANES):
            store(room.own, k * n_authors + a * _LANES, load(room.author_weights, (author, k)))


@inline
def _give_back(who, room):
    n_authors, n_columns = np.uint64(who.shape[0]), np.uint64(room.inverses.shape[0])
    for a in range(n_authors):
        for k in range(_ZERO, n_columns, _LANES):
            store(room.author_weights, (np.uint64(who[a]), k), load(room.own, k * n_authors + a * _LANES))


@inline
def _add(values, place, more):
    store(values, place, larger(load(values, place, HALF) + more, spread(_FLOOR, HALF)))


@inline
def _count(word, a, k, by, who, n_authors, room):
    """Count a label once more, or once less."""
    block, hot = k & ~_IN_HALF, load(room.one_hot, (k & _IN_HALF) * _HALF, HALF)
    more, author = spread(by, HALF) * hot, np.uint64(who[a])
    room.totals[k] += by
    inverse = spread(1.0 / max(room.totals[k], _FLOOR), HALF)
    # whole vectors: the next token loads them while they are still on their way to the cache
    old = load(room.inverses, block, HALF)
    store(room.inverses, block, old - old * hot + inverse * hot)
    _add(room.word_weights, (word, block), more)
    _add(room.own, (k & ~_IN_LANES) * n_authors + a * _LANES + (block & _IN_LANES), more)
    room.author_totals[author] += by
    room.shares[a] = 1.0 / max(room.author_totals[author], _FLOOR)


@inline
def _weigh(word, n_authors, room):
    """Sum the weights of the labels in each lane, vectors of topics of each author by turns; returns their sums."""
    along, place, n_columns = spread(0.0), _ZERO, np.uint64(room.inverses.shape[0])
    for k in range(_ZERO, n_columns, _LANES):
        factor = load(room.word_weights, (word, k)) * load(room.inverses, k)
        for a in range(n_authors):
            along = along + factor * spread(room.shares[a]) * load(room.own, place)
            store(room.sums, place, along)
            place += _LANES
    return running(along)


@inline
def _pick(u, along, n_authors, room):
    """The author's place and the topic at which the sums exceed u times the last; rounding may lead to the padding."""
    n_columns = np.uint64(room.inverses.shape[0])
    store(room.ends, LANES, along)
    rest = u * room.ends[_ENDS - _ONE]
    lane = np.uint64(min(n_reached(along, rest), LANES - 1))
    rest -= room.ends[lane + _LANES - _ONE]
    a, k, step = _ZERO, lane, n_authors * _LANES
    for j in range(step - _LANES + lane, (n_columns - _LANES) * n_authors, step):
        k += np.uint64(room.sums[j] <= rest) << SHIFT
    first = (k - lane) * n_authors + lane
    for j in range(first, first + step - _LANES, _LANES):
        a += np.uint64(room.sums[j] <= rest)
    return a, k


@inline
def _sweep_document(first, last, token, words, counts, row_key, who, n_authors, n_components, labels, room):
    """Draw the labels of entries from the first to before the last; returns the token after theirs."""
    n_columns, begun, end = np.uint64(room.inverses.shape[0]), token, words.shape[0] - 1
    for i in range(first, last):
        word, ahead = np.uint64(words[i]), words[min(i + _AHEAD, end)]
        for k in range(_ZERO, n_columns, _LINE):
            prefetch(room.word_weights, ahead, k)
        for _ in range(counts[i]):
            if labels[token] >= 0:
                label = np.uint64(labels[token])
                _count(word, label // n_components, label % n_components, -1.0, who, n_authors, room)
            along = _weigh(word, n_authors, room)
            a, k = _pick(uniform(row_key, token - begun), along, n_authors, room)
            k = min(k, n_components - _ONE)
            _count(word, a, k, 1.0, who, n_authors, room)
            labels[token] = a * n_components + k
            token += _ONE
    return token


@uncounted
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, n_components, seed, labels, room
):  # fmt: skip
    token, n_components = _ZERO, np.uint64(n_components)
    for k in range(n_components):
        room.inverses[k] = 1.0 / max(room.totals[k], _FLOOR)
    for d in range(rows.shape[0]):
        who, row_key = authors[author_indptr[d] : author_indptr[d + 1]], key(seed, rows[d])
        first, last = indptr[d], indptr[d + 1]
        _take(who, room)
        if who.shape[0] == _TWO:  # of a constant number, loops over authors cost nothing
            token = _sweep_document(
                first, last, token, words, counts, row_key, who, _TWO, n_components, labels, room
            )
        else:
            token = _sweep_document(
                first, last, token, words, counts, row_key, who, np.uint64(who.shape[0]), n_components, labels,
                room,
            )  # fmt: skip
        _give_back(who, room)


@outer
def _changes(before, weights):
    """Equivalent to `weights[:] = np.rint(weights - before)`: whole labels, what is left over is rounding."""
    for i in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            weights[i, k] = np.rint(weights[i, k] - before[i, k])


@outer
def _first_beyond(indptr, counts, labels, n_labels):
    """The first document with a label that is not below its number of labels, or -1."""
    token = 0
    for d in range(n_labels.shape[0]):
        first = token
        for i in range(indptr[d], indptr[d + 1]):
            token += counts[i]
        most = -1
        for t in range(first, token):
            most = max(most, labels[t])
        if most >= n_labels[d]:
            return d
    return -1


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Draw the labels of these documents once more, or for the first time; see the module.

    Parameters
    ----------
    docs : the documents, counts are whole numbers; each that has tokens has authors, without repetitions
    view : "topic_words", (n_words, n_columns), and "author_topics", (n_authors, n_columns), as "counts", priors
        included, with the totals of the first; the labels in `state` are among them
    hyper : no options
    seed : with a document's source row and a token's place in it, the key of its draw
    state : "labels" int32 (n_tokens,), -1 where there is none yet; None for documents that are new

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns) and stats["author_topics"] (n_authors, n_columns), by how many tokens
        the labels have changed; doc_topics None, because the kernel `author_documents` infers them; state["labels"]; no
        info.

    Raises
    ------
    InputError
        When a count is not a whole number, or a document has tokens and no author.
    ModelError
        When a document has fewer authors than when it was labelled.
    """
    n, n_columns = hyper.n_components, view.arrays["topic_words"].shape[1]
    assert n_columns % LANES == 0, "rows come in whole vectors"
    counts, (author_indptr, authors, most) = whole_counts(docs), author_lists(docs)
    if most * n >= _MOST_LABELS:
        raise SettingError(
            f"{argument('n_components', n)}: with {most} authors of a document, at most {_MOST_LABELS // most}"
        )
    labels = buffers.empty(int(counts.sum()), np.int32)
    labels[:] = -1 if state is None else state["labels"]
    _check_labels(docs, counts, labels, n * np.diff(author_indptr))
    word_weights, author_weights = (_at_least_floor(view.arrays[name]) for name in VIEWS)
    changes = dict(zip(VIEWS, (word_weights, author_weights), strict=True))
    width = max(most, 1) * n_columns
    room = _Room(
        word_weights, author_weights, view.totals["topic_words"][:n].astype(np.float64),
        view.arrays["author_topics"][:, :n].sum(axis=1, dtype=np.float64), buffers.zeros(n_columns, np.float64),
        buffers.empty(width, np.float64), np.empty(max(most, 1)), buffers.empty(width, np.float64),
        buffers.zeros(2 * LANES, np.float64), buffers.empty(HALF * HALF, np.float64),
    )  # fmt: skip
    room.one_hot[:] = np.eye(HALF).reshape(-1)
    indptr, words, _ = csr(docs, np.dtype(np.float32))
    keys = frozen(docs.rows, np.int64)
    _sweep(indptr, words, frozen(counts, np.int64), keys, author_indptr, authors, n, int(seed), labels, room)
    for name, change in changes.items():
        before = view.arrays[name]
        _changes(frozen(before, before.dtype), change)
    return KernelResult(changes, None, {"labels": labels}, {})


def _at_least_floor(counts: np.ndarray) -> np.ndarray:
    """A copy of these counts, to be changed, in which none is below what a count is at least."""
    copy = buffers.empty(counts.shape, np.float64)
    return np.maximum(counts, _FLOOR, out=copy)


def _check_labels(docs: Docs, counts: np.ndarray, labels: np.ndarray, n_labels: np.ndarray) -> None:
    """Refuse labels of authors that a document does not have: compiled loops do not check bounds."""
    beyond = _first_beyond(frozen(docs.indptr, np.int64), frozen(counts, np.int64), labels, n_labels)
    if beyond >= 0:
        raise ModelError(
            f"the document in row {docs.source_row(beyond)} of the source has fewer authors than when it was labelled; "
            "fit a new model"
        )


KERNEL = Kernel(
    name="author_cgs",
    run=run,
    views=VIEWS,
    statistics={"topic_words": "word", "author_topics": "author"},
    interacts=True,
    state="run",
    remembers={"labels": StateSpec("token", "int32", missing=-1)},
    dtype="float64",
    changes=("topic_words", "author_topics"),
    paper="Rosen-Zvi, Griffiths, Steyvers, Smyth 2004",
)

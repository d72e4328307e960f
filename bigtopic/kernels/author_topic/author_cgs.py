"""Collapsed Gibbs sampling for the author-topic model: an author and a topic for each token, drawn together.

For a token, a word v of document d, and its authors a, with its own label left out,

    p(a, k)  prop. to  (eta_v + N_vk) / (sum_v eta_v + N_k)  (alpha_k + N_ak) / (sum_k alpha_k + N_a)

Tokens are visited in stored order, each sees the newest labels of the slice, and those of other slices as they were
when the params were read (AD-LDA). A token without a label, of a document that is new, is drawn given the tokens that
have one. Statistics: what the labels have changed. A label is i K + k for topic k of the i-th author of the document.

Taken out of a sum, a lone token leaves nothing of a tiny prior. So counts with their priors are at least 1e-10.

Cost of a token: topics x (authors of its document + 1).

References: Rosen-Zvi, Griffiths, Steyvers, Smyth (2004), "The author-topic model for authors and documents", equation
4; Newman, Asuncion, Smyth, Welling (2009), "Distributed algorithms for topic models", for slices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.errors import ModelError, SettingError
from bigtopic.kernels.author_topic.support.counts import VIEWS, counts_of, moved
from bigtopic.kernels.author_topic.support.lists import author_lists
from bigtopic.kernels.support.entry import INLINE, UNCOUNTED, frozen
from bigtopic.kernels.support.lanes import n_reached, running
from bigtopic.kernels.support.memory import prefetch
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import SHIFT, whole_counts
from bigtopic.kernels.support.vector import HALF, LANES, larger, load, spread, store
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_AHEAD, _LINE = 2, np.uint64(8)  # entries, and numbers in a cache line
_ZERO, _ONE, _LANES, _ENDS = np.uint64(0), np.uint64(1), np.uint64(LANES), np.uint64(2 * LANES)
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
    sums : float64 (authors of a document * n_columns,), running sums of each lane
    ends : float64 (2 * LANES,), those of the lanes, after zeros
    one_hot : float64 (HALF * HALF,)
    """

    word_weights: np.ndarray
    author_weights: np.ndarray
    totals: np.ndarray
    author_totals: np.ndarray
    inverses: np.ndarray
    sums: np.ndarray
    ends: np.ndarray
    one_hot: np.ndarray


@njit(**INLINE)
def _count(word, author, k, by, room):
    """Count a label once more, or once less."""
    block, hot = k & ~_IN_HALF, load(room.one_hot, (k & _IN_HALF) * _HALF, HALF)
    more = spread(by, HALF) * hot
    room.totals[k] += by
    inverse = spread(1.0 / max(room.totals[k], _FLOOR), HALF)
    # whole vectors: the next token loads them while they are still on their way to the cache
    old = load(room.inverses, block, HALF)
    store(room.inverses, block, old - old * hot + inverse * hot)
    store(room.word_weights, (word, block), load(room.word_weights, (word, block), HALF) + more)
    store(room.author_weights, (author, block), load(room.author_weights, (author, block), HALF) + more)
    room.author_totals[author] += by


@njit(**INLINE)
def _weigh(who, word, room):
    """Sum the weights of the labels in each lane, a row of topics for each author; returns the sums of the lanes."""
    least, along, n_columns = spread(_FLOOR), spread(0.0), np.uint64(room.inverses.shape[0])
    for i in range(np.uint64(who.shape[0])):
        author, row = np.uint64(who[i]), i * n_columns
        share = spread(1.0 / max(room.author_totals[author], _FLOOR))
        for k in range(_ZERO, n_columns, _LANES):
            factor = larger(load(room.word_weights, (word, k)), least) * load(room.inverses, k)
            along = along + factor * share * larger(load(room.author_weights, (author, k)), least)
            store(room.sums, row + k, along)
    return running(along)


@njit(**INLINE)
def _pick(u, along, n_authors, room):
    """The author's place and the topic at which the sums exceed u times the last; rounding may lead to the padding."""
    n_columns = np.uint64(room.inverses.shape[0])
    store(room.ends, LANES, along)
    rest = u * room.ends[_ENDS - _ONE]
    lane = np.uint64(min(n_reached(along, rest), LANES - 1))
    rest -= room.ends[lane + _LANES - _ONE]
    a, k = _ZERO, lane
    for j in range(n_columns - _LANES + lane, (n_authors - _ONE) * n_columns, n_columns):
        a += np.uint64(room.sums[j] <= rest)
    row = a * n_columns
    for j in range(row + lane, row + n_columns - _LANES, _LANES):
        k += np.uint64(room.sums[j] <= rest) << SHIFT
    return a, k


@njit(**UNCOUNTED)
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, n_components, seed, labels, room
):  # fmt: skip
    token, n_columns, n_components = _ZERO, np.uint64(room.inverses.shape[0]), np.uint64(n_components)
    for k in range(n_components):
        room.inverses[k] = 1.0 / max(room.totals[k], _FLOOR)
    for d in range(rows.shape[0]):
        who, row_key, first = authors[author_indptr[d] : author_indptr[d + 1]], key(seed, rows[d]), token
        for i in range(indptr[d], indptr[d + 1]):
            word, ahead = np.uint64(words[i]), words[min(i + _AHEAD, words.shape[0] - 1)]
            for k in range(_ZERO, n_columns, _LINE):
                prefetch(room.word_weights, ahead, k)
            for _ in range(counts[i]):
                if labels[token] >= 0:
                    label = np.uint64(labels[token])
                    author = np.uint64(who[label // n_components])
                    _count(word, author, label % n_components, -1.0, room)
                along = _weigh(who, word, room)
                a, k = _pick(uniform(row_key, token - first), along, np.uint64(who.shape[0]), room)
                k = min(k, n_components - _ONE)
                _count(word, np.uint64(who[a]), k, 1.0, room)
                labels[token] = a * n_components + k
                token += _ONE


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
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
    counts = whole_counts(docs)
    author_indptr, authors, most = author_lists(docs)
    if most * n >= _MOST_LABELS:
        raise SettingError(
            f"n_components={n}: with {most} authors of a document, at most {_MOST_LABELS // most}"
        )
    labels = buffers.empty(int(counts.sum()), np.int32)
    labels[:] = -1 if state is None else state["labels"]
    _check_labels(docs, counts, labels, n * np.diff(author_indptr))
    word_weights, author_weights = counts_of(view)
    room = _Room(
        word_weights,
        author_weights,
        view.totals["topic_words"][:n].astype(np.float64),
        author_weights[:, :n].sum(axis=1),
        buffers.zeros(n_columns, np.float64),
        buffers.empty(max(most, 1) * n_columns, np.float64),
        buffers.zeros(2 * LANES, np.float64),
        buffers.empty(HALF * HALF, np.float64),
    )
    room.one_hot[:] = np.eye(HALF).reshape(-1)
    _sweep(
        frozen(docs.indptr, np.int64),
        frozen(docs.words, np.int32),
        frozen(counts, np.int64),
        frozen(docs.rows, np.int64),
        author_indptr,
        authors,
        n,
        int(seed),
        labels,
        room,
    )
    changes = moved((word_weights, author_weights), view)
    for change in changes.values():  # whole labels: what is left over is rounding
        np.rint(change, out=change)
    return KernelResult(changes, None, {"labels": labels}, {})


def _check_labels(docs: Docs, counts: np.ndarray, labels: np.ndarray, n_labels: np.ndarray) -> None:
    """Refuse labels of authors that a document does not have: compiled loops do not check bounds."""
    tokens = np.add.reduceat(np.append(counts, 0), docs.indptr[:-1]) * (np.diff(docs.indptr) > 0)
    beyond = labels >= np.repeat(n_labels, tokens)
    if beyond.any():
        row = int(np.repeat(docs.rows, tokens)[np.argmax(beyond)])
        raise ModelError(
            f"the document in row {row} of the source has fewer authors than when it was labelled; fit a new model"
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

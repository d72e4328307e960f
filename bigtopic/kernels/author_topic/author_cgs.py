"""Collapsed Gibbs sampling for the author-topic model: an author and a topic for each token, drawn together.

For a token, a word v of document d, and its authors a, with its own label left out,

    p(a, k)  prop. to  (eta_v + N_vk) / (sum_v eta_v + N_k)  (alpha_k + N_ak) / (sum_k alpha_k + N_a)

Tokens are visited in stored order, each sees the newest labels of the slice, and those of other slices as they were
when the params were read (AD-LDA). A token without a label, of a document that is new, is drawn given the tokens that
have one. Statistics: what the labels have changed. A label is i K + k for topic k of the i-th author of the document.

Cost of a token: topics x (authors of its document + 1).

References: Rosen-Zvi, Griffiths, Steyvers, Smyth (2004), "The author-topic model for authors and documents", equation
4; Newman, Asuncion, Smyth, Welling (2009), "Distributed algorithms for topic models", for slices.
"""

from __future__ import annotations

from collections.abc import Mapping

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
from bigtopic.kernels.support.tokens import whole_counts
from bigtopic.kernels.support.vector import LANES, larger, load, spread, store, total
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_AHEAD, _LINE = 2, 8  # entries, and numbers in a cache line
_MOST_LABELS = 1 << 31


@njit(**INLINE)
def _change(word, author, k, by, word_weights, totals, inverses, author_weights, author_totals):
    word_weights[word, k] += by
    totals[k] += by
    inverses[k] = 1.0 / totals[k]
    author_weights[author, k] += by
    author_totals[author] += by


@njit(**INLINE)
def _weigh(who, word, inverses, author_weights, author_totals, weights, ends):
    """Fill the weights of the labels, a row of topics for each author, and `ends`, their sums up to each vector."""
    zero, n_columns = spread(0.0), inverses.shape[0]
    for i in range(who.shape[0]):
        share = spread(1.0 / author_totals[who[i]])
        for k in range(0, n_columns, LANES):
            factor = larger(load(word, k), zero) * load(inverses, k)
            vector = factor * share * larger(load(author_weights, (who[i], k)), zero)
            store(weights, i * n_columns + k, vector)
            ends[(i * n_columns + k) // LANES] = total(vector)
    n_vectors, whole = who.shape[0] * n_columns // LANES, 0.0
    for b in range(n_vectors):
        whole += ends[b]
        ends[b] = whole
    return whole


@njit(**INLINE)
def _place(target, n_vectors, weights, ends):
    """Where the running sums of the weights exceed `target`; rounding may lead to the padding."""
    b = 0
    for i in range(n_vectors - 1):
        b += ends[i] <= target
    rest = target - ends[b - 1] if b > 0 else target
    return b * LANES + min(n_reached(running(load(weights, b * LANES)), rest), LANES - 1)


@njit(**UNCOUNTED)
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, n_components, seed,
    labels, word_weights, totals, inverses, author_weights, author_totals, weights, ends,
):  # fmt: skip
    token, n_columns = 0, inverses.shape[0]
    for k in range(n_components):
        inverses[k] = 1.0 / totals[k]
    for d in range(rows.shape[0]):
        who, row_key, first = authors[author_indptr[d] : author_indptr[d + 1]], key(seed, rows[d]), token
        for i in range(indptr[d], indptr[d + 1]):
            word, ahead = words[i], words[min(i + _AHEAD, words.shape[0] - 1)]
            for k in range(0, n_columns, _LINE):
                prefetch(word_weights, ahead, k)
            for _ in range(counts[i]):
                if labels[token] >= 0:
                    a, k = labels[token] // n_components, labels[token] % n_components
                    _change(
                        word, who[a], k, -1.0, word_weights, totals, inverses, author_weights, author_totals
                    )
                whole = _weigh(
                    who, word_weights[word], inverses, author_weights, author_totals, weights, ends
                )
                target = uniform(row_key, token - first) * whole
                place = _place(target, who.shape[0] * n_columns // LANES, weights, ends)
                a, k = place // n_columns, min(place % n_columns, n_components - 1)
                _change(word, who[a], k, 1.0, word_weights, totals, inverses, author_weights, author_totals)
                labels[token] = a * n_components + k
                token += 1


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
        word_weights,
        view.totals["topic_words"][:n].astype(np.float64),
        buffers.zeros(n_columns, np.float64),
        author_weights,
        author_weights[:, :n].sum(axis=1),
        buffers.empty(max(most, 1) * n_columns, np.float64),
        np.empty(max(most, 1) * n_columns // LANES),
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

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
from bigtopic.kernels.support.entry import INNER, OUTER, frozen
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import whole_counts
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_MOST_LABELS = 1 << 31


@njit(**INNER)
def _change(word, author, k, by, word_weights, totals, author_weights, author_totals):
    word_weights[word, k] += by
    totals[k] += by
    author_weights[author, k] += by
    author_totals[author] += by


@njit(**INNER)
def _drawn(u, who, word_weights, totals, author_weights, author_totals, factors, sums):
    """The label at which running sums of the conditional exceed the share `u` of it all."""
    n, whole = totals.shape[0], 0.0
    for k in range(n):
        factors[k] = max(word_weights[k], 0.0) / totals[k]
    for i in range(who.shape[0]):
        share = 1.0 / author_totals[who[i]]
        for k in range(n):
            whole += factors[k] * share * max(author_weights[who[i], k], 0.0)
            sums[i * n + k] = whole
    n_labels, target = who.shape[0] * n, u * whole
    label = 0
    while label < n_labels - 1 and sums[label] <= target:
        label += 1
    return label


@njit(**OUTER)
def _sweep(
    indptr, words, counts, rows, author_indptr, authors, n_components, seed,
    labels, word_weights, totals, author_weights, author_totals, factors, sums,
):  # fmt: skip
    token = 0
    for d in range(rows.shape[0]):
        who, row_key, first = authors[author_indptr[d] : author_indptr[d + 1]], key(seed, rows[d]), token
        for i in range(indptr[d], indptr[d + 1]):
            word = words[i]
            for _ in range(counts[i]):
                if labels[token] >= 0:
                    a, k = labels[token] // n_components, labels[token] % n_components
                    _change(word, who[a], k, -1.0, word_weights, totals, author_weights, author_totals)
                u = uniform(row_key, token - first)
                label = _drawn(
                    u, who, word_weights[word], totals, author_weights, author_totals, factors, sums
                )
                a, k = label // n_components, label % n_components
                _change(word, who[a], k, 1.0, word_weights, totals, author_weights, author_totals)
                labels[token] = label
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
    n = hyper.n_components
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
        author_weights,
        author_weights[:, :n].sum(axis=1),
        np.empty(n),
        np.empty(max(most, 1) * n),
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

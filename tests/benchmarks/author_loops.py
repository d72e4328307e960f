"""One pass of the author-topic model's batch method, taken apart, and the same with responsibilities written out.

Written out, q(author, topic | word) is computed for every author and topic of every distinct word; factorised, as in
the kernel `author_vb`, only sums over authors and over words are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from bigtopic.datasets import KnownAuthors
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.kernels import load
from bigtopic.kernels.support.authors import author_lists
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.plan.slices import make_docs
from bigtopic.state.views import take_view
from bigtopic.types import AxisStats, Docs, View

__all__ = ["stages"]

KERNEL = load("author_vb")


@njit(nogil=True, fastmath=True)
def _written_out(
    indptr, words, counts, author_indptr, authors, topic_words, author_topics, phi, by_word, by_author
):
    n = topic_words.shape[1]
    for d in range(len(indptr) - 1):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        for i in range(indptr[d], indptr[d + 1]):
            whole = np.float32(0)
            for a in range(len(who)):
                for k in range(n):
                    phi[a, k] = author_topics[who[a], k] * topic_words[words[i], k]
                    whole += phi[a, k]
            ratio = counts[i] / whole
            for a in range(len(who)):
                for k in range(n):
                    by_word[words[i], k] += ratio * phi[a, k]
                    by_author[who[a], k] += ratio * phi[a, k]


def written_out(docs: Docs, view: View) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of words and of authors, as of the kernel but for factors of the authors' rows."""
    rows = [view.arrays[name] for name in (TOPIC_WORDS, AUTHOR_TOPICS)]
    author_indptr, authors, most = author_lists(docs)
    found = [np.zeros_like(array) for array in rows]
    phi = np.empty((most, rows[0].shape[1]), np.float32)
    _written_out(docs.indptr, docs.words, docs.counts, author_indptr, authors, *rows, phi, *found)
    return found[0], found[1]


def stages(truth: KnownAuthors, n_docs: int) -> dict[str, Callable[[], Any]]:
    """The steps of a pass over documents drawn from `truth`, on one thread.

    Returns
    -------
    {"written out": ..., "factorised": ..., "E[log beta]": ..., "gamma": ...}
        The last is E[log theta] and the update of the authors' weights.
    """
    corpus = truth.corpus(n_docs)
    model = AuthorTopicModel(truth.n_components, method="author-vb", progress=False)._new_model(corpus, 0)
    docs, axes = make_docs(corpus.parts[0].block, corpus.n_words, None, corpus.n_authors, None)
    arrays, hyper = model.params.arrays, model.hyper()
    view = take_view(arrays, KERNEL.views, axes)
    found = AxisStats(axes["author"], KERNEL.run(docs, view, hyper, 0, None).stats[AUTHOR_TOPICS])

    def gamma() -> None:
        take_view(arrays, {AUTHOR_TOPICS: "expected_log"}, axes)
        arrays[AUTHOR_TOPICS].add(found, decay=0.0)

    return {
        "written out": lambda: written_out(docs, view),
        "factorised": lambda: KERNEL.run(docs, view, hyper, 0, None),
        "E[log beta]": lambda: take_view(arrays, {TOPIC_WORDS: "expected_log"}, axes),
        "gamma": gamma,
    }

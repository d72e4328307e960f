"""Topics of documents under a fixed author-topic model.

The topics of the tokens of document d, given its authors' topics theta and the topics' words beta:

    p(k | v, d) = s_dk beta_kv / sum_k s_dk beta_kv,    s_dk = mean over authors a of theta_ak

and their mean over the tokens. A document whose authors the model does not know is the first of a new author: its
topics have the prior of an author's, and are inferred by variational Bayes (`vb`).

Cost: 2 x distinct words x topics multiply-adds; without known authors, as `vb`.

Reference: Rosen-Zvi, Griffiths, Steyvers, Smyth (2004), "The author-topic model for authors and documents".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.kernels.support.entry import State, csr, frozen, outer
from bigtopic.kernels.support.vector import LANES, load, spread, store, total
from bigtopic.kernels.variational import vb
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]


@outer
def _mix(
    indptr, words, counts, author_indptr, authors, topic_words, author_topics, shared, shares, doc_topics
):
    zero = spread(shared.dtype.type(0))
    for d in range(indptr.shape[0] - 1):
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        if who.shape[0] == 0:
            continue
        shared[:] = 0
        shares[:] = 0
        for a in who:
            for k in range(shared.shape[0]):
                shared[k] += author_topics[a, k]
        for i in range(indptr[d], indptr[d + 1]):
            whole = zero
            for k in range(0, shared.shape[0], LANES):
                whole = whole + load(shared, k) * load(topic_words, (words[i], k))
            z = total(whole)
            ratio = spread(counts[i] / z if z > 0 else shared.dtype.type(0))
            for k in range(0, shared.shape[0], LANES):
                part = ratio * load(shared, k) * load(topic_words, (words[i], k))
                store(shares, k, load(shares, k) + part)
        mass = shares.sum()
        for k in range(doc_topics.shape[1]):
            doc_topics[d, k] = shares[k] / mass if mass > 0 else shared[k] / who.shape[0]


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors without repetitions
    view : "topic_words", (n_words, n_columns), and "author_topics", (n_authors, n_columns), as "mean"
    hyper : the options of `vb`, for documents without known authors
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        doc_topics (n_docs, n_components); a document without tokens has the mean of its authors', or of the prior. No
        statistics; info as for `vb`.

    Raises
    ------
    SettingError
        As `vb` does.
    """
    topic_words = view.arrays["topic_words"]
    info: Mapping[str, float] = {}
    doc_topics: Any = np.empty((docs.n_docs, hyper.n_components), topic_words.dtype)
    if docs.author_indptr is None or (np.diff(docs.author_indptr) == 0).any():
        options = {**hyper.options, "bound": False}
        _, doc_topics, _, info = vb.run(docs, view, hyper._replace(options=options, doc_topics=True), seed)
    if docs.author_indptr is not None and docs.authors is not None:
        dtype = topic_words.dtype
        _mix(
            *csr(docs, dtype), frozen(docs.author_indptr, np.int64), frozen(docs.authors, np.int32),
            frozen(topic_words, dtype), frozen(view.arrays["author_topics"], dtype),
            *np.empty((2, topic_words.shape[1]), dtype), doc_topics,
        )  # fmt: skip
    return KernelResult({}, doc_topics, None, info)


KERNEL = Kernel(
    name="author_documents",
    run=run,
    views={"topic_words": "mean", "author_topics": "mean"},
    statistics={},
    options={name: value for name, value in vb.KERNEL.options.items() if name != "bound"},
    meanings={name: text for name, text in vb.KERNEL.meanings.items() if name != "bound"},
    cost=vb.KERNEL.cost,
    scratch=vb.KERNEL.scratch,
    paper="Rosen-Zvi, Griffiths, Steyvers, Smyth 2004",
)

"""Topics of documents under fixed topics: one inference for all models.

Mean-field variational Bayes with point estimates of the topics (the kernel `vb` with a mean view).
"""

from __future__ import annotations

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.evaluation.source import FLOOR, TopicSource
from bigtopic.kernels import load
from bigtopic.types import Block, Docs, Hyper, View

__all__ = ["fold_in", "local_docs", "topic_rows", "word_map"]


def fold_in(
    docs: Docs, topic_words: np.ndarray, source: TopicSource, max_iter: int = 50, tolerance: float = 0.0
) -> np.ndarray:
    """Posterior mean of the topics of each document, float32 (n_docs, n_components).

    Parameters
    ----------
    docs : word ids are rows of `topic_words`
    topic_words : from `topic_rows`
    max_iter, tolerance : iterations, and the mean change of the Dirichlet parameters below which they stop (0: never)
    """
    kernel = load("vb")
    options = {**kernel.options, "max_doc_update_iter": max_iter, "mean_change_tol": tolerance}
    hyper = Hyper(np.asarray(source.doc_topic_prior, np.float64), source.n_components, options)
    doc_topics = kernel.run(docs, View({"topic_words": topic_words}, {}), hyper, 0, None).doc_topics
    assert doc_topics is not None
    return doc_topics


def topic_rows(source: TopicSource, ids: np.ndarray) -> np.ndarray:
    """p(word | topic) of these words, no smaller than 1e-10, with columns of zeros as `padded` says."""
    from bigtopic.state.lazy_array import padded

    rows = np.zeros((len(ids), padded(source.n_components)), np.float32)
    rows[:, : source.n_components] = np.maximum(source.gather(ids), FLOOR)
    return rows


def local_docs(block: Block, n_words: int, id_map: np.ndarray | None) -> tuple[Docs, np.ndarray]:
    """Documents of known words, without authors, and the model's ids of their words, int32 (docs.n_words,). In the
    corpus' order, so that all models are asked for the same tokens."""
    from bigtopic.plan.slices import make_docs

    without_authors = Block(block.indptr, block.words, block.counts, block.rows)
    docs, axes = make_docs(without_authors, n_words, id_map, in_order=False)
    ids = axes["word"]
    assert ids is not None
    return docs, ids


def word_map(corpus: Corpus, source: TopicSource) -> np.ndarray | None:
    """The model's id of each word of the corpus, int32 (n_words,), -1 unknown; None when they agree."""
    from bigtopic.state.axes import mapping

    return mapping(corpus.vocabulary, source.vocabulary)

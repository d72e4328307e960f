"""Tables for pandas, and what topicwizard's and turftopic's pictures are made from, their `TopicData`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bigtopic.errors import InputError, require

__all__ = ["Frames", "to_pandas", "to_topicwizard"]


class Frames(NamedTuple):
    """A model as DataFrames.

    topic_words : (n_components, n_words), probabilities; a row per topic, a column per word
    doc_topics : (n_docs, n_components), shares; a row per document, by its id; None without documents
    """

    topic_words: Any
    doc_topics: Any


def to_pandas(model: Any, X: Any = None) -> Frames:
    """Write topics, and the topics of documents, as tables in memory.

    For more documents than fit, see `transform_to`.

    Parameters
    ----------
    model : a fitted estimator
    X : documents, as `transform` takes them

    Raises
    ------
    MissingExtra
        When pandas is not installed.
    """
    pandas = require("pandas", "pandas")
    words = pandas.DataFrame(model.get_topics(), columns=model.vocabulary_[:]).rename_axis("topic")
    if X is None:
        return Frames(words, None)
    corpus = model._documents(X)
    ids = pandas.Index(corpus.document_ids("source").astype(str), name="document")
    return Frames(words, pandas.DataFrame(model.transform(corpus), index=ids).rename_axis(columns="topic"))


def to_topicwizard(model: Any, X: Any, texts: Sequence[str] | None = None) -> dict[str, Any]:
    """Write a model and documents for `topicwizard.visualize(topic_data=...)`, in memory.

    Parameters
    ----------
    model : a fitted estimator
    X : documents, as `transform` takes them
    texts : the text shown for each document, (n_docs,); None for `X` itself if it is a list of texts or tokens, for the
        texts that a corpus keeps, or else for the ids

    Returns
    -------
    dict
        With the keys of topicwizard's `TopicData`; matrices of counts are sparse.

    Raises
    ------
    InputError
        When there is not one text for each document.
    """
    fitted = model._fitted()
    corpus = model._documents(X)
    counts = _of_model(corpus.to_scipy(order="source"), fitted.word_map(corpus.vocabulary), fitted)
    return {
        "corpus": _shown(X, texts, corpus),
        "vocab": np.asarray(model.vocabulary_[:]),
        "document_term_matrix": counts,
        "document_topic_matrix": model.transform(corpus),
        "topic_term_matrix": model.get_topics(),
        "document_representation": counts,
        "transform": model.transform,
        "topic_names": model.topic_labels_,
    }


def _shown(X: Any, texts: Sequence[str] | None, corpus: Any) -> list[str]:
    if texts is None and isinstance(X, list):
        texts = _texts_of(X)
    if texts is None:
        texts = (corpus.read_texts() if corpus.has_text else corpus.document_ids()).tolist()
    if len(texts) != corpus.n_docs:
        raise InputError(
            f"texts: has {len(texts)}, but there are {corpus.n_docs} documents; give one for each"
        )
    return list(texts)


def _texts_of(documents: list[Any]) -> list[str] | None:
    """Texts as they are, tokens with spaces between them; None if the documents are neither."""
    lists = [[document] if isinstance(document, str) else document for document in documents]
    if not all(isinstance(tokens, list) and all(isinstance(t, str) for t in tokens) for tokens in lists):
        return None
    return [" ".join(tokens) for tokens in lists]


def _of_model(counts: Any, word_map: np.ndarray | None, model: Any) -> Any:
    """Counts with the columns of the model, CSR (n_docs, n_words of the model); other words are left out."""
    if word_map is None:
        return counts
    from scipy.sparse import csr_matrix

    entries = counts.tocoo()
    known = (ids := word_map[entries.col]) >= 0
    shape = (counts.shape[0], len(model.vocabulary))
    return csr_matrix((entries.data[known], (entries.row[known], ids[known])), shape=shape)

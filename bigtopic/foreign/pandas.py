"""pandas: topics and documents as tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from bigtopic.errors import require

__all__ = ["Frames", "to_pandas"]


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

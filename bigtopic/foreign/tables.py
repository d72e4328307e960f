"""Tables for pandas and for regressions, xarray's data sets, and what the pictures of topicwizard, turftopic and
DataMapPlot are made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bigtopic.errors import InputError, SettingError, require
from bigtopic.estimators.questions import DocumentQuestions
from bigtopic.questions.words import shares_of

__all__ = ["Frames", "to_datamapplot", "to_pandas", "to_regression", "to_topicwizard", "to_xarray"]


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
    SettingError
        When `model` is something else.
    MissingExtra
        When pandas is not installed.
    """
    _check_model(model)
    pandas = require("pandas", "pandas")
    words = pandas.DataFrame(model.get_topics(), columns=model.vocabulary_[:]).rename_axis("topic")
    if X is None:
        return Frames(words, None)
    corpus = model._documents(X)
    ids = pandas.Index(corpus.document_ids("source").astype(str), name="document")
    return Frames(words, pandas.DataFrame(model.transform(corpus), index=ids).rename_axis(columns="topic"))


def to_regression(model: Any, X: Any, columns: Sequence[str] | None = None) -> Any:
    """Write one table for a regression: the columns of the documents, and their topics with standard deviations.

    The shorter a document, the less certain are its topics. Their distribution is taken to be a Dirichlet distribution
    with the document's topics as its mean m, and with the number of known tokens plus the sum of the prior as the sum s
    of its parameters. The standard deviation is then sqrt(m (1 - m) / (s + 1)).

    Parameters
    ----------
    model : a fitted estimator
    X : documents, as `transform` takes them
    columns : of the corpus; None for all

    Returns
    -------
    pandas.DataFrame
        A row for each document, by its id: the columns, tokens, and topic_0, topic_0_sd, topic_1, ...

    Raises
    ------
    SettingError
        When `model` is something else, there is no such column, or a column has the name of another one of the table.
    MissingExtra
        When pandas is not installed.
    """
    _check_model(model)
    pandas = require("pandas", "pandas")
    fitted, corpus = model._fitted(), model._documents(X)
    counts = _of_model(corpus.to_scipy(order="source"), fitted.word_map(corpus.vocabulary), fitted)
    tokens = np.asarray(counts.sum(axis=1), np.float64).ravel()
    topics = model.transform(corpus).astype(np.float64)
    total = tokens + np.sum(model.topic_source().doc_topic_prior)
    deviations = np.sqrt(topics * (1 - topics) / (total[:, None] + 1))
    own = {"tokens": tokens}
    for k in range(topics.shape[1]):
        own |= {f"topic_{k}": topics[:, k], f"topic_{k}_sd": deviations[:, k]}
    found = corpus.read_columns(columns)
    if twice := sorted(found.keys() & own.keys()):
        raise SettingError(
            f"column {twice[0]!r} has the name of another one of the table; leave it out of columns"
        )
    index = pandas.Index(corpus.document_ids("source").astype(str), name="document")
    return pandas.DataFrame({**found, **own}, index=index)


def to_xarray(model: Any, X: Any = None) -> Any:
    """Write topics, and the topics of documents, as an `xarray.Dataset` in memory.

    Parameters
    ----------
    model : a fitted estimator
    X : documents, as `transform` takes them; None for the topics alone

    Returns
    -------
    xarray.Dataset
        Variables topic_words (topic, word), topic_share (topic) and doc_topics (document, topic); coordinates are the
        labels of topics, words, the ids of documents, and their columns.

    Raises
    ------
    SettingError
        When `model` is something else.
    MissingExtra
        When xarray is not installed.
    """
    _check_model(model)
    xarray = require("xarray", "xarray")
    topics = model.get_topics()
    coordinates: dict[str, Any] = {"topic": np.arange(len(topics)), "word": model.vocabulary_[:]}
    coordinates["label"] = ("topic", model.topic_labels_)
    variables = {
        "topic_words": (("topic", "word"), topics),
        "topic_share": ("topic", shares_of(model.topic_source())),
    }
    if X is not None:
        corpus = model._documents(X)
        variables["doc_topics"] = (("document", "topic"), model.transform(corpus))
        coordinates["document"] = corpus.document_ids("source").astype(str)
        taken = {*coordinates, *variables}
        coordinates |= {
            f"{name}_" if name in taken else name: ("document", values)
            for name, values in corpus.read_columns().items()
        }
    return xarray.Dataset(variables, coordinates)


def to_datamapplot(model: Any, X: Any = None, **settings: Any) -> dict[str, Any]:
    """Write documents on a plane for `datamapplot.create_plot(**...)` and `create_interactive_plot(**...)`.

    Parameters
    ----------
    model : a fitted estimator
    X, settings : arguments of `model.document_map`, such as `theta` and `placement="umap"`

    Returns
    -------
    dict
        data_map_coords, float64 (n_docs, 2), and labels, (n_docs,): the label of the largest topic of each document, in
        the order of the source.

    Raises
    ------
    SettingError
        When `model` is something else.
    """
    _check_model(model)
    found = model.document_map(X, **settings)
    order = np.argsort(np.asarray(found["row"]), kind="stable")
    places = np.column_stack([np.asarray(found["x"]), np.asarray(found["y"])]).astype(np.float64)
    return {"data_map_coords": places[order], "labels": np.asarray(found["label"], dtype=str)[order]}


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
    SettingError
        When `model` is something else.
    InputError
        When there is not one text for each document.
    """
    _check_model(model)
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


def _check_model(model: Any) -> None:
    """Refuse what is not an estimator of this package.

    Raises
    ------
    SettingError
    """
    if isinstance(model, DocumentQuestions):
        return
    library = type(model).__module__.partition(".")[0]
    if library in ("gensim", "sklearn", "tomotopy"):
        remedy = f"which bigtopic.foreign.from_{library}(model{', words' if library == 'sklearn' else ''}) makes of it"
    else:
        remedy = (
            "such as bigtopic.load_model or bigtopic.foreign.from_gensim, from_sklearn or from_mallet return"
        )
    raise SettingError(
        f"model: {type(model).__name__} is not a model of this package; give a fitted LDA, AuthorTopicModel or "
        f"DualTopicModel, {remedy}"
    )


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

"""tomotopy's `LDAModel`.

It counts the tokens of each word in each topic by collapsed Gibbs sampling, so the model goes on with `cgs`. Priors of
single words (`set_word_prior`) are read too. tomotopy cannot be given counts, but its `PLDAModel` gives all tokens of a
document to the topic that labels it: our topics are written as such documents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.errors import SettingError, require, warn
from bigtopic.estimators.lda import LDA
from bigtopic.foreign._fitted import Weights, fitted, shortest, tokens_of

__all__ = ["from_tomotopy", "to_tomotopy"]

_READ = ("LDAModel", "PLDAModel")


def from_tomotopy(model: Any) -> LDA:
    """Read a model of tomotopy.

    Parameters
    ----------
    model : a trained `LDAModel`, or a `PLDAModel`, whose labels are not kept

    Returns
    -------
    LDA
        Fitted; `partial_fit` adds the tokens of more documents, and keeps the priors.

    Raises
    ------
    SettingError
        When it is another model, or has no words yet.
    """
    if type(model).__name__ not in _READ or not hasattr(model, "get_topic_word_dist"):
        raise SettingError(
            f"model: {type(model).__name__} cannot be read; give an LDAModel of tomotopy "
            "(an HDPModel becomes one with convert_to_lda())"
        )
    words = list(model.used_vocabs)
    if not words:
        raise SettingError("model: has no words yet; add documents and train it first")
    weights = np.array([model.get_topic_word_dist(k, normalize=False) for k in range(model.k)], np.float64)
    return fitted(
        Weights(weights - model.eta, np.full(model.k, model.alpha, np.float64), _priors(model, words), words),
        n_docs=len(model.docs),
        n_iter=model.global_step,
        method="cgs",
    )


def to_tomotopy(model: LDA) -> Any:
    """Write a model for tomotopy.

    Soft counts, such as variational Bayes', are rounded to whole tokens; the counts of `cgs` are whole.
    tomotopy holds every token, as if it had been trained on them.

    Returns
    -------
    tomotopy.PLDAModel
        With a label for each topic, which documents need not have. Words without a token are left out, and topics
        without any, with a warning.

    Raises
    ------
    MissingExtra
        When tomotopy is not installed.
    SettingError
        When `model` is not an `LDA`, its document-topic prior differs between topics, or it has less than one token.

    References
    ----------
    Ramage, Manning, Dumais: Partially labeled topic models for interpretable text mining. KDD 2011.
    """
    tokens = tokens_of(model)
    tomotopy = require("tomotopy", "tomotopy")
    prior = shortest(tokens.doc_topic_prior)
    if not isinstance(prior, float):
        raise SettingError(
            "model: its document-topic prior differs between topics, but this model of tomotopy has one number for all"
        )
    empty = np.flatnonzero(~tokens.counts.any(axis=1)).tolist()
    if empty:
        warn(
            f"topics {', '.join(map(str, empty))} have no tokens and are left out: tomotopy has topics of tokens only"
        )
    found = tomotopy.PLDAModel(
        latent_topics=0,
        topics_per_label=1,
        alpha=prior,
        eta=tokens.topic_word_prior,
        seed=model.random_state_ % (1 << 32),
    )
    words = np.array(tokens.words, object)
    for topic, columns in tokens.documents():
        found.add_doc(words[columns].tolist(), labels=[f"topic {topic}"])
    found.train(0, workers=1)  # labels become topics
    return found


def _priors(model: Any, words: list[str]) -> np.ndarray:
    """The model's prior, (n_components, n_words) if words have their own."""
    own = {i: prior for i, word in enumerate(words) if len(prior := model.get_word_prior(word))}
    if not own:
        return np.asarray(model.eta, np.float64)
    table = np.full((model.k, len(words)), model.eta, np.float64)
    for i, prior in own.items():
        table[:, i] = prior
    return table

"""scikit-learn's `LatentDirichletAllocation`.

Its `components_` are ours: the prior and the expected tokens of each word in each topic. The model goes on with
`online-vb`, the method of scikit-learn's `partial_fit`, and with its settings and step size.

References
----------
Pedregosa et al.: Scikit-learn: machine learning in Python. JMLR 12 (2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.corpus.readers.support.vocabulary import read_vocabulary
from bigtopic.errors import SettingError, require
from bigtopic.estimators.lda import LDA
from bigtopic.foreign._fitted import Weights, fitted, shortest, weights_of

__all__ = ["from_sklearn", "to_sklearn"]

_SETTINGS = (
    "learning_decay", "learning_offset", "batch_size", "max_iter", "max_doc_update_iter", "mean_change_tol",
    "total_samples",
)  # fmt: skip


def from_sklearn(model: Any, vocabulary: Any = None) -> LDA:
    """Read a model of scikit-learn.

    Parameters
    ----------
    model : a fitted `LatentDirichletAllocation`
    vocabulary : the words of the columns, which scikit-learn does not keep: the vectoriser, a list, or a mapping of
        words to ids; None for the model's `feature_names_in_`, or columns without names

    Returns
    -------
    LDA
        Fitted: transforms like scikit-learn's, and `partial_fit` goes on like scikit-learn's. It does not know how many
        documents scikit-learn saw, but takes its `total_samples`, a million unless set; `set_params` changes it.

    Raises
    ------
    SettingError
        When it is another model, or not fitted.
    VocabularyMismatch
        When the vocabulary does not have one word per column.
    """
    if not hasattr(model, "components_") or not hasattr(model, "doc_topic_prior_"):
        raise SettingError(
            f"model: {type(model).__name__} cannot be read; give a fitted LatentDirichletAllocation"
        )
    prior = np.full(len(model.components_), model.doc_topic_prior_, np.float64)
    words = getattr(model, "feature_names_in_", None) if vocabulary is None else vocabulary
    eta = np.asarray(model.topic_word_prior_, np.float64)
    return fitted(
        Weights(model.components_ - eta, prior, eta, read_vocabulary(words)),
        n_iter=model.n_iter_,
        n_updates=model.n_batch_iter_ - 1,  # scikit-learn's is the number of the next
        method="online-vb",
        **{name: getattr(model, name) for name in _SETTINGS},
    )


def to_sklearn(model: LDA) -> Any:
    """Write a model for scikit-learn.

    Returns
    -------
    sklearn.decomposition.LatentDirichletAllocation
        Fitted; it takes matrices whose columns are the words of `model.vocabulary_`, which it does not keep.

    Raises
    ------
    MissingExtra
        When scikit-learn is not installed.
    SettingError
        When `model` is not an `LDA`, or its document-topic prior differs between topics.
    """
    weights = weights_of(model)
    decomposition = require("sklearn.decomposition", "scikit-learn")
    prior = shortest(weights.doc_topic_prior)
    if not isinstance(prior, float):
        raise SettingError(
            "model: its document-topic prior differs between topics, but scikit-learn has one number for all"
        )
    settings = {name: value for name in _SETTINGS if (value := getattr(model, name)) is not None}
    eta = shortest(weights.topic_word_prior)
    found = decomposition.LatentDirichletAllocation(
        len(weights.statistics),
        doc_topic_prior=prior,
        topic_word_prior=eta,
        random_state=model.random_state_ % (1 << 32),
        **settings,
    )
    found.components_ = weights.statistics + eta
    found.exp_dirichlet_component_ = model.exp_dirichlet_component_
    found.doc_topic_prior_, found.topic_word_prior_ = prior, eta
    found.n_features_in_, found.n_batch_iter_ = model.n_features_in_, model.n_batch_iter_ + 1
    found.n_iter_, found.bound_ = model.n_iter_, None
    found.random_state_ = np.random.RandomState(found.random_state)
    return found

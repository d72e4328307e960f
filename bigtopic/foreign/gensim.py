"""gensim's `LdaModel` and `LdaMulticore`.

Its lambda is ours: the prior and the expected tokens of each word in each topic. Its method is `online-vb` here, so the
model goes on with that method, and with gensim's settings, step size and number of documents seen.

References
----------
Řehůřek, Sojka: Software framework for topic modelling with large corpora. LREC 2010.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.errors import SettingError, require
from bigtopic.estimators.lda import LDA
from bigtopic.foreign._fitted import Weights, fitted, shortest, weights_of

__all__ = ["from_gensim", "to_gensim"]

_SETTINGS = {
    "learning_decay": "decay",
    "learning_offset": "offset",
    "batch_size": "chunksize",
    "max_doc_update_iter": "iterations",
    "mean_change_tol": "gamma_threshold",
}


def from_gensim(model: Any) -> LDA:
    """Read a model of gensim.

    Parameters
    ----------
    model : a fitted `LdaModel` or `LdaMulticore`

    Returns
    -------
    LDA
        Fitted: transforms like gensim's, and `partial_fit` goes on like gensim's `update`.

    Raises
    ------
    SettingError
        When it is another model.
    """
    if not hasattr(model, "state") or not hasattr(model, "id2word") or hasattr(model, "author2doc"):
        raise SettingError(
            f"model: {type(model).__name__} cannot be read; give a fitted LdaModel or LdaMulticore of gensim"
        )
    statistics = np.asarray(model.state.sstats, np.float64)
    words = [str(model.id2word[i]) for i in range(statistics.shape[1])]
    settings = {ours: getattr(model, theirs) for ours, theirs in _SETTINGS.items()}
    return fitted(
        Weights(statistics, model.alpha, model.eta, words),
        n_docs=int(model.state.numdocs),
        n_iter=model.passes,
        n_updates=round(model.num_updates / model.chunksize) - 1,  # gensim counts from 0
        method="online-vb",
        learn_doc_topic_prior="asymmetric" if model.optimize_alpha else None,
        learn_topic_word_prior="asymmetric" if model.optimize_eta else None,
        max_iter=model.passes,
        **settings,
    )


def to_gensim(model: LDA) -> Any:
    """Write a model for gensim.

    Returns
    -------
    gensim.models.LdaModel
        With a `Dictionary` as `id2word`; `update` goes on from it.

    Raises
    ------
    MissingExtra
        When gensim is not installed.
    SettingError
        When `model` is not an `LDA`.
    """
    weights = weights_of(model)
    gensim = require("gensim.models.ldamodel", "gensim")
    settings = {
        theirs: value for ours, theirs in _SETTINGS.items() if (value := getattr(model, ours)) is not None
    }
    known, dictionary = model.vocabulary_, require("gensim.corpora", "gensim").Dictionary()
    dictionary.token2id = {word: i for i, word in enumerate(known)}
    dictionary.num_docs = int(model.n_docs_seen_)
    if known.document_frequency is not None:
        dictionary.dfs = dict(enumerate(known.document_frequency.tolist()))
    found = gensim.LdaModel(
        num_topics=len(weights.statistics),
        id2word=dictionary,
        alpha=weights.doc_topic_prior,
        eta=shortest(weights.topic_word_prior),
        random_state=model.random_state_ % (1 << 32),
        **settings,
    )
    found.state.sstats = weights.statistics.astype(found.dtype)
    found.state.numdocs = int(model.n_docs_seen_)
    found.num_updates = (model.n_batch_iter_ + 1) * found.chunksize
    found.sync_state()
    return found

"""tomotopy's `LDAModel`.

It counts the tokens of each word in each topic by collapsed Gibbs sampling, so the model goes on with `cgs`. Priors of
single words (`set_word_prior`) are read too. tomotopy has no way to be given counts, so there is no way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.foreign._fitted import Weights, fitted

__all__ = ["from_tomotopy"]


def from_tomotopy(model: Any) -> LDA:
    """Read a model of tomotopy.

    Parameters
    ----------
    model : a trained `LDAModel`

    Returns
    -------
    LDA
        Fitted; `partial_fit` adds the tokens of more documents, and keeps the priors.

    Raises
    ------
    SettingError
        When it is another model, or has no words yet.
    """
    if type(model).__name__ != "LDAModel" or not hasattr(model, "get_topic_word_dist"):
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


def _priors(model: Any, words: list[str]) -> np.ndarray:
    """The model's prior, (n_components, n_words) if words have their own."""
    own = {i: prior for i, word in enumerate(words) if len(prior := model.get_word_prior(word))}
    if not own:
        return np.asarray(model.eta, np.float64)
    table = np.full((model.k, len(words)), model.eta, np.float64)
    for i, prior in own.items():
        table[:, i] = prior
    return table

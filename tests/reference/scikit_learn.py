"""scikit-learn's batch variational Bayes, begun where another implementation begins.

The package begins with random topics, and each document with a random gamma, 1 on average; here the topics are given
and every gamma begins with 1, so that nothing is random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation

__all__ = ["batch_vb"]


def batch_vb(counts: Any, start: np.ndarray, max_iter: int, **settings: Any) -> LatentDirichletAllocation:
    """A model after so many passes; its `score(counts)` is the bound in nats, of documents that begin with 1 too.

    Parameters
    ----------
    counts : CSR or array (n_docs, n_words), float64
    start : float64 (n_components, n_words), the topics' weights before the first pass, prior included
    settings : of `LatentDirichletAllocation`
    """

    class Begun(LatentDirichletAllocation):  # type: ignore[misc]
        def _init_latent_vars(self, *args: Any, **kwargs: Any) -> None:
            super()._init_latent_vars(*args, **kwargs)
            self.components_ = start
            self.exp_dirichlet_component_ = np.exp(psi(start) - psi(start.sum(axis=1, keepdims=True)))

        def _e_step(self, X: Any, cal_sstats: bool, random_init: bool, parallel: Any = None) -> Any:
            return super()._e_step(X, cal_sstats, random_init=False, parallel=parallel)

    return Begun(len(start), learning_method="batch", max_iter=max_iter, **settings).fit(counts)

"""The rivals, each as a function from a matrix to something `bigtopic.evaluate` can score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def scikit_learn(counts: Any, n_components: int, seed: int) -> Any:
    """LatentDirichletAllocation, online, ten passes, two jobs, its own defaults otherwise."""
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(
        n_components,
        learning_method="online",
        max_iter=10,
        total_samples=counts.shape[0],
        n_jobs=2,
        random_state=seed,
    ).fit(counts)


def gensim_single(counts: Any, n_components: int, seed: int) -> Any:
    """LdaModel, ten passes, its own defaults otherwise."""
    from gensim.models import LdaModel

    return _gensim(LdaModel, counts, n_components, seed)


def gensim(counts: Any, n_components: int, seed: int) -> Any:
    """LdaMulticore with two workers, ten passes, its own defaults otherwise."""
    from gensim.models import LdaMulticore

    return _gensim(LdaMulticore, counts, n_components, seed, workers=2)


def _gensim(kind: Callable[..., Any], counts: Any, n_components: int, seed: int, **more: Any) -> Any:
    from gensim.matutils import Sparse2Corpus

    documents = list(Sparse2Corpus(counts, documents_columns=False))
    names = {i: str(i) for i in range(counts.shape[1])}
    model = kind(documents, n_components, id2word=names, passes=10, random_state=seed, **more)
    return Topics(model.get_topics(), np.asarray(model.alpha))


class Topics:
    """Topics and prior of a model whose words are matched by position."""

    def __init__(self, components: np.ndarray, prior: np.ndarray) -> None:
        self.components_ = components
        self.doc_topic_prior_ = prior


PEERS: dict[str, Callable[[Any, int, int], Any]] = {
    "scikit-learn": scikit_learn,
    "gensim": gensim,
    "gensim-single": gensim_single,
}

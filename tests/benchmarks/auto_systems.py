"""Systems as people run them: the number of topics, a seed and two processors; priors and schedules are their own.

A function of `SYSTEMS` trains once and returns {label: Fitted}: runs that are the beginning of one another, such as 100
and 500 sweeps, come from one run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from curves import Heat
from peers import Point, document_pairs, document_tokens, tomotopy_topics
from timing import Stopwatch

__all__ = ["SYSTEMS", "Fitted"]


class Fitted(NamedTuple):
    """Topics, not normalised, and the prior of the topics of a document that the system has at its end."""

    point: Point
    prior: Any


def _bigtopic(heat: Heat, label: str) -> dict[str, Fitted]:
    from bigtopic.estimators.lda import LDA

    def new(**settings: Any) -> Any:
        here = {"client": False, "n_threads": 2, "progress": False, "random_state": heat.task.seed}
        return LDA(heat.task.n_components, method=heat.method, **here, **settings)

    new(max_time=1.0).fit(heat.train)  # loads compiled code
    with Stopwatch() as clock:
        model = new().fit(heat.train)
    return {label: Fitted(_point(clock, model.get_topics()), model.topic_source().doc_topic_prior)}


def _tomotopy(heat: Heat, label: str) -> dict[str, Fitted]:
    """alpha 0.1, learned from the 10th sweep on; eta 0.01."""
    import tomotopy

    model = tomotopy.LDAModel(k=heat.task.n_components, seed=heat.task.seed)
    for words in document_tokens(heat.task.counts):
        model.add_doc(words)
    clock, done, found = Stopwatch(), 0, {}
    for sweeps in (100, 500, 1000):
        with clock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.train(sweeps - done, workers=2)
        done = sweeps
        topics = tomotopy_topics(model, heat.task._replace(topic_word_prior=model.eta))
        found[f"tomotopy-{sweeps}"] = Fitted(_point(clock, topics), np.array(model.alpha))
    return found


def _gensim(kind: str, passes: tuple[int, ...], heat: Heat, label: str, **more: Any) -> dict[str, Fitted]:
    from gensim import models

    n_docs, n_words = heat.task.counts.shape
    documents = list(document_pairs(heat.task.counts))
    base, found, clock = getattr(models, kind), {}, Stopwatch()

    class Watched(base):  # type: ignore[misc, valid-type]
        n_docs_done = 0

        def do_mstep(self, rho: float, other: Any, extra_pass: bool = False) -> None:
            super().do_mstep(rho, other, extra_pass)
            self.n_docs_done += other.numdocs
            whole, rest = divmod(self.n_docs_done, n_docs)
            if rest == 0 and whole in passes:
                with clock.paused():
                    name = f"{label.rpartition('-')[0]}-{whole}"
                    found[name] = Fitted(_point(clock, self.get_topics()), np.array(self.alpha))

    words = {i: str(i) for i in range(n_words)}
    with clock:
        Watched(
            documents, heat.task.n_components, words, passes=passes[-1], random_state=heat.task.seed, **more
        )
    return found


def _scikit_learn(heat: Heat, label: str) -> dict[str, Fitted]:
    """learning_method="batch", 10 iterations."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(heat.task.n_components, random_state=heat.task.seed, n_jobs=2)
    with Stopwatch() as clock:
        model.fit(heat.task.counts)
    return {label: Fitted(_point(clock, model.components_), model.doc_topic_prior_)}


def _scikit_learn_online(heat: Heat, label: str) -> dict[str, Fitted]:
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        heat.task.n_components, random_state=heat.task.seed, n_jobs=2, learning_method="online",
        total_samples=heat.task.counts.shape[0],
    )  # fmt: skip
    clock, found = Stopwatch(), {}
    for passes in range(1, 31):
        with clock:
            model.partial_fit(heat.task.counts)
        if passes in (10, 30):
            name = f"scikit-learn-online-{passes}"
            found[name] = Fitted(_point(clock, model.components_), model.doc_topic_prior_)
    return found


def _point(clock: Stopwatch, topics: Any) -> Point:
    return Point(1, clock.seconds, np.array(topics, np.float32))


_multicore = partial(_gensim, "LdaMulticore", (1, 10), workers=2, eval_every=None)
_learned = partial(_gensim, "LdaModel", (10,), alpha="auto", eta="auto", eval_every=None)
SYSTEMS: dict[str, Callable[[Heat, str], dict[str, Fitted]]] = {
    "bigtopic": _bigtopic,
    **dict.fromkeys([f"tomotopy-{n}" for n in (100, 500, 1000)], _tomotopy),
    **dict.fromkeys([f"gensim-multicore-{n}" for n in (1, 10)], _multicore),
    "gensim-learned-10": _learned,
    "scikit-learn-batch-10": _scikit_learn,
    **dict.fromkeys([f"scikit-learn-online-{n}" for n in (10, 30)], _scikit_learn_online),
}

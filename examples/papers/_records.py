"""What ilr.py learns and scores: LDA and the dual topic model, by records held out of the documents or rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import bigtopic as bt

HELD_OUT = 0.4
QUIET: dict[str, Any] = {"client": False, "progress": False, "tol": 0.0}
THETA = ("fold-in", "training state")

Score = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class Task:
    """A model to learn from records, and how it is scored.

    sampler, limit : names of CGS and of ILR
    scores, judged : names of the scores, and of those of which claims are judged, which are the first
    model : (method, seed, passes, **settings) -> a model that is not fitted, with the paper's priors
    data : seed -> training records, and the function that scores a model: nats a held-out record, (2,)
    """

    sampler: str
    limit: str
    scores: tuple[str, str]
    judged: tuple[str, ...]
    model: Callable[..., Any]
    data: Callable[[int], tuple[bt.Corpus, Score]]

    @property
    def methods(self) -> dict[str, str]:
        return {"CGS": self.sampler, "ILR": self.limit}


def of_documents(corpus: bt.Corpus, K: int) -> Task:
    """LDA: theta from the training records of a document, by the common fold-in and from the training state."""

    def model(method: str | bt.Method, seed: int, passes: int, **how: Any) -> bt.LDA:
        settings = {**QUIET, "doc_topic_prior": 0.5, "topic_word_prior": 0.5, **how}
        return bt.LDA(K, method=method, max_iter=passes, random_state=seed, **settings)

    def data(seed: int) -> tuple[bt.Corpus, Score]:
        train, _ = bt.evaluate.split_records(corpus, HELD_OUT, seed)
        return train, lambda model: held_out(model, corpus, seed)

    return Task("cgs", "ilr", THETA, THETA, model, data)


def held_out(model: Any, corpus: bt.Corpus, seed: int) -> np.ndarray:
    """Nats a held-out record by both theta, of a model of `split_records(corpus, HELD_OUT, seed)[0]`."""
    score = bt.evaluate.held_out_records(model, corpus, HELD_OUT, seed, client=False)
    assert score.own is not None and score.own_from == THETA[1], "the method remembers no records"
    return -np.array([score.value, score.own.value])


def of_pairs(n_records: int, shape: tuple[int, int]) -> Task:
    """The dual topic model of records drawn from a known one."""
    scores = ("p(row, column)", "p(column given row)")

    def model(method: str | bt.Method, seed: int, passes: int, **how: Any) -> bt.DualTopicModel:
        priors = {"row_topic_prior": 0.5, "column_topic_prior": 0.5, "joint_prior": 0.5}
        settings = {**QUIET, **priors, **how}
        return bt.DualTopicModel(*shape, method=method, max_iter=passes, random_state=seed, **settings)

    def data(seed: int) -> tuple[bt.Corpus, Score]:
        records = bt.from_matrix(known(n_records, shape, seed).records(n_records, seed), shuffle=False)
        train, test = bt.evaluate.split_records(records, HELD_OUT, seed)

        def score(model: Any) -> np.ndarray:
            found = bt.evaluate.log_records(model, test, client=False)
            return -np.array([found.joint, found.value])

        return train, score

    return Task("dual-cgs", "dual-ilr", scores, scores[:1], model, data)


def known(n_records: int, shape: tuple[int, int], seed: int) -> bt.datasets.KnownDual:
    """What records are drawn from: of MovieLens's shape where there are as many."""
    n_rows, n_columns = (1223, 1214) if n_records > 100_000 else (200, 150)
    return bt.datasets.KnownDual(n_rows, n_columns, *shape, random_state=seed)


def references_of_documents(corpus: bt.Corpus, seed: int) -> dict[str, float]:
    """Perplexity of held-out records by uniform words, and by the words' shares of the training records."""
    train, _ = bt.evaluate.split_records(corpus, HELD_OUT, seed)
    topic = bt.LDA(1, method="cgs", max_iter=1, **QUIET).fit(train)
    score = bt.evaluate.held_out_records(topic, corpus, HELD_OUT, seed, client=False)
    assert score.unigram is not None
    return {"uniform": math.exp(-score.uniform), "unigram": math.exp(-score.unigram)}


def references_of_pairs(n_records: int, shape: tuple[int, int], seed: int) -> dict[str, float]:
    """Perplexity of held-out records, p(row, column), by uniform pairs, and by the model that they are drawn from."""
    truth = known(n_records, shape, seed)
    records = bt.from_matrix(truth.records(n_records, seed), shuffle=False)
    cells = bt.evaluate.split_records(records, HELD_OUT, seed)[1].to_scipy().tocoo()
    nats = -(cells.data @ np.log(truth.joint_probability(*cells.coords))) / cells.data.sum()
    return {"uniform": float(truth.n_rows * truth.n_columns), "truth": math.exp(nats)}


def looks(passes: int) -> list[int]:
    """Passes after which perplexity is measured."""
    return sorted({n for n in (1, 2, 5, 10, 20, 30, 50, 70, 100, 200, 500) if n < passes} | {passes})


def learned(model: Any, train: bt.Corpus, score: Score) -> tuple[np.ndarray, float]:
    """Fit a model: its scores by pass, (looks, 2), and seconds of processors without them."""
    found, paused = [], 0.0

    def look(event: Any) -> None:
        nonlocal paused
        if event.kind == "pass" and len(model.history_) in looks(model.max_iter):
            begun = time.process_time()
            found.append(score(model))
            paused += time.process_time() - begun

    begun = time.process_time()
    model.set_params(callbacks=[look]).fit(train)
    return np.array(found), time.process_time() - begun - paused

"""Score against seconds: the way of one system to its topics on one corpus, and ours.

Every point is scored by one evaluator on the same held-out tokens. The curves of other systems take long; they are
kept as JSON in a folder, and measured again when version, documents, settings or held-out tokens differ.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import results
from peers import PEERS, Point, Task
from timing import Timer

GROWTH = 1.05  # of the updates from one point of our curve to the next


@dataclass
class Curve:
    """A system's way to its topics.

    efforts, seconds, scores : of its points: passes, iterations or updates; of training; nats per held-out token
    npmi : coherence of the last topics
    measured : when
    control : seconds of the control loop then
    """

    efforts: list[int]
    seconds: list[float]
    scores: list[float]
    npmi: float
    measured: str
    control: float

    def first_with(self, score: float) -> int | None:
        """The first point that scores at least this, or None."""
        return next((i for i, value in enumerate(self.scores) if value >= score), None)


class Heat:
    """One seed's documents, to learn from and held out, and what every system is told.

    Documents are in stored order, which is random, for every system. `method` is ours, None for the default.
    """

    def __init__(
        self,
        name: str,
        corpus: Any,
        n_components: int,
        priors: tuple[float, float],
        seed: int,
        method: str | None = None,
    ) -> None:
        self.method = method
        self.train, self.test = corpora.split(name, corpus, seed)
        self.task = Task(self.train.to_scipy("stored"), n_components, *priors, seed, _authors(self.train))

    def judge(self, topics: Any, prior: Any = None) -> Any:
        """Document completion of topics, an array or a model, on the held-out documents.

        Parameters
        ----------
        prior : of the topics of a document, for the fold-in; None for the one that every system is told
        """
        from bigtopic.evaluation import log_predictive

        return log_predictive(
            topics,
            self.test,
            random_state=self.task.seed,
            train=self.train,
            vocabulary=self.train.vocabulary,
            doc_topic_prior=self.task.doc_topic_prior if prior is None else prior,
        )

    def npmi(self, topics: Any, held_out: bool = False) -> float:
        """Mean coherence of topics on the documents they were learnt from, or on those held out."""
        from bigtopic.evaluation import coherence

        documents = self.test if held_out else self.train
        return coherence(topics, documents, vocabulary=self.train.vocabulary).value

    @cached_property
    def baseline(self) -> Any:
        """What equally frequent words score; knows the number of held-out tokens and what the unigram model scores."""
        return self.judge(np.ones((1, len(self.train.vocabulary))))

    def model(self, **settings: Any) -> Any:
        """An estimator of this package, told the same."""
        from bigtopic.estimators.lda import LDA

        return LDA(
            self.task.n_components,
            doc_topic_prior=self.task.doc_topic_prior,
            topic_word_prior=self.task.topic_word_prior,
            random_state=self.task.seed,
            client=False,
            n_threads=2,
            progress=False,
            **{"method": self.method, **settings},
        )

    def curve(self, learn: Callable[[], list[Point]], timer: Timer) -> Curve:
        """Measure, then score."""
        sample = timer.quietest(learn)
        points = sample.result
        return Curve(
            [p.effort for p in points],
            [p.seconds for p in points],
            [self.judge(p.topics).value for p in points],
            self.npmi(points[-1].topics),
            results.now(),
            sample.control,
        )

    def peer_curve(
        self, label: str, efforts: Sequence[int], timer: Timer, folder: Path, fresh: bool
    ) -> Curve:
        """Another system's, or the one that is kept in `folder` unless `fresh`."""
        path = folder / self._file(label, efforts)
        if path.exists() and not fresh:
            return Curve(**json.loads(path.read_text(encoding="utf-8")))
        curve = self.curve(lambda: PEERS[label].train(self.task, efforts), timer)
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(curve)), encoding="utf-8")
        return curve

    def own_curve(self, passes: int | None, timer: Timer) -> Curve:
        """Ours: one uninterrupted fit that is looked at on the way."""
        return self.curve(lambda: watched_fit(self, max_iter=passes), timer)

    def fit(self, updates: int | None = None, passes: int | None = None) -> Any:
        """A fit as users have it, or one that is ended by Ctrl-C after so many updates; the fitted model."""
        callbacks = [] if updates is None else [_interrupt_after(updates)]
        return self.model(max_iter=passes, callbacks=callbacks).fit(self.train)

    def _file(self, label: str, efforts: Sequence[int]) -> str:
        task, base = self.task, self.baseline
        told = (task.n_components, task.doc_topic_prior, task.topic_word_prior, task.seed, list(efforts))
        judged = (base.n_tokens, base.value, base.unigram)
        known = (label, PEERS[label].version, self.train.fingerprint, told, judged)
        digest = hashlib.blake2b(repr(known).encode(), digest_size=8).hexdigest()
        return f"{re.sub('[^a-z]+', '-', label.lower())}-{task.n_components}-{task.seed}-{digest}.json"


def _authors(corpus: Any) -> list[list[str]] | None:
    """Names of the authors of each document, in stored order."""
    if corpus.authors is None:
        return None
    block = corpus.read(order="stored")
    names = [corpus.authors[i] for i in block.authors]
    return [names[a:b] for a, b in zip(block.author_indptr[:-1], block.author_indptr[1:], strict=True)]


class Updates:
    """Numbers the updates of a fit over all its phases, in each of which events count from the beginning."""

    def __init__(self) -> None:
        self.before, self.last, self.phase = 0, 0, ""

    def at(self, event: Any) -> int:
        """The number of updates at an event; every event must be asked about."""
        if event.phase != self.phase:
            self.before, self.phase = self.before + self.last, event.phase
        self.last = event.step
        return self.before + event.step


def watched_fit(heat: Heat, growth: float = GROWTH, **settings: Any) -> list[Point]:
    """Topics after growing numbers of updates. Seconds are those since the call of `fit`, without those of copying.

    Rounds may be reported some at a time, with the topics after the last of them: a point then has the seconds and the
    topics of that moment. Later phases have few updates, which take long: each pass is a point. So is the end.
    """
    points: list[Point] = []
    updates, phases, paused = Updates(), [], 0.0

    def look(event: Any) -> None:
        nonlocal paused
        now, effort = time.perf_counter(), updates.at(event)
        if event.phase not in phases:
            phases.append(event.phase)
        last = points[-1].effort if points else 0
        grown = event.kind == "round" and effort >= math.ceil(growth * last)
        if effort > last and (grown or event.kind == "end" or (event.kind == "pass" and len(phases) > 1)):
            points.append(Point(effort, now - begun - paused, model.get_topics()))
        elif event.kind == "end" and points:  # an end may change topics, such as to the mean of samples
            points[-1] = Point(effort, now - begun - paused, model.get_topics())
        paused += time.perf_counter() - now

    model = heat.model(callbacks=[look], **settings)
    begun = time.perf_counter()
    model.fit(heat.train)
    return points


def _interrupt_after(n_updates: int) -> Callable[[Any], None]:
    updates = Updates()

    def callback(event: Any) -> None:
        if updates.at(event) == n_updates and event.kind == "round":
            signal.raise_signal(signal.SIGINT)

    return callback

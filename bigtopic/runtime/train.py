"""The loop of learning: passes of rounds, what is reported of them, and when to stop. Blind to method and executor."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic import buffers
from bigtopic.runtime import _kernels, bound, cluster, document_state
from bigtopic.runtime.estep import Work
from bigtopic.runtime.events import Callback, Event
from bigtopic.runtime.graphs import GraphExecutor
from bigtopic.runtime.memory import check_memory
from bigtopic.runtime.model import TopicModel
from bigtopic.runtime.progress import Progress
from bigtopic.runtime.rounds import Cursor, RoundReport, Settings
from bigtopic.runtime.shared_files import corpus_in_reach, require_shared
from bigtopic.runtime.slices import Plan
from bigtopic.runtime.threads import Run, ThreadExecutor
from bigtopic.runtime.views import mean_rows

__all__ = ["Limits", "make_run", "train"]


@dataclass(frozen=True)
class Limits:
    """When to stop, and what to report on the way.

    Attributes
    ----------
    max_iter : passes
    max_time : seconds; truncates, never changes what is computed on the way
    tol : end when, over a pass, the bound per token grew by less than this share of itself, or, where there is no
        bound, the topics moved by less than this (mean total variation distance); 0 never
    score : a function of the model giving held-out nats per token, or None
    evaluate_every : rounds between scores, which come at the end of a stretch; None for once a pass
    patience : end after this many scores without a better one; None never
    """

    max_iter: int = 1
    max_time: float | None = None
    tol: float = 0.0
    score: Callable[[TopicModel], float] | None = None
    evaluate_every: int | None = None
    patience: int | None = None
    callbacks: Sequence[Callback] = ()
    progress: bool | None = None


def make_run(
    model: TopicModel,
    corpus: Any,
    *,
    batch_size: int | None,
    slice_size: int | None,
    order: str,
    total_docs: float | None = None,
    state_url: str | None = None,
) -> Run:
    """What stays the same during a run over this corpus."""
    parts = corpus.parts
    entries = corpus.nnz / max(1, corpus.n_docs)
    plan = Plan(
        [part.n_docs for part in parts],
        entries,
        batch_size,
        slice_size,
        delay=model.method.delay if model.method.inner == 1 else 0,
        shuffled=order != "stored",
        seed=model.seed,
    )
    kernel = model.method.load_kernel()
    id_map = model.word_map(corpus.vocabulary)
    work = Work(kernel, model.hyper(), len(corpus.vocabulary), corpus.n_authors, id_map, state_url)
    share = (total_docs or corpus.n_docs) / max(1, corpus.n_docs)
    settings = Settings(
        model.method.schemes,
        model.seed,
        corpus.n_docs * share,
        corpus.n_tokens * share,
        model.method.inner,
        kernel.state,
    )
    return Run(parts, plan, work, settings)


def train(
    model: TopicModel,
    corpus: Any,
    limits: Limits,
    *,
    batch_size: int | None = None,
    slice_size: int | None = None,
    order: str = "shuffled",
    total_docs: float | None = None,
    client: Any = None,
    n_threads: int | None = None,
    executor: Callable[[Run], Any] | None = None,
) -> None:
    """Learn from a corpus; `model` moves in place and is valid after every round, Ctrl-C included.

    Parameters
    ----------
    batch_size, slice_size : documents of an update and of a kernel call; None for the whole corpus and a default
    order : "shuffled" or "stored"
    total_docs : the declared size of a stream; None for the corpus'
    client : Dask client; None for threads
    n_threads : of the in-process executor
    executor : makes the executor instead
    """
    with ExitStack() as stack:
        stack.enter_context(corpus_in_reach(client, corpus))
        kernel = model.method.load_kernel()
        state_url = stack.enter_context(_state_folder(client)) if kernel.state != "none" else None
        run = make_run(
            model,
            corpus,
            batch_size=batch_size,
            slice_size=slice_size,
            order=order,
            total_docs=total_docs,
            state_url=state_url,
        )
        n_threads = n_threads or cluster.default_threads()
        check_memory(run, model.params, n_threads if client is None else 1)
        if executor is not None:
            engine = executor(run)
        else:
            engine = ThreadExecutor(run, n_threads) if client is None else GraphExecutor(run, client)
        stack.enter_context(engine)
        stop = stack.enter_context(_interruptible())
        total = corpus.n_tokens * limits.max_iter
        bar = stack.enter_context(Progress("learning", total, " tokens", limits.progress))
        stack.callback(buffers.clear)
        _Loop(model, run, engine, limits, bar, stop).passes()


@dataclass
class _Pass:
    """What a pass is measured by.

    topics : at its start, to see how far they move, or None
    topics_bound : of the params that its documents are seen with, in nats, where there is a bound
    """

    topics: np.ndarray | None = None
    topics_bound: float | None = None
    documents_bound: float = 0.0
    n_tokens: float = 0.0


@dataclass
class _Loop:
    model: TopicModel
    run: Run
    engine: Any
    limits: Limits
    bar: Progress
    stop: threading.Event
    begun: float = field(default_factory=time.perf_counter)
    n_docs: int = 0
    n_tokens: float = 0.0
    scores: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    measures: _Pass = field(default_factory=_Pass)

    def passes(self) -> None:
        self._tell("start")
        reason = None
        end = self.model.cursor.epoch + self.limits.max_iter
        while reason is None and self.model.cursor.epoch < end:
            reason = self._one_pass(end)
        self._tell("end", reason=reason or "max_iter")

    def _one_pass(self, end: int) -> str | None:
        """The rounds that are left of a pass, and perhaps of some more; the reason to end the run, if there is one."""
        self.measures = self._begin_pass()
        reason = self._rounds(1 if self._looks_at_passes else end - self.model.cursor.epoch)
        if self.model.cursor.round < self.run.plan.n_rounds:
            return reason
        at_rest = self._end_pass()
        if reason is None and self.limits.score and self._score():
            reason = "score"
        return reason or ("tol" if at_rest else None)

    @property
    def _looks_at_passes(self) -> bool:
        """Whether the params at the end of a pass matter to anybody."""
        limits = self.limits
        return bool(limits.callbacks or limits.score or limits.tol > 0 or self._has_bound)

    def _rounds(self, n_passes: int) -> str | None:
        every = self.limits.evaluate_every if self.limits.score else None
        due = None if every is None else (self.model.cursor.step // every + 1) * every
        while self.model.cursor.round < self.run.plan.n_rounds:
            n = None if due is None else due - self.model.cursor.step
            for params, reports in self.engine.advance(
                self.model.params, self.model.cursor, n, self._seconds_left(), n_passes
            ):
                self.model.params = params
                for epoch, group in groupby(reports, key=lambda report: report.cursor.epoch):
                    if epoch > self.model.cursor.epoch:
                        self._end_pass()
                        self.measures = self._begin_pass()
                    self._take(list(group))
                if self.stop.is_set():
                    return "interrupt"
            left = self._seconds_left()
            if left is not None and left <= 0:
                return "max_time"
            if every is not None and due is not None and self.model.cursor.step >= due:
                due = (self.model.cursor.step // every + 1) * every
                if self.model.cursor.round < self.run.plan.n_rounds and self._score():
                    return "score"
        return None

    def _take(self, reports: list[RoundReport]) -> None:
        """Rounds of one pass were done."""
        last = reports[-1].cursor
        self.model.cursor = replace(last, round=last.round + 1, step=last.step + 1)
        for report in reports:
            self.measures.n_tokens += report.n_tokens
            self.measures.documents_bound += report.info.get("bound", 0.0)
            self._done(report)

    def _done(self, report: RoundReport) -> None:
        if self.run.work.state_url:
            document_state.drop(self.run.work.state_url, f"step-{report.cursor.step}")
        self.n_docs += report.n_docs
        self.n_tokens += report.n_tokens
        self.bar.update(report.n_tokens, **({"score": f"{self.scores[-1]:.3f}"} if self.scores else {}))
        self._tell("round", step=report.cursor.step + 1, info=dict(report.info))

    def _begin_pass(self) -> _Pass:
        if self._has_bound:
            return _Pass(topics_bound=bound.global_part(self.model.params))
        return _Pass(topics=self._topics() if self.limits.tol > 0 else None)

    def _end_pass(self) -> bool:
        """Whether the params are at rest."""
        measures = self.measures
        epoch = self.model.cursor.epoch
        if self.run.work.state_url:
            document_state.drop(self.run.work.state_url, f"epoch-{epoch}")
        self.model.cursor = Cursor(epoch + 1, 0, self.model.cursor.step)
        value, change = self._bound_per_token(measures), self._change(measures)
        self._record({"pass": epoch + 1, "bound": value, **({} if change is None else {"change": change})})
        self._tell("pass", bound=value, change=change)
        return self._at_rest(change)

    def _bound_per_token(self, measures: _Pass) -> float | None:
        if measures.topics_bound is None or measures.n_tokens == 0:
            return None
        self.bounds.append((measures.documents_bound + measures.topics_bound) / measures.n_tokens)
        return self.bounds[-1]

    def _change(self, measures: _Pass) -> float | None:
        """Mean total variation distance of the topics from where they were when the pass began."""
        if measures.topics is None:
            return None
        now = self._topics()
        change = np.zeros(now.shape[1])
        _kernels.topic_change(measures.topics, now, change)
        return float(change[: self.model.n_components].mean() / 2)

    def _score(self) -> bool:
        """Score the held-out documents; whether patience is over."""
        assert self.limits.score is not None
        self.scores.append(self.limits.score(self.model))
        self._record({"pass": self.model.cursor.epoch, "score": self.scores[-1]})
        self._tell("score", score=self.scores[-1])
        best = int(np.argmax(self.scores))
        return self.limits.patience is not None and len(self.scores) - 1 - best >= self.limits.patience

    def _record(self, row: dict[str, Any]) -> None:
        seconds = time.perf_counter() - self.begun
        rate = self.n_tokens / max(seconds, 1e-9)
        shared = {
            "step": self.model.cursor.step,
            "seconds": seconds,
            "n_docs": self.n_docs,
            "n_tokens": self.n_tokens,
        }
        self.model.history.append({**row, **shared, "tokens_per_second": rate})

    def _tell(self, kind: str, step: int | None = None, **figures: Any) -> None:
        if not self.limits.callbacks:
            return
        event = Event(
            kind,
            self.model.cursor.step if step is None else step,
            self.model.cursor.epoch,
            time.perf_counter() - self.begun,
            self.n_docs,
            self.n_tokens,
            **figures,
        )
        for callback in self.limits.callbacks:
            callback(event)

    def _seconds_left(self) -> float | None:
        if self.limits.max_time is None:
            return None
        return self.limits.max_time - (time.perf_counter() - self.begun)

    @property
    def _has_bound(self) -> bool:
        kernel, options = self.run.work.kernel, self.run.work.hyper.options
        return kernel.bound and bool(options.get("bound")) and self.run.plan.n_rounds == 1

    def _topics(self) -> np.ndarray:
        return mean_rows(self.model.topic_words, None)

    def _at_rest(self, change: float | None) -> bool:
        if self.limits.tol <= 0:
            return False
        if change is not None:
            return change < self.limits.tol
        if len(self.bounds) < 2:
            return False
        return abs(self.bounds[-1] - self.bounds[-2]) < self.limits.tol * abs(self.bounds[-2])


@contextmanager
def _state_folder(client: Any) -> Iterator[str]:
    """A temporary folder for document state, which all workers must see."""
    with tempfile.TemporaryDirectory(prefix="bigtopic-state-") as folder:
        if client is not None:
            require_shared(client, Path(folder), document_state.REMEDY)
        yield folder


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """The first Ctrl-C ends the run after the current round; a second one raises as usual."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    usual = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: Any) -> None:
        stop.set()
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, usual)

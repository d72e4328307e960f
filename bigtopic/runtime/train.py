"""The loop of learning: passes of rounds, what is reported of them, and when to stop. Blind to method and executor."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bigtopic.runtime import _kernels, bound, cluster, document_state
from bigtopic.runtime.estep import Work
from bigtopic.runtime.events import Callback, Event
from bigtopic.runtime.graphs import GraphExecutor
from bigtopic.runtime.memory import check_memory
from bigtopic.runtime.model import TopicModel
from bigtopic.runtime.params import Params
from bigtopic.runtime.progress import Progress
from bigtopic.runtime.rounds import Cursor, RoundReport, Settings
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
    evaluate_every : rounds between scores; None for once a pass
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
        kernel = model.method.load_kernel()
        state_url = stack.enter_context(_state_folder()) if kernel.state != "none" else None
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
        _Loop(model, run, engine, limits, bar, stop).passes()


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

    def passes(self) -> None:
        self._tell("start")
        reason = "max_iter"
        for _ in range(self.limits.max_iter):
            before = self._topics() if self.limits.tol > 0 and not self._has_bound else None
            ended = self._one_pass()
            if ended:
                reason = ended
                break
            if self._at_rest(before):
                reason = "tol"
                break
        self._tell("end", reason=reason)

    def _one_pass(self) -> str | None:
        """All rounds of a pass; the reason to end the run, if there is one."""
        docs, tokens, info = 0, 0.0, {"bound": 0.0}
        before = self._bound_part()
        every = self.limits.evaluate_every if self.limits.score else None
        while self.model.cursor.round < self.run.plan.n_rounds:
            n = None if every is None else every - self.model.cursor.step % every
            for params, report in self.engine.advance(
                self.model.params, self.model.cursor, n, self._seconds_left()
            ):
                self._done(params, report)
                docs, tokens = docs + report.n_docs, tokens + report.n_tokens
                info["bound"] += report.info.get("bound", 0.0)
                if self.stop.is_set():
                    return "interrupt"
            left = self._seconds_left()
            if left is not None and left <= 0:
                return "max_time"
            scored = every is not None and self.model.cursor.step % every == 0
            if scored and self.model.cursor.round < self.run.plan.n_rounds and self._score():
                return "score"
        self._end_pass(tokens, info["bound"], before)
        return "score" if self.limits.score and self._score() else None

    def _done(self, params: Params, report: RoundReport) -> None:
        self.model.params = params
        self.model.cursor = replace(report.cursor, round=report.cursor.round + 1, step=report.cursor.step + 1)
        if self.run.work.state_url:
            document_state.drop(self.run.work.state_url, f"step-{report.cursor.step}")
        self.n_docs += report.n_docs
        self.n_tokens += report.n_tokens
        self.bar.update(report.n_tokens, **({"score": f"{self.scores[-1]:.3f}"} if self.scores else {}))
        self._tell("round", info=report.info)

    def _end_pass(self, tokens: float, documents_bound: float, topics_bound: float | None) -> None:
        epoch = self.model.cursor.epoch
        if self.run.work.state_url:
            document_state.drop(self.run.work.state_url, f"epoch-{epoch}")
        self.model.cursor = Cursor(epoch + 1, 0, self.model.cursor.step)
        value = None
        if topics_bound is not None and tokens > 0:
            value = (documents_bound + topics_bound) / tokens
            self.bounds.append(value)
        self._record({"pass": epoch + 1, "bound": value})
        self._tell("pass", bound=value)

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

    def _tell(self, kind: str, **figures: Any) -> None:
        if not self.limits.callbacks:
            return
        event = Event(
            kind,
            self.model.cursor.step,
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

    def _bound_part(self) -> float | None:
        """The topics' share of the bound, at the params the documents of this pass are seen with."""
        return bound.global_part(self.model.params) if self._has_bound else None

    def _topics(self) -> np.ndarray:
        return mean_rows(self.model.topic_words, None)

    def _at_rest(self, before: np.ndarray | None) -> bool:
        if self.limits.tol <= 0:
            return False
        if self._has_bound:
            if len(self.bounds) < 2:
                return False
            return abs(self.bounds[-1] - self.bounds[-2]) < self.limits.tol * abs(self.bounds[-2])
        assert before is not None
        now = self._topics()
        change = np.zeros(now.shape[1])
        if before.shape == now.shape:
            _kernels.topic_change(before, now, change)
            moved = float(change[: self.model.n_components].mean() / 2)
            self.model.history[-1]["change"] = moved
            return moved < self.limits.tol
        return False


@contextmanager
def _state_folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="bigtopic-state-") as folder:
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

"""When a run stops: its limits, convergence, patience with a score, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtopic.learning import _kernels
from bigtopic.learning.events import Callback
from bigtopic.plan.cursor import RoundReport
from bigtopic.state import bound
from bigtopic.state.model import TopicModel
from bigtopic.state.views import mean_rows

__all__ = ["Limits", "PassMeasure", "ended_by_sigterm", "interruptible", "uninterrupted"]


@dataclass(frozen=True)
class Limits:
    """When to stop, and what to report.

    Attributes
    ----------
    max_iter : passes
    max_time : time limit in seconds; it truncates the run after the update in which they pass, and changes nothing
        before that. Compiling on first use counts, what a resumed run took before does not; None for no limit
    tol : stop when, over a pass, the bound per token grew by less than this share of itself, or, without a bound, the
        topics moved by less than this (mean total variation distance); 0 never
    score : a function of the model that returns held-out nats per token, or None
    evaluate_every : rounds between scores, which are taken at the end of an exchange; None for one score per pass
    patience : stop after this many scores without an improvement; None disables early stopping
    callbacks : called with every event, see `learning.events`
    progress : show a progress bar; None shows it in terminals and notebooks. False also silences the line that says how
        much disk the state of documents needs
    """

    max_iter: int = 1
    max_time: float | None = None
    tol: float = 0.0
    score: Callable[[TopicModel], float] | None = None
    evaluate_every: int | None = None
    patience: int | None = None
    callbacks: Sequence[Callback] = ()
    progress: bool | None = None

    def seconds_left(self, seconds: float) -> float | None:
        """The rest of `max_time` after `seconds`; None without a limit."""
        return None if self.max_time is None else self.max_time - seconds

    def next_score(self, step: int) -> int | None:
        """The update before the next score, after `step` updates; None if scores come with the passes."""
        if self.score is None or self.evaluate_every is None:
            return None
        return (step // self.evaluate_every + 1) * self.evaluate_every

    def out_of_patience(self, scores: Sequence[float]) -> bool:
        """Whether at least `patience` scores came after the best one."""
        return self.patience is not None and len(scores) - 1 - int(np.argmax(scores)) >= self.patience


class PassMeasure:
    """How far a pass moved the params: by the bound if there is one, else, if there is a tolerance, by the topics.

    Parameters
    ----------
    model : the model that learns; read when a pass starts and ends
    tol : see `Limits`
    has_bound : whether rounds report the bound of documents that were all seen with the same params
    """

    def __init__(self, model: TopicModel, tol: float, has_bound: bool) -> None:
        self._model = model
        self._tol = tol
        self._has_bound = has_bound
        self._bounds: list[float] = []  # per token, of the passes so far
        self._n_tokens = 0.0
        self._documents_bound = 0.0
        self._topics_bound: float | None = None
        self._topics: np.ndarray | None = None

    @property
    def looks_back(self) -> bool:
        """Whether the end of a pass is compared with its beginning, so that a run cannot be resumed inside a pass."""
        return self._tol > 0 or self._has_bound

    def resume(self) -> None:
        """Continue after the passes in the model's history."""
        bounds = (row.get("bound") for row in self._model.rows if "score" not in row)
        self._bounds = [value for value in bounds if value is not None]

    @property
    def had_converged(self) -> bool:
        """Whether the last pass in the model's history changed less than the tolerance."""
        passes = [row for row in self._model.rows if "score" not in row]
        return bool(passes) and self.converged(passes[-1].get("change"))

    def begin(self) -> None:
        """Start a pass with the current params."""
        self._n_tokens = self._documents_bound = 0.0
        self._topics_bound = bound.global_part(self._model.params) if self._has_bound else None
        self._topics = self._topics_now() if self._tol > 0 and not self._has_bound else None

    def add(self, report: RoundReport) -> None:
        """Record a round of the pass."""
        self._n_tokens += report.n_tokens
        self._documents_bound += report.info.get("bound", 0.0)

    def bound(self) -> float | None:
        """The bound of the pass that ends now, in nats per token; None if there is none."""
        if self._topics_bound is None or self._n_tokens == 0:
            return None
        self._bounds.append((self._documents_bound + self._topics_bound) / self._n_tokens)
        return self._bounds[-1]

    def change(self) -> float | None:
        """Mean total variation distance of the topics from those at the start of the pass, if it is needed."""
        if self._topics is None:
            return None
        now = self._topics_now()
        change = np.zeros(now.shape[1])
        _kernels.topic_change(self._topics, now, change)
        return float(change[: self._model.topic_words.n_components].mean() / 2)

    def converged(self, change: float | None) -> bool:
        """Whether the pass changed the bound, or the topics, by less than the tolerance."""
        if self._tol <= 0:
            return False
        if change is not None:
            return change < self._tol
        if len(self._bounds) < 2:
            return False
        return abs(self._bounds[-1] - self._bounds[-2]) < self._tol * abs(self._bounds[-2])

    def _topics_now(self) -> np.ndarray:
        return mean_rows(self._model.topic_words, None)


_TERMINATED: ContextVar[threading.Event | None] = ContextVar("bigtopic-terminated", default=None)


@contextmanager
def ended_by_sigterm() -> Iterator[threading.Event]:
    """Runs in this block end at SIGTERM as at Ctrl-C; the event says that it came, so that the caller can end too."""
    terminated = threading.Event()
    outer = _TERMINATED.set(terminated)
    try:
        yield terminated
    finally:
        _TERMINATED.reset(outer)


@contextmanager
def interruptible(saved: bool = False) -> Iterator[threading.Event]:
    """The first Ctrl-C ends the run after the current round; a second one raises as usual, but not in blocks that are
    `uninterrupted`. So does SIGTERM in `ended_by_sigterm`, and where the run is `saved`; when that is done, it is
    handled as usual."""
    stop, caller = threading.Event(), _TERMINATED.get()
    terminated = caller or threading.Event()
    try:
        with ExitStack() as stack:
            if threading.current_thread() is threading.main_thread():
                stack.enter_context(_on_first(signal.SIGINT, stop.set))
                if saved or caller is not None:
                    stack.enter_context(_on_first(signal.SIGTERM, terminated.set, stop.set))
            yield stop
    finally:
        if terminated.is_set() and caller is None:
            signal.raise_signal(signal.SIGTERM)


@contextmanager
def _on_first(number: int, *actions: Callable[[], None]) -> Iterator[None]:
    """Take these actions at the first such signal, and treat later ones as usual: the second one after the block that
    must not be interrupted. Signals that are ignored, as in the background of a shell, or handled outside Python, stay
    so."""
    usual = signal.getsignal(number)
    if usual in (None, signal.SIG_IGN):
        yield
        return

    def act(number: int, frame: Any) -> None:
        signal.signal(number, insist)  # first: a second one may come while an event has its lock
        for action in actions:
            action()

    def insist(number: int, frame: Any) -> None:
        signal.signal(number, usual)
        if _late.waits:
            _late.number = number
        else:
            signal.raise_signal(number)

    signal.signal(number, act)
    try:
        yield
    finally:
        signal.signal(number, usual)


@dataclass
class _Late:
    """The second signal, if it comes while the main thread must not be interrupted: another one is handled at once."""

    waits: bool = False
    number: int | None = None


_late = _Late()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A second Ctrl-C is raised at the end of the outermost such block: params that have moved by half a step count
    documents that nothing remembers."""
    if _late.waits or threading.current_thread() is not threading.main_thread():
        yield
        return
    _late.waits = True
    try:
        yield
    finally:
        _late.waits = False
        if (number := _late.number) is not None:
            _late.number = None
            signal.raise_signal(number)

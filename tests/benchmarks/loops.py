"""The compiled loops of an update of the default method, which release Python's lock: measured, or replaced by sleeps.

What is left of an update is Python, which one thread does at a time. A sleep takes the mean seconds that were measured,
in proportion to the columns where threads divide a loop; what such a loop computes is not there, so only seconds count.
Renaming words (`compact`) stays real, because its result is needed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from bigtopic.estimators.lda import LDA
from bigtopic.kernels.collapsed import cvb0
from bigtopic.learning import estep
from bigtopic.plan import _kernels as plan_kernels
from bigtopic.state import _kernels as state_kernels

__all__ = ["Update", "gains", "measured"]

BATCH_SIZE = 500
# Name: where it is, and what a sleep returns.
SLEEPING = {
    "_infer": (cvb0, (500, 0.0)),
    "_is_finite": (estep, True),
    "gather_linear": (state_kernels, None),
    "scatter_add": (state_kernels, None),
}
LOOPS = {name: module for name, (module, _) in SLEEPING.items()} | {"compact": plan_kernels}


class Update:
    """Processor seconds of an update on one thread.

    Attributes
    ----------
    whole : all of it
    loops : {name: seconds of a loop}
    """

    def __init__(self, whole: float, loops: dict[str, float]) -> None:
        self.whole, self.loops = whole, loops

    @property
    def alone(self) -> float:
        """The share that one thread does at a time."""
        return 1.0 - sum(self.loops.values()) / self.whole


def measured(corpus: Any, n_components: int) -> Update:
    """The mean update of a pass, whose first minibatches compile and fill memory."""
    loops: Counter[str] = Counter()
    fit(corpus[: 20 * BATCH_SIZE], n_components, 1)
    with replaced({name: _timed(getattr(module, name), name, loops) for name, module in LOOPS.items()}):
        whole, n_updates = fit(corpus, n_components, 1, time.thread_time)
    return Update(whole / n_updates, {name: seconds / n_updates for name, seconds in loops.items()})


def gains(corpus: Any, n_components: int, update: Update, threads: list[int]) -> list[float]:
    """How much faster so many threads do a pass than one does, with sleeps for loops."""
    sleeps = {name: _sleep(name, update.loops[name], result) for name, (_, result) in SLEEPING.items()}
    with replaced(sleeps):
        seconds = [fit(corpus, n_components, n)[0] for n in [1, *threads]]
    return [seconds[0] / one for one in seconds[1:]]


def fit(
    corpus: Any, n_components: int, n_threads: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, int]:
    """Seconds of the updates of a pass, and their number."""
    times: dict[str, float] = {}
    steps = [0]

    def note(event: Any) -> None:
        times.setdefault(event.kind, clock())
        steps[0] = event.step

    where = {"n_threads": n_threads, "client": False, "progress": False}
    LDA(n_components, batch_size=BATCH_SIZE, max_iter=1, callbacks=[note], **where).fit(corpus)
    return times["end"] - times["start"], steps[0]


@contextmanager
def replaced(functions: dict[str, Callable[..., Any]]) -> Iterator[None]:
    """These functions in place of the loops of these names."""
    with ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(mock.patch.object(LOOPS[name], name, function))
        yield


def _timed(loop: Callable[..., Any], name: str, seconds: Counter[str]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        begun = time.thread_time()
        result = loop(*arguments)
        seconds[name] += time.thread_time() - begun
        return result

    return timed


def _sleep(name: str, seconds: float, result: Any) -> Callable[..., Any]:
    def sleep(*arguments: Any) -> Any:
        share = 1.0
        if name == "scatter_add":
            *_, sums, first, last = arguments
            share = (last - first) / len(sums)
        time.sleep(share * seconds)
        return result

    return sleep

"""The compiled loops of an update of the default method, which release Python's lock: measured, or replaced by sleeps.

What is left of an update is Python, which one thread does at a time. A sleep takes the mean seconds that were measured,
in proportion where threads divide a loop; what such a loop computes is not there, so only seconds count. Of the words
that `compact` would rename, only shapes are right.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from bigtopic.estimators.lda import LDA
from bigtopic.kernels.collapsed import cvb0
from bigtopic.learning import _kernels as learning_kernels
from bigtopic.plan import _kernels as plan_kernels
from bigtopic.state import _kernels as state_kernels

__all__ = ["LOOPS", "Update", "gains", "measured"]

BATCH_SIZE = 500
LOOPS = {
    "compact": plan_kernels,
    "gather_linear": state_kernels,
    "_infer": cvb0,
    "add_up": learning_kernels,
    "scatter_add": state_kernels,
}
ENTRIES_PER_WORD = 8  # of a minibatch
BEFORE = 32  # updates that are not timed, because a run begins differently: until a segment ends, see `plan.delays`
N_UPDATES = 80  # that are
SEVERAL = "scatter_some"  # calls of `scatter_add`, by several threads


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
    """The mean update of a pass, after its first, whose minibatches are halved and merged."""
    loops: Counter[str] = Counter()
    with replaced({name: _timed(getattr(module, name), name, loops) for name, module in LOOPS.items()}):
        seconds, n_updates = fit(
            corpus[: (BEFORE + N_UPDATES) * BATCH_SIZE],
            n_components,
            1,
            time.thread_time,
            before=BEFORE,
            begin=loops.clear,
        )
    return Update(seconds / n_updates, {name: loops[name] / n_updates for name in LOOPS})


def gains(
    corpus: Any, n_components: int, update: Update, threads: list[int], passes: int | None = None
) -> list[float]:
    """How much faster so many threads do some passes than one does, with sleeps for loops.

    What an update takes on one thread does not depend on their number, so few are timed.
    """
    seconds = update.loops
    sleeps = {
        "compact": _sleep_and_copy(seconds["compact"]),
        "gather_linear": _sleep(seconds["gather_linear"]),
        "_infer": _sleep(seconds["_infer"], (BATCH_SIZE, 0.0)),
        "add_up": _sleep(seconds["add_up"]),
        "scatter_add": _sleep_without_sums(seconds["scatter_add"]),
    }
    several = _sleep_for_each(seconds["scatter_add"])
    with replaced(sleeps), mock.patch.object(state_kernels, SEVERAL, several):
        alone, n_alone = fit(corpus[: (BEFORE + N_UPDATES) * BATCH_SIZE], n_components, 1, before=BEFORE)
        together = [fit(corpus, n_components, n, passes=passes) for n in threads]
    return [alone / n_alone * n_updates / elapsed for elapsed, n_updates in together]


def fit(
    corpus: Any,
    n_components: int,
    n_threads: int,
    clock: Callable[[], float] = time.perf_counter,
    passes: int | None = 1,
    before: int = 0,
    begin: Callable[[], None] = lambda: None,
) -> tuple[float, int]:
    """Seconds of the updates after so many, and their number; calls `begin` where these end."""
    first, last = [], []

    def note(event: Any) -> None:
        last[:] = clock(), event.step
        if not first and event.step >= before:
            first[:] = last
            begin()

    where = {"n_threads": n_threads, "client": False, "progress": False}
    LDA(n_components, batch_size=BATCH_SIZE, max_iter=passes, callbacks=[note], **where).fit(corpus)
    return last[0] - first[0], last[1] - first[1]


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


def _sleep(seconds: float, result: Any = None) -> Callable[..., Any]:
    def sleep(*arguments: Any) -> Any:
        time.sleep(seconds)
        return result

    return sleep


def _sleep_without_sums(seconds: float) -> Callable[..., Any]:
    def sleep(raw: Any, ids: Any, values: Any, factor: Any, sums: Any) -> None:
        time.sleep(seconds)
        sums[:] = 0

    return sleep


def _sleep_for_each(seconds: float) -> Callable[..., Any]:
    def sleep(raw: Any, ids: Any, values: Any, factors: Any, share: int, n_shares: int) -> None:
        time.sleep(seconds * sum(len(some) > 0 for some in ids) / n_shares)

    return sleep


def _sleep_and_copy(seconds: float) -> Callable[..., Any]:
    def sleep(
        indptr: Any, words: Any, counts: Any, id_map: Any, lookup: Any,
        out_indptr: Any, out_words: Any, out_counts: Any, out_ids: Any,
    ) -> tuple[int, int]:  # fmt: skip
        time.sleep(seconds)
        n_words = len(words) // ENTRIES_PER_WORD
        out_indptr[:], out_counts[:], out_ids[:n_words] = indptr, counts, np.arange(n_words)
        return n_words, len(words)

    return sleep

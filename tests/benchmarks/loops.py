"""The compiled loops of an update of the default method, which release Python's lock: measured, or replaced by sleeps.

What is left of an update is Python, which one thread does at a time. A sleep takes the seconds that were measured for
as many slices or rows; what such a loop computes is not there, so only seconds count. Of the words that
`look_up_slices` would rename, only shapes are right.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest import mock

from bigtopic.estimators.lda import LDA
from bigtopic.kernels.collapsed import cvb0
from bigtopic.learning import _kernels as learning_kernels
from bigtopic.learning import estep, reduce
from bigtopic.state import _kernels as state_kernels
from bigtopic.state import lazy_array

__all__ = ["LOOPS", "Update", "gains", "measured"]

BATCH_SIZE = 500
LOOPS = {
    "look_up_slices": learning_kernels,
    "_infer": cvb0,
    "scatter_some": state_kernels,
}
# While the delay is short, and where parts end
OTHERS = {
    "gather_linear": [estep],
    "scatter_add": [state_kernels],
    "add_up": [estep, lazy_array],
    "add_axis": [reduce],
}
BEFORE = 256  # updates that are not timed, because a run begins with shorter delays, see `plan.delays`
N_UPDATES = 256  # that are, at least


class Update:
    """Processor seconds of an update on one thread.

    Attributes
    ----------
    whole : all of it
    loops : {name: seconds of a loop}
    n_rows : of the params, that an update needs
    """

    def __init__(self, whole: float, loops: dict[str, float], n_rows: int) -> None:
        self.whole, self.loops, self.n_rows = whole, loops, n_rows

    @property
    def alone(self) -> float:
        """The share that one thread does at a time."""
        return 1.0 - sum(self.loops.values()) / self.whole


class _EnoughError(Exception):
    """Ends a run."""


def measured(corpus: Any, n_components: int) -> Update:
    """The mean update of a pass, after the first ones."""
    loops: Counter[str] = Counter()
    rows: list[int] = []
    with replaced({name: _timed(getattr(module, name), name, loops, rows) for name, module in LOOPS.items()}):
        seconds, n_updates = fit(
            corpus,
            n_components,
            1,
            time.thread_time,
            before=BEFORE,
            n_updates=N_UPDATES,
            begin=lambda: (loops.clear(), rows.clear()),
        )
    means = {name: loops[name] / n_updates for name in LOOPS}
    return Update(seconds / n_updates, means, sum(rows) // n_updates)


def gains(
    corpus: Any, n_components: int, update: Update, threads: list[int], passes: int | None = None
) -> list[float]:
    """How much faster so many threads do some passes than one does, with sleeps for loops.

    What an update takes on one thread does not depend on their number, so few are timed.
    """
    with replaced(_sleeps(update)):
        alone, n_alone = fit(corpus, n_components, 1, before=BEFORE, n_updates=N_UPDATES)
        together = [fit(corpus, n_components, n, passes=passes) for n in threads]
    return [alone / n_alone * n_updates / elapsed for elapsed, n_updates in together]


def fit(
    corpus: Any,
    n_components: int,
    n_threads: int,
    clock: Callable[[], float] = time.perf_counter,
    passes: int | None = 1,
    before: int = 0,
    n_updates: int | None = None,
    begin: Callable[[], Any] = lambda: None,
) -> tuple[float, int]:
    """Seconds of the updates after so many, of `n_updates` or all, and their number; calls `begin` where these
    begin."""
    first, last = [], []

    def note(event: Any) -> None:
        last[:] = clock(), event.step
        if not first and event.step >= before:
            first[:] = last
            begin()
        elif n_updates is not None and first and event.step >= first[1] + n_updates:
            raise _EnoughError

    where = {"n_threads": n_threads, "client": False, "progress": False}
    with suppress(_EnoughError):
        LDA(n_components, batch_size=BATCH_SIZE, max_iter=passes, callbacks=[note], **where).fit(corpus)
    return last[0] - first[0], last[1] - first[1]


@contextmanager
def replaced(functions: dict[str, Callable[..., Any]]) -> Iterator[None]:
    """These functions in place of the loops of these names."""
    with ExitStack() as stack:
        for name, function in functions.items():
            for module in OTHERS.get(name) or [LOOPS[name]]:
                stack.enter_context(mock.patch.object(module, name, function))
        yield


def _timed(loop: Callable[..., Any], name: str, seconds: Counter[str], rows: list[int]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        begun = time.thread_time()
        result = loop(*arguments)
        seconds[name] += time.thread_time() - begun
        if name == "look_up_slices":
            rows.append(result[0])
        return result

    return timed


def _sleeps(update: Update) -> dict[str, Callable[..., Any]]:
    """Functions that take the place of the loops."""
    seconds, n_rows = update.loops, update.n_rows

    def look_up_slices(
        indptr: Any, words: Any, counts: Any, rows: Any, spans: Any, id_map: Any, lookup: Any,
        out_indptr: Any, out_words: Any, out_counts: Any, out_rows: Any, ids: Any, first_docs: Any, first_words: Any,
        n_tokens: Any, *params: Any,
    ) -> tuple[int, int, int]:  # fmt: skip
        time.sleep(seconds["look_up_slices"] * len(spans))
        first_docs[0], first_words[0], n_tokens[:] = 0, 0, 1.0
        for s, (start, stop) in enumerate(spans):
            n_ids = min(n_rows, indptr[stop] - indptr[start])
            first_docs[s + 1], first_words[s + 1] = first_docs[s] + stop - start, first_words[s] + n_ids
        return first_words[-1], 0, 1

    def infer(first_docs: Any, *others: Any) -> None:
        *_, sums, _, sweeps, dropped = others
        time.sleep(seconds["_infer"] * len(sweeps))
        sums[:], sweeps[:], dropped[:] = 0.0, BATCH_SIZE, 0.0

    def scatter_some(raw: Any, ids: Any, values: Any, factors: Any, share: int, n_shares: int) -> None:
        time.sleep(seconds["scatter_some"] * sum(map(len, ids)) / n_rows / n_shares)

    def scatter_add(raw: Any, ids: Any, values: Any, factor: Any, sums: Any) -> None:
        time.sleep(seconds["scatter_some"] * len(ids) / n_rows)
        sums[:] = 0

    def add_up(values: Any, sums: Any) -> None:
        sums[:] = 0

    return {
        "look_up_slices": look_up_slices, "_infer": infer, "scatter_some": scatter_some,
        "gather_linear": lambda *arguments: None, "scatter_add": scatter_add, "add_up": add_up,
        "add_axis": lambda a, b: a,
    }  # fmt: skip

"""The compiled loops of a delayed update of the default method, which threads run side by side: measured, or replaced
by sleeps.

What is left of an update is Python, which one thread does at a time. A sleep takes the seconds that were measured for
as many rows or documents; what such a loop computes is not there, so only seconds count. Of the words of a slice, only
the number of distinct ones is right. The first minibatches of a run are two slices each, whose statistics are
joined: where no crew does that, they are really added.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from statistics import median
from types import FunctionType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from bigtopic.learning.crew import _kernels as crew_kernels
from bigtopic.learning.crew import columns, segment
from numba import njit, types

from bigtopic import buffers
from bigtopic.estimators.lda import LDA
from bigtopic.kernels.collapsed import cvb0
from bigtopic.kernels.support.entry import padded_prior
from bigtopic.kernels.support.slice_loop import address_of
from bigtopic.kernels.support.sums import add_up_two
from bigtopic.learning import _kernels as learning_kernels
from bigtopic.learning import estep, train
from bigtopic.learning.new_run import make_run
from bigtopic.learning.reduce import Tree
from bigtopic.methods import get
from bigtopic.plan._kernels import compact
from bigtopic.plan.slices import NO_MAP, lookup_table
from bigtopic.state import _kernels as state_kernels
from bigtopic.state import lazy_array
from bigtopic.state.new_model import new_model
from bigtopic.state.views import linear_mean
from bigtopic.types import Stats

__all__ = ["LOOPS", "Update", "gains", "measured"]

BATCH_SIZE = 500
LOOPS = "look up", "gather", "infer", "add"
BEFORE = 512  # updates that are not timed, because a run begins with shorter delays, see `plan.delays`
N_UPDATES = 256  # that are, at least
N_PARTS = 1, 2, 4, 8, 16, 32  # as `crew.threads` divides additions
SAMPLE = 24  # minibatches whose loops are timed
RUNS = 9  # of which the median counts: in some, Python collects garbage, for a fifth of the time

sleep = types.ExternalFunction("usleep", types.intc(types.uintc))


class Half(NamedTuple):
    """Distinct words of half a minibatch, and seconds to join the statistics of two."""

    n_rows: int
    join: float


class Update:
    """Processor seconds of an update on one thread.

    Attributes
    ----------
    whole : all of it
    python : what one thread does at a time
    loops : {name: seconds of a loop}, which are the rest
    n_rows : of the params, that an update needs
    half : the same of half a minibatch, and seconds to join the statistics of two
    parts : {into how many parts threads divide additions: seconds of a part, relative to all of it on one thread}
    """

    def __init__(
        self,
        whole: float,
        python: float,
        loops: dict[str, float],
        n_rows: int,
        half: Half,
        parts: dict[int, float],
    ) -> None:
        rest = (whole - python) / sum(loops.values())
        self.whole, self.python, self.n_rows, self.half, self.parts = whole, python, n_rows, half, parts
        self.loops = {name: rest * seconds for name, seconds in loops.items()}

    @property
    def alone(self) -> float:
        """The share that one thread does at a time."""
        return self.python / self.whole


class _EnoughError(Exception):
    """Ends a run."""


def measured(corpus: Any, n_components: int) -> Update:
    """The mean update of a pass, after the first ones."""
    compiled = []

    def timed(*arguments: Any) -> Any:
        begun = time.thread_time()
        why = serve(*arguments)
        compiled.append(time.thread_time() - begun)
        return why

    serve = crew_kernels.serve
    with mock.patch.object(crew_kernels, "serve", timed):
        seconds, n_updates = fit(
            corpus, n_components, 1, time.thread_time, None, BEFORE, N_UPDATES, begin=compiled.clear
        )
    return Update(seconds / n_updates, (seconds - sum(compiled)) / n_updates, *_sample(corpus, n_components))


def _sample(corpus: Any, n_components: int) -> tuple[dict[str, float], int, Half, dict[int, float]]:
    """Seconds of each loop, for a minibatch, its distinct words, `Update.half` and `Update.parts`: means of a few after
    one that is not timed."""
    model = new_model(get("online-cvb0"), n_components, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=BATCH_SIZE, slice_size=None, order="shuffled")
    array, part, loop = model.params["topic_words"], corpus.parts[0], cvb0.KERNEL.loop
    n_columns, linear, lookup = array.n_columns, linear_mean(array), lookup_table(array.n_rows)
    prior, options = (
        padded_prior(run.work.hyper.doc_topic_prior, n_columns, "f4"),
        loop.options(run.work.hyper),
    )
    address_of(loop.infer)
    seconds, n_rows, halves, parts = [], [], [], []
    for begin in range(0, (SAMPLE + 1) * BATCH_SIZE, BATCH_SIZE):
        block = part.read(begin, begin + BATCH_SIZE)
        n_entries, longest = len(block.words), int(np.diff(block.indptr).max())
        indptr, words, ids = (
            np.empty_like(block.indptr),
            np.empty(n_entries, np.int32),
            np.empty(n_entries, np.int32),
        )
        counts = np.empty(n_entries, np.float32)
        places = np.empty(state_kernels.PLACES, np.int64)
        scratch = buffers.empty(loop.scratch(longest, n_columns), np.float32)
        given = block.indptr, block.words, block.counts, NO_MAP, lookup, indptr, words, counts, ids
        times = [time.thread_time()]
        n_ids, _ = compact(*given)
        times.append(time.thread_time())
        rows, values = (buffers.empty((n_ids, n_columns), np.float32) for _ in range(2))
        state_kernels.gather_linear(*linear, ids[:n_ids], rows)
        times.append(time.thread_time())
        loop.infer(indptr, words, counts, rows, prior, options, scratch, values, np.empty(2))
        times.append(time.thread_time())
        state_kernels.scatter_share(array.raw, ids[:n_ids], values, prior, 0, 1, places)
        times.append(time.thread_time())
        seconds.append(np.diff(times))
        n_rows.append(n_ids)
        addition = array.raw, ids[:n_ids], values, prior
        parts.append([_seconds_of_a_part(addition, n, places) for n in N_PARTS])
        halves.append(_half(block, lookup, values))
    loops = dict(zip(LOOPS, np.mean(seconds[1:], axis=0).tolist(), strict=True))
    relative = np.mean(parts[1:], axis=0) / np.mean(parts[1:], axis=0)[0]
    half = Half(*np.mean(halves[1:], axis=0).tolist())
    return loops, int(np.mean(n_rows)), half, dict(zip(N_PARTS, relative.tolist(), strict=True))


def _half(block: Any, lookup: np.ndarray, values: np.ndarray) -> Half:
    """The halves of a minibatch; `values` are any statistics of it."""
    middle = block.n_docs // 2
    entries = np.split(block.words, block.indptr[[middle]])
    ids_a, ids_b = (np.unique(some).astype(np.int32) for some in entries)
    a, b = (values[: len(ids)].copy() for ids in (ids_a, ids_b))
    begun = time.thread_time()
    n_left = learning_kernels.join_rows(ids_a, ids_b, a, b, lookup)
    add_up_two(a, b[:n_left], np.zeros(a.shape[1]))
    return Half(len(ids_a), time.thread_time() - begun)


def _seconds_of_a_part(addition: Any, n_parts: int, places: np.ndarray) -> float:
    """A part of an addition reads rows that are apart, and looks through all ids."""
    begun = time.thread_time()
    for part in range(n_parts):
        state_kernels.scatter_share(*addition, part, n_parts, places)
    return (time.thread_time() - begun) / n_parts


def gains(
    corpus: Any, n_components: int, update: Update, threads: list[int], passes: int | None = None
) -> list[float]:
    """How much faster so many threads do some passes than one does, with sleeps for loops; medians.

    On one thread, the seconds of an update do not depend on how many there are, so only `N_UPDATES` are timed.
    """
    with _replaced(update), _waking_immediately():
        alone, n_alone = fit(corpus, n_components, 1, before=BEFORE, n_updates=N_UPDATES)
        together = [[fit(corpus, n_components, n, n_passes=passes) for _ in range(RUNS)] for n in threads]
    return [median(alone / n_alone * n_updates / elapsed for elapsed, n_updates in some) for some in together]


def fit(
    corpus: Any,
    n_components: int,
    n_threads: int,
    clock: Callable[[], float] = time.perf_counter,
    n_passes: int | None = 1,
    before: int = 0,
    n_updates: int | None = None,
    begin: Callable[[], Any] = lambda: None,
) -> tuple[float, int]:
    """Fit, and time the updates after the first `before`: `n_updates` of them, or all. Calls `begin` when timing
    starts. Returns seconds and the number of updates timed.

    Callbacks, which would be called for every update, would count as its work.
    """
    first, last = [], []

    def note(step: int) -> None:
        last[:] = clock(), step
        if not first and step >= before:
            first[:] = last
            begin()
        elif n_updates is not None and first and step >= first[1] + n_updates:
            raise _EnoughError

    def run(loop: Any) -> str:
        note(0)
        return original["passes"](loop)

    def take(loop: Any, params: Any, reports: Any) -> None:
        original["_take"](loop, params, reports)
        note(loop.model.cursor.step)

    original = {name: getattr(train._Loop, name) for name in ("passes", "_take")}
    where = {"n_threads": n_threads, "client": False, "progress": False}
    with mock.patch.multiple(train._Loop, passes=run, _take=take), suppress(_EnoughError):
        LDA(n_components, batch_size=BATCH_SIZE, max_iter=n_passes, **where).fit(corpus)
    return last[0] - first[0], last[1] - first[1]


@contextmanager
def _replaced(update: Update) -> Iterator[None]:
    """Sleeps in place of loops: of a crew, and of the first updates, which have none."""

    def infer(indptr: Any, *others: Any) -> tuple[int, float]:
        time.sleep(update.loops["infer"] * (len(indptr) - 1) / BATCH_SIZE)
        return BATCH_SIZE, 0.0

    def scatter_add(raw: Any, ids: Any, values: Any, factor: Any, sums: Any) -> None:
        time.sleep(update.loops["add"] * len(ids) / update.n_rows)
        sums[:] = 0

    def add_up(values: Any, sums: Any) -> None:
        sums[:] = 0

    with ExitStack() as stack:
        for module, name, function in [
            (crew_kernels, "serve", _serve_asleep(update)),
            (cvb0, "_infer", infer),
            (state_kernels, "scatter_add", scatter_add),
            (estep, "add_up", add_up),
            (lazy_array, "add_up", add_up),
            (segment, "Tree", partial(Tree, plus=_first)),
        ]:
            stack.enter_context(mock.patch.object(module, name, function))
        yield


def _first(a: Stats, b: Stats) -> Stats:
    """In place of the sum of two slices of a crew, which have no ids."""
    return replace(a, n_docs=a.n_docs + b.n_docs, n_tokens=a.n_tokens + b.n_tokens)


def _serve_asleep(update: Update) -> Any:
    """The loop of a crew with sleeps for what it calls."""
    n_rows, n_half, n_docs = update.n_rows, int(update.half.n_rows), BATCH_SIZE
    look_up_us, gather_us, infer_us = (1e6 * update.loops[name] for name in ("look up", "gather", "infer"))
    join_us = round(1e6 * update.half.join)
    part_us = np.zeros(1 + max(N_PARTS))
    part_us[list(update.parts)] = [1e6 * update.loops["add"] * share for share in update.parts.values()]

    @njit
    def look_up(tables, number, lookup, indptr, words, counts):
        row = tables.slices[number]
        share = (row[columns.STOP] - row[columns.START]) / n_docs
        sleep(int(look_up_us * share))
        distinct = n_rows if share > 0.75 else n_half
        row[columns.N_IDS] = min(distinct, row[columns.ENTRIES])
        tables.figures[number, 0] = 1.0
        indptr[:] = 0

    @njit
    def gather(tables, number, rows):
        sleep(int(gather_us * tables.slices[number, columns.N_IDS] / n_rows))

    @njit
    def sleep_instead(address, arguments):
        sleep(int(infer_us * (len(arguments[0]) - 1) / n_docs))
        arguments[-1][:] = 0

    @njit
    def add_part(tables, part, places):
        group = tables.groups[tables.counters[columns.SETTLED]]
        n_added = tables.slices[group[columns.FIRST_SLICE] : group[columns.STOP_SLICE]]
        sleep(int(part_us[tables.n_parts] * n_added[:, columns.N_IDS].sum() / n_rows))

    @njit
    def join(tables, number, lookup):
        other = tables.slices[number, columns.OTHER]
        if other != columns.NONE:
            sleep(join_us)
            tables.slices[max(number, other), columns.N_IDS] = max(0, n_rows - n_half)

    functions = {
        "_look_up": look_up,
        "_gather": gather,
        "call": sleep_instead,
        "_join": join,
        "_add_part": add_part,
    }
    code = crew_kernels.serve.py_func.__code__
    assert functions.keys() <= {*code.co_names}, "`serve` calls functions of other names"
    return njit(nogil=True)(FunctionType(code, vars(crew_kernels) | functions, "serve"))


@contextmanager
def _waking_immediately() -> Iterator[None]:
    """Threads that wake go to a free processor at once, where the system lets us say so: as a rule, they may wait for
    the one on which they fell asleep."""
    usual = os.sched_getscheduler(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, usual, os.sched_param(0))

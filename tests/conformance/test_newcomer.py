"""A schedule and an executor that were written from the documentation: the same bits as on threads, and processes that
are lost, which the battery of executors does not ask about."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts
from conformance.newcomer import Processes, ProcessExecutor, WarmUp
from reference.follower import bits

from bigtopic import methods as table
from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError
from bigtopic.learning.executors.base import Executor, Until
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.new_run import make_run
from bigtopic.learning.run import Run
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.plan.exchanges import exchanges_of
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model

pytestmark = pytest.mark.usefixtures("replicas_of_large_corpora")  # without it, replicas are said to be idle

N_PASSES, N_ROUNDS = 2, 38  # of 300 documents
SETTINGS: dict[str, Any] = {"batch_size": 8, "replicas": 3, "replica_updates": 2}

Make = Callable[[Run], Executor]


@pytest.fixture(scope="module")
def on_processes() -> Iterator[Make]:
    processes = Processes(2, hosts.forks)
    yield lambda run: ProcessExecutor(run, processes)
    processes.close()


def on_threads(run: Run) -> Executor:
    return ThreadExecutor(run, 2)


def begin(corpus: Corpus) -> TopicModel:
    return new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=5)


def learned(corpus: Corpus, make: Make, schedule: WarmUp | None) -> str:
    """The bits after a whole run."""
    model = begin(corpus)
    train(model, corpus, Limits(N_PASSES), executor=make, schedule=schedule, **SETTINGS)
    return bits(model.params)


def learned_in_pieces(corpus: Corpus, makes: Iterator[Make], schedule: WarmUp) -> str:
    """The same of a run that is cut after every seven rounds, or a few more, and goes on as another."""
    model = begin(corpus)
    while (pass_number := model.cursor.pass_number) < N_PASSES:
        run = make_run(
            model,
            corpus,
            slice_size=None,
            order="shuffled",
            max_iter=N_PASSES - pass_number,
            schedule=schedule,
            **SETTINGS,
        )
        with next(makes)(run) as executor:
            for params, reports in executor.advance(model.params, model.cursor, Until(7)):
                model.params, model.cursor = params, model.cursor.after(reports)
        assert run.plan.may_cut(pass_number, model.cursor.round)
        if model.cursor.round == run.plan.n_rounds:
            model.cursor = model.cursor.next_pass()
    return bits(model.params)


def test_the_exchanges_of_a_warm_up():
    """One that the end of a pass cuts short, at 38, is completed in the next pass."""
    first, second = ([*exchanges_of(WarmUp(5), done, N_ROUNDS, 3)] for done in (0, N_ROUNDS))
    assert [len(rounds) for rounds, _ in first] == [1, 2, 3, 4, 5, 5, 5, 5, 5, 3]
    assert [len(rounds) for rounds, _ in second] == [2, 5, 5, 5, 5, 5, 5, 5, 1]
    assert [copies for _, copies in first] == [*[False] * 4, *[False, True] * 3]
    assert [copies for _, copies in second] == [True, *[False, True] * 3, False, False]


def test_a_run_of_this_schedule_has_the_same_bits_on_processes_and_threads_however_it_is_cut(
    corpus, on_processes
):
    schedule = WarmUp(5)
    truth = learned(corpus, on_threads, schedule)
    assert truth != learned(corpus, on_threads, None)
    assert learned(corpus, on_processes, schedule) == truth
    assert learned_in_pieces(corpus, cycle([on_processes]), schedule) == truth
    assert learned_in_pieces(corpus, cycle([on_processes, on_threads]), schedule) == truth


def dying(run: Run, times: list[Path]) -> Run:
    """The same run, whose kernel ends its process in its first calls: one for each file that is not there."""
    usual = run.work.kernel.run

    def dies(*given: Any) -> Any:
        for time in times:
            if not time.exists():
                time.touch()
                os._exit(1)
        return usual(*given)

    return replace(run, work=replace(run.work, kernel=replace(run.work.kernel, run=dies)))


def test_what_is_lost_with_a_process_is_done_again(corpus, on_processes, tmp_path):
    def make(run: Run) -> Executor:
        return on_processes(dying(run, [tmp_path / "once", tmp_path / "twice"]))

    assert learned(corpus, make, WarmUp(5)) == learned(corpus, on_threads, WarmUp(5))
    assert (tmp_path / "twice").exists()


@pytest.mark.slow
def test_a_task_that_always_ends_its_process_is_an_error(corpus, on_processes, tmp_path):
    def make(run: Run) -> Executor:
        return on_processes(dying(run, [tmp_path / str(number) for number in range(9)]))

    with pytest.raises(BrokenProcessPool, match="the process of a task ended before the task did"):
        learned(corpus, make, WarmUp(5))


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("cgs", "kernel 'cgs' remembers documents"),
        ("v-oem++", "it has inner iterations"),
        ("vb", "Replace moves topic_words by changes that cannot be added"),
    ],
)
def test_a_schedule_is_refused_with_the_reason_by_methods_that_go_one_by_one(corpus, method, why):
    model = new_model(table.get(method), 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=5)
    with pytest.raises(SettingError, match=why):
        train(model, corpus, Limits(1), batch_size=8, schedule=WarmUp(5))

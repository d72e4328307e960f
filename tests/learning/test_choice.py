"""Which executor a run gets when nobody names one."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

import pytest

from bigtopic import methods as table
from bigtopic.learning import executors
from bigtopic.learning.executors import choice
from bigtopic.learning.executors.base import Until
from bigtopic.learning.executors.choice import round_seconds
from bigtopic.learning.executors.whole import WholeExecutor
from bigtopic.learning.new_run import make_run
from bigtopic.learning.run import Run
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.state.axes import axes_of
from bigtopic.state.new_model import new_model
from bigtopic.state.params import Params


class Client:
    """Of one worker, with one thread."""

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}


@pytest.fixture
def run(corpus, monkeypatch) -> Run:
    monkeypatch.setattr(choice, "shares_files", lambda *_: True)
    model = new_model(table.get("online-vb"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    return make_run(model, corpus, batch_size=100, slice_size=None, order="shuffled")


def costing(run: Run, cost: Any) -> Run:
    return replace(run, work=replace(run.work, kernel=replace(run.work.kernel, cost=cost)))


def test_without_a_client_there_are_threads(run):
    assert choice.choose(run, None) == "threads"


def test_a_client_runs_short_rounds_whole_and_long_ones_as_graphs(run):
    """The kernel says what its options cost, and the options are those of the run."""
    assert choice.choose(run, Client()) == "whole"
    assert choice.choose(costing(run, lambda options: 1e6), Client()) == "graphs"
    assert choice.choose(costing(run, lambda options: options["max_doc_update_iter"]), Client()) == "whole"


def test_a_long_round_of_one_slice_runs_whole(run, corpus):
    """It would be a graph of one task."""
    model = new_model(table.get("online-vb"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    one_slice = make_run(model, corpus, batch_size=100, slice_size=100, order="shuffled")
    assert choice.choose(costing(one_slice, lambda options: 1e6), Client()) == "whole"


def test_what_is_chosen_is_there(run):
    names = {
        choice.choose(costing(run, lambda _, c=c: c), client) for c in (1, 1e6) for client in (None, Client())
    }
    assert names == {"threads", "whole", "graphs"} <= set(executors.names())
    assert {name for name in names if executors.load(name).on_client} == {"whole", "graphs"}


def test_threads_that_share_the_slices_of_a_minibatch_are_busy(run, corpus, monkeypatch):
    """Two slices keep two threads busy; of one more, the warning counts threads."""
    monkeypatch.setattr(choice, "LONG_PASS_SECONDS", 0.0)
    monkeypatch.setattr(choice.cluster, "threads_of", lambda client: n_threads)
    assert run.plan.slice_size == 50 and run.plan.batch_size == 100
    n_threads = 2
    choice.choose(run, Client())
    n_threads = 3
    with pytest.warns(UserWarning, match=r"spread over 3 threads, so they keep 2 of them busy"):
        choice.choose(run, Client())


def test_larger_minibatches_are_no_advice_where_they_are_not_divided(run, corpus, monkeypatch):
    monkeypatch.setattr(choice, "LONG_PASS_SECONDS", 0.0)
    monkeypatch.setattr(choice.cluster, "threads_of", lambda client: 2)
    model = new_model(table.get("sgs"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    whole = make_run(model, corpus, batch_size=100, slice_size=None, order="shuffled")
    with pytest.warns(
        UserWarning, match=r"one slice each.*keep 1 of them busy; choose a method that divides them$"
    ):
        assert choice.choose(whole, Client()) == "whole"


@pytest.mark.parametrize(
    ("n_threads", "n_passes", "cost", "said"),
    [
        (2, 1000, 1.0, r"set replicas=1, or a larger batch_size"),
        (2, 2000, 500.0, r"set replicas=1, or replica_updates=\d+, or"),
        (1, 1000, 1e5, None),
        (2, 20, 1.0, None),
        (2, 1000, 1e5, None),
    ],
    ids=["few updates", "enough updates", "one thread", "a short run", "long updates"],
)
def test_replicas_that_mostly_exchange_are_told(n_threads, n_passes, cost, said, corpus, monkeypatch):
    monkeypatch.setattr(choice.cluster, "threads_of", lambda client: n_threads)
    model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    settings = {"batch_size": 10, "slice_size": None, "order": "shuffled", "replicas": 2}
    run = costing(make_run(model, corpus, max_iter=n_passes, **settings), lambda options: cost)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert choice.choose(run, Client()) == "graphs"
    assert [bool(said and re.search(said, str(one.message))) for one in found] == ([True] if said else [])


@pytest.mark.parametrize(("method", "times"), [("dual-mf", 9), ("dual-online", 1)])
def test_kernels_of_pairs_of_topics_cost_their_number(method, times, corpus):
    def seconds(n_column_topics: int) -> float:
        counts = {"row_topic": 4, "column_topic": n_column_topics}
        own = table.get(method)
        model = new_model(own, counts, axes_of(own.model, corpus), n_tokens=corpus.n_tokens)
        return round_seconds(make_run(model, corpus, batch_size=100, slice_size=None, order="shuffled"))

    assert seconds(9) == pytest.approx(times * seconds(1))


@pytest.mark.parametrize(("state", "most"), [("none", 12), ("run", 3)])
def test_a_task_leaves_no_more_passes_of_state_than_the_disk_was_asked_for(state, most, run, monkeypatch):
    asked = []

    def chunk(self, params, cursor, max_rounds, max_seconds):
        asked.append(max_rounds)
        return {}, [RoundReport(replace(cursor, round=r, step=cursor.step + r), 1, 1.0) for r in range(3)]

    monkeypatch.setattr(WholeExecutor, "_chunk", chunk)
    kernel = replace(run.work.kernel, state=state)
    with WholeExecutor(replace(run, work=replace(run.work, kernel=kernel)), None) as executor:
        list(executor.advance(Params({}), Cursor(), Until(n_passes=4)))
    assert asked[0] == most and run.plan.n_rounds == 3

"""Copies of the params on a worker: they move as the driver's params do, and only once."""

from __future__ import annotations

import pickle
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bigtopic.learning.all_reduce import copies
from bigtopic.learning.all_reduce.collectives import Exchange
from bigtopic.learning.all_reduce.copies import (
    Behind,
    Version,
    after,
    arrays_in_turn,
    begin_move,
    end_move,
    hold,
    lose,
)

from bigtopic import methods as table
from bigtopic.learning.new_run import make_run
from bigtopic.learning.replicas.changes import Changes, add_changes
from bigtopic.learning.replicas.share import Share, share_changes
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.state.new_model import new_model
from bigtopic.state.params import Params

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.follower import bits

pytestmark = pytest.mark.usefixtures("replicas_of_large_corpora")

START = Version("some params", 0)
aside = threading.Event()


def arrays_of(version: Version) -> Any:
    with arrays_in_turn(version, aside.set) as arrays:
        return arrays


def follow(run: Any, version: Version, changes: Changes) -> None:
    """As workers do in an exchange of three updates."""
    collective = Exchange(version, (), (0, 2), Cursor(0, 40, 40), 3)
    params = begin_move(version, collective.moved(run))
    if params is not None:
        collective.move(run, params, [changes])
        end_move(version, params, collective.n_updates)


@pytest.fixture(params=[0.0, 0.5], ids=["plain", "averaged"])
def begun(request, corpus) -> tuple[Any, Params, Any]:
    """A run, its params, and what a replica changes in them."""
    method = replace(table.get("online-cvb0"), average=request.param)
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=5, slice_size=None, order="stored", max_iter=1, replicas=2)
    rounds = list(run.plan.rounds(0))[40:43]
    cursors = [Cursor(0, rnd.number, rnd.number) for rnd in rounds]
    read = BlockReader(run.parts, ahead=0).block
    changes = share_changes(run, Share(rounds, cursors, 3), read, model.params.without_means().arrays)
    return run, model.params, changes


def test_a_copy_moves_once_and_as_the_params_do(begun):
    run, params, changes = begun
    copy = hold(START, params.without_means().arrays)
    assert hold(START, {}) is copy  # a worker that does the task of another one has its own
    before, start = arrays_of(START), bits(params.without_means())
    for _ in range(2):  # a task may be done again
        follow(run, START, changes)
    add_changes(params, [changes], run.settings.schemes if run.settings.average else ())
    assert copy.version == after(START, 3) == Version(START.name, 3)
    assert bits(Params(arrays_of(copy.version))) == bits(params.without_means()) != start
    assert bits(Params(before)) == start  # for tasks that still read it


def test_one_of_the_tasks_of_a_process_moves_its_copy(begun):
    _, params, _ = begun
    copy = hold(START, params.arrays)
    first, second = (begin_move(START, ()) for _ in range(2))
    assert first is not None and second is None
    end_move(START, first, 3)
    third = begin_move(copy.version, ())
    assert third is not None
    lose(copy.version)
    end_move(copy.version, third, 3)
    assert copy.version == after(START, 3)


def test_a_version_that_is_not_there_is_told(begun):
    run, params, changes = begun
    for asked in (START, Version("others", 3)):
        with pytest.raises(Behind, match=f"after update {asked.n_updates}"):
            arrays_of(asked)
        follow(run, asked, changes)  # nothing to move
    copy = hold(START, params.arrays)
    follow(run, START, changes)
    with pytest.raises(Behind):
        arrays_of(START)
    del copy
    with pytest.raises(Behind):
        arrays_of(after(START, 3))


def test_a_copy_leaves_its_worker_without_arrays(begun):
    copy = hold(START, begun[1].arrays)
    assert pickle.loads(pickle.dumps(copy)).arrays == {}
    assert arrays_of(START) is copy.arrays


def test_a_copy_has_the_bytes_of_the_params(corpus):
    model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    size = sys.getsizeof(hold(START, model.params.arrays))
    assert model.params.nbytes < size < 1.2 * model.params.nbytes + 1000


def test_a_task_waits_for_the_one_that_moves_the_copy(begun):
    run, params, changes = begun
    copy, found = hold(START, params.arrays), []
    later = threading.Thread(target=lambda: found.append(arrays_of(after(START, 3))))
    with arrays_in_turn(START, aside.set):
        later.start()
        later.join(0.2)
        assert later.is_alive() and not found
        follow(run, START, changes)
    later.join(30)
    assert found == [copy.arrays]


def test_a_task_that_begins_first_waits_for_the_one_before_it(begun):
    run, params, changes = begun
    aside.clear()
    copy, found = hold(START, params.arrays), []
    later = threading.Thread(target=lambda: found.append(arrays_of(after(START, 3))))
    later.start()
    assert aside.wait(30)
    with arrays_in_turn(START, aside.set):
        later.join(copies.START_SECONDS + 1)
        assert later.is_alive()
        follow(run, START, changes)
    later.join(30)
    assert found == [copy.arrays]


def test_nobody_waits_for_a_copy_that_was_given_up(begun):
    copy, failures = hold(START, begun[1].arrays), []

    def wait() -> None:
        try:
            arrays_of(after(START, 3))
        except Behind as failure:
            failures.append(failure)

    later = threading.Thread(target=wait)
    with arrays_in_turn(START, aside.set):
        later.start()
        later.join(0.2)
        assert later.is_alive()
        lose(START)
        later.join(30)
    assert copy.arrays and len(failures) == 1

"""A worker that would compute other bits is named before it computes any."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import dask
import numpy as np
import pytest
from llvmlite import binding

from bigtopic.errors import BigtopicWarning, ClusterError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning.executors import choice, graph_tasks, graphs, sending, whole
from bigtopic.parallel import environment, mapping, results

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts

pytestmark = pytest.mark.distributed
HERE = environment.environment()["CPU"]
OTHER = "generic" if HERE != "generic" else binding.get_host_cpu_name()


@pytest.fixture
def two_kinds():
    """Client of one worker like this process and one that compiles for any processor; the address of the latter."""
    with hosts.scheduler() as client, hosts.worker(client):
        before = set(client.nthreads())
        with hosts.worker(client, NUMBA_CPU_NAME=OTHER):
            yield client, next(iter(set(client.nthreads()) - before))


def test_another_processor_is_worth_one_warning_or_an_error(corpus, two_kinds):
    client, other = two_kinds
    model = LDA(4, method="online-cvb0", max_iter=1, client=client)
    with dask.config.set({environment.SETTING: "error"}):
        for work in (lambda: model.fit(corpus), lambda: mapped(client)):
            with pytest.raises(ClusterError, match=f"{other} has CPU {OTHER}, here {HERE}"):
                work()
    with pytest.warns(BigtopicWarning, match=f"{other} has CPU {OTHER}, here {HERE}") as warned:
        mapped(client)
    assert len(warned) == 1 and f'{{"{environment.SETTING}": "error"}}' in str(warned[0].message)
    mapped(client)  # warnings are errors here
    with dask.config.set({environment.SETTING: "never"}), pytest.raises(SettingError, match="'never'"):
        model.fit(corpus)


def mapped(client, items=range(2)):
    return list(mapping.bounded_map(abs, items, client=client))


@pytest.fixture
def join(monkeypatch):
    """Client of one worker, and a function that adds one of another kind."""
    monkeypatch.setattr(environment, "SECONDS", 0.0)
    with hosts.scheduler() as client, hosts.worker(client), ExitStack() as late:
        yield client, lambda: late.enter_context(hosts.worker(client, NUMBA_CPU_NAME=OTHER))


@pytest.mark.slow
def test_a_worker_that_joins_in_the_middle_of_a_fit_is_compared(corpus, join):
    client, add_worker = join
    joined = []

    def callback(event):
        if event.kind == "pass" and not joined:
            joined.append(add_worker())

    model = LDA(4, method="online-cvb0", max_iter=3, client=client, callbacks=[callback])
    with dask.config.set({environment.SETTING: "error"}), pytest.raises(ClusterError, match=f"CPU {OTHER}"):
        model.fit(corpus)
    assert joined


@pytest.mark.slow
def test_a_worker_that_joins_in_the_middle_of_a_map_is_compared(join):
    client, add_worker = join

    def items():
        yield 1
        add_worker()
        yield 2

    with pytest.warns(BigtopicWarning, match=f"CPU {OTHER}"):
        assert mapped(client, items()) == [1, 2]


def test_a_worker_without_the_package_is_named(corpus, tmp_path):
    (tmp_path / "bigtopic.py").write_text("raise ModuleNotFoundError('no module named bigtopic')")
    with (
        hosts.scheduler() as client,
        hosts.worker(client, PYTHONPATH=str(tmp_path)),
        pytest.raises(ClusterError, match=r"worker tcp://127\.0\.0\.2:\d+ cannot run bigtopic"),
    ):
        LDA(4, method="online-cvb0", max_iter=1, client=client).fit(corpus)


def test_every_difference_is_told(monkeypatch):
    here = environment.environment()
    assert here["CPU"] and here["CPU features"] is not None
    assert set(here) >= {"bigtopic", "Python", "numpy", "numba", "llvmlite"}
    there = {**here, "numpy": "1.0", "CPU features": here["CPU features"] + ",+flux"}
    found = environment._difference(here, there)
    assert f"numpy 1.0, here {here['numpy']}" in found and "+flux" in found


def test_workers_are_not_asked_twice(three_workers, monkeypatch):
    monkeypatch.setattr(environment, "SECONDS", 0.0)
    mapped(three_workers)
    monkeypatch.setattr(type(three_workers), "run", None)
    assert mapped(three_workers) == [0, 1]


@pytest.fixture
def without_package(tmp_path):
    """Variables of a worker that cannot import this package."""
    (tmp_path / "bigtopic.py").write_text("raise ModuleNotFoundError('no module named bigtopic')")
    return {"PYTHONPATH": str(tmp_path)}


@pytest.mark.slow
def test_a_worker_without_the_package_is_left_out_of_a_map(without_package, monkeypatch):
    monkeypatch.setattr(environment, "SECONDS", 0.0)
    with hosts.scheduler() as client, hosts.worker(client), ExitStack() as late:

        def items():
            yield from range(3)
            late.enter_context(hosts.worker(client, **without_package))
            yield from range(3, 40)

        with pytest.warns(BigtopicWarning, match="cannot run bigtopic .*, and is left out") as told:
            assert mapped(client, items()) == list(range(40))
        assert len(told) == 1 and len(client.nthreads()) == 2
        mapped(client)  # warnings are errors here


@pytest.mark.costly
@pytest.mark.parametrize("name", ["whole", "graphs", "graphs of workers that share no files"])
def test_a_worker_without_the_package_joins_a_run(name, corpus, without_package, monkeypatch):
    """It is left out, with one warning, and lives on; the topics are those of the others."""
    monkeypatch.setattr(environment, "SECONDS", 0.0)
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", 1e9 if name == "whole" else -1.0)
    monkeypatch.setattr(graph_tasks, "TASK_SECONDS", 1e-9)
    if "share no files" in name:
        for module in (choice, graphs, sending, whole):
            monkeypatch.setattr(module, "shares_files", lambda *_: False)
    settings = {"method": "vb", "max_iter": 6, "tol": 0, "random_state": 0}
    with hosts.scheduler() as client, hosts.worker(client), ExitStack() as late:

        def join(event):
            if event.kind == "pass" and event.pass_number == 2:
                late.enter_context(hosts.worker(client, **without_package))

        model = LDA(4, client=client, callbacks=[join], **settings)
        with pytest.warns(BigtopicWarning, match="cannot run bigtopic .*, and is left out") as told:
            model.fit(corpus)
        assert len(told) == 1 and len(client.nthreads()) == 2
        LDA(4, client=client, **settings).fit(corpus)
    alone = LDA(4, client=False, n_threads=1, **settings).fit(corpus)
    np.testing.assert_array_equal(model.components_, alone.components_)


def test_tasks_for_fit_workers_are_repeated_when_all_of_these_are_gone(without_package, monkeypatch):
    monkeypatch.setattr(environment, "SECONDS", 0.0)
    monkeypatch.setattr(results, "LOOK_SECONDS", 0.5)
    with hosts.scheduler() as client, hosts.worker(client, **without_package), ExitStack() as others:
        with hosts.worker(client), pytest.warns(BigtopicWarning, match="is left out"):
            mapped(client)
            found = mapping.bounded_map(time.sleep, [0.0, 3.0, 0.0], client=client, n_in_flight=1)
            next(found)
            waits = threading.Timer(0.5, lambda: others.enter_context(hosts.worker(client)))
        waits.start()
        assert list(found) == [None, None]
        waits.join()

"""Workers on other hosts learn the same bits: params that are sent to them never meet others under one name."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from dask.utils import key_split

from bigtopic import methods as table
from bigtopic.estimators.lda import LDA
from bigtopic.learning import executors
from bigtopic.learning.executors import choice, graphs, sending, whole
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.parallel import cluster, mapping
from bigtopic.state.new_model import new_model

pytestmark = [pytest.mark.distributed, pytest.mark.usefixtures("replicas_of_large_corpora")]


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Params are sent, even to workers that see the files of this process."""
    for module in (sending, choice):
        monkeypatch.setattr(module, "shares_files", lambda *_: False)


def learn(
    corpus: Any,
    n_components: int,
    client: Any,
    n_passes: int = 6,
    mode: str = "graphs",
    method: str = "vb",
    replicas: int | None = None,
    slice_size: int = 9,
    **limits: Any,
) -> bytes:
    """34 slices, so workers add their statistics among themselves; fewer with a larger `slice_size`."""
    model = new_model(
        table.get(method), n_components, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=n_components
    )
    executor = None if client is None else lambda run: executors.load(mode).make(run, client, 1)
    sizes = {"slice_size": slice_size, "replicas": replicas, "batch_size": replicas and 9}
    train(model, corpus, Limits(n_passes, **limits), **sizes, n_threads=1, executor=executor)
    return model.topic_words.raw.tobytes()


@pytest.mark.slow
def test_two_clients_at_once(corpus, other_address):
    from dask.distributed import Client

    sizes = [4, 7]  # of other shapes: no version of one can be taken for a version of the other
    expected = [learn(corpus, size, None) for size in sizes]
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        address = other_address.scheduler.address
        clients = [stack.enter_context(Client(address, set_as_default=False)) for _ in sizes]
        runs = [pool.submit(learn, corpus, size, client) for size, client in zip(sizes, clients, strict=True)]
        assert [run.result() for run in runs] == expected


def test_one_client_in_two_threads(corpus, other_address):
    sizes = [4, 7]
    expected = [learn(corpus, size, None) for size in sizes]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda size: learn(corpus, size, other_address), sizes)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["whole", "graphs"])
def test_many_rounds_on_many_workers(mode, corpus, other_address):
    assert learn(corpus, 5, other_address, 50, mode) == learn(corpus, 5, None, 50)


def _fit(n_components: int, corpus: Any) -> bytes:
    from dask.distributed import worker_client

    with worker_client() as client:
        return (
            LDA(n_components, method="vb", max_iter=3, random_state=0, client=client)
            .fit(corpus)
            .components_.tobytes()
        )


def test_fits_inside_tasks(corpus, other_address):
    sizes = [4, 7]
    found = other_address.gather(other_address.map(_fit, sizes, corpus=corpus, pure=False))
    expected = [
        LDA(size, method="vb", max_iter=3, random_state=0, client=False).fit(corpus) for size in sizes
    ]
    assert found == [model.components_.tobytes() for model in expected]


@pytest.fixture
def keys(other_address, monkeypatch) -> list[Any]:
    """Of all futures of tasks that are made."""
    found: list[Any] = []
    graph_to_futures = type(other_address)._graph_to_futures

    def spy(self, expr, keys, *args, **settings):
        found.extend(keys)
        return graph_to_futures(self, expr, keys, *args, **settings)

    monkeypatch.setattr(type(other_address), "_graph_to_futures", spy)
    return found


def test_keys_hold_names_that_no_other_client_makes(corpus, other_address, keys):
    """64 random bits in each, whatever it is the key of; the first word is the same for all of a kind."""
    for slice_size in (9, 20):
        learn(corpus, 4, other_address, 1, slice_size=slice_size)
    learn(corpus, 4, other_address, 1, "whole")
    list(mapping.bounded_map(divmod, [3], shared=(7,), client=other_address))
    assert {key_split(key) for key in keys} == {
        *graphs.PREFIXES,
        whole.PREFIX,
        "bt-map",
    }
    assert len(keys) == len(set(keys))
    assert all(re.search(r"-\d{5}-[\w-]{11}", str(key)) for key in keys)


@pytest.mark.parametrize(
    ("method", "slice_size", "replicas", "others"),
    [
        ("vb", 20, None, ()),
        ("vb", 9, None, ()),
        ("v-oem++", 9, None, graphs.REMEMBERING_PREFIXES),
        ("streaming-vb", 9, 2, (whole.PREFIX,)),
    ],
)
def test_a_run_holds_groups_of_its_own_tasks_only(
    method, slice_size, replicas, others, corpus, other_address, keys
):
    """The scheduler keeps something of each after the run, and there may be many short runs."""
    learn(corpus, 4, other_address, 1, method=method, replicas=replicas, slice_size=slice_size)
    assert {key_split(key) for key in keys if key.endswith("-held")} == {*graphs.PREFIXES, *others}


def test_nothing_that_is_sent_has_the_name_of_something_else(other_address):
    """Dask takes the keys of a dict that is scattered for names of data, and one for each item of a list."""
    for data in ({"topic_words": 1}, [1, 2], (3, 4), "text", frozenset({5}), None):
        futures = [cluster.send(other_address, data) for _ in range(2)]
        assert len({future.key for future in futures}) == 2
        assert [future.result() for future in futures] == [data, data]


def test_the_scheduler_remembers_few_kinds_of_keys(corpus, other_address):
    """Each new prefix would take memory of the scheduler for as long as it lives."""

    def prefixes(dask_scheduler):
        return set(dask_scheduler.task_prefixes)

    learn(corpus, 4, other_address, 3)
    learn(corpus, 4, other_address, 3, "whole")
    cluster.send(other_address, {"some": "dict"})
    before = other_address.run_on_scheduler(prefixes)
    learn(corpus, 5, other_address, 3)
    learn(corpus, 5, other_address, 3, "whole")
    cluster.send(other_address, {"another": "dict"})
    assert other_address.run_on_scheduler(prefixes) == before


@pytest.mark.parametrize("mode", ["graphs", "whole"])
def test_the_scheduler_keeps_nothing_of_a_round(mode, corpus, other_address, monkeypatch):
    """Its spans, which stay, refer to every group of tasks there was; a group ends with its last task. Here a round is
    a pass, of which the first ones have spans."""
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.01)
    monkeypatch.setattr(sending, "MOST_SPANS", 2)
    seen = []

    def look(event):
        if event.kind == "round":
            seen.append(other_address.run_on_scheduler(known))

    def known(dask_scheduler):
        spans = dask_scheduler.extensions["spans"].spans.values()
        return len(spans), sum(len(span.groups) for span in spans)

    learn(corpus, 4, other_address, mode=mode, callbacks=[look])
    assert len(seen) == 6 and len(set(seen[2:])) == 1


@pytest.mark.costly
@pytest.mark.parametrize(
    ("mode", "sends"),
    [
        ("whole", True),
        ("graphs", False),
        pytest.param("whole", False, marks=pytest.mark.slow),
        pytest.param("graphs", True, marks=pytest.mark.slow),
    ],
)
def test_nothing_of_the_scheduler_grows_with_rounds(mode, sends, corpus, other_address, monkeypatch):
    """Only its logs, which end growing. Here a round is a pass, of which the first ones have spans."""
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 1e-3)
    monkeypatch.setattr(sending, "MOST_SPANS", 2)
    if not sends:
        monkeypatch.setattr(sending, "shares_files", lambda *_: True)
    seen = []

    def look(event):
        if event.kind == "round":
            seen.append(other_address.run_on_scheduler(lengths))

    def lengths(dask_scheduler):
        owners = {"scheduler": dask_scheduler, **dask_scheduler.extensions, **dask_scheduler.plugins}
        owners |= {"client " + name: client for name, client in dask_scheduler.clients.items()}
        owners |= {"worker " + name: worker for name, worker in dask_scheduler.workers.items()}
        found = {}
        for owner, thing in owners.items():
            names = {*getattr(thing, "__dict__", ()), *getattr(thing, "__slots__", ())}
            values = {name: getattr(thing, name, None) for name in names}
            kinds = dict, list, set
            found |= {(owner, name): len(value) for name, value in values.items() if isinstance(value, kinds)}
        return found

    learn(corpus, 4, other_address, 40, mode, callbacks=[look])
    first, last = seen[5:10], seen[-5:]
    n_rounds = len(seen) - 10
    assert n_rounds >= 30 and len(seen[0]) > 50
    grown = {name: min(one[name] for one in last) - max(one[name] for one in first) for name in seen[0]}
    assert {name: more for name, more in grown.items() if more > n_rounds / 3} == {}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vb", "v-oem++"])
def test_the_scheduler_keeps_one_note_of_a_graph(method, corpus, other_address, monkeypatch):
    """Its spans keep one of each collection that is computed, for good."""
    graphs_sent, graph_to_futures = [], type(other_address)._graph_to_futures

    def spy(self, *args, **settings):
        graphs_sent.append(settings)
        return graph_to_futures(self, *args, **settings)

    def notes(dask_scheduler):
        spans = dask_scheduler.extensions["spans"].spans
        return {name: len(span.metadata["collections"]) for name, span in spans.items() if span.metadata}

    monkeypatch.setattr(type(other_address), "_graph_to_futures", spy)
    before = other_address.run_on_scheduler(notes)
    learn(corpus, 4, other_address, 2, method=method)
    after = other_address.run_on_scheduler(notes)
    assert 0 < max(after[name] - before.get(name, 0) for name in after) <= len(graphs_sent)

"""Params reach workers in files where these are to be seen, and are sent where they are not: always the same bits."""

from __future__ import annotations

import errno
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dask
import pytest

from bigtopic import methods as table
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import ClusterError
from bigtopic.estimators.lda import LDA
from bigtopic.learning import executors, sharing
from bigtopic.learning.executors import whole
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.parallel import cluster, mapping, workers
from bigtopic.parallel.shared_files import shares_files
from bigtopic.state.lazy_array import padded
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parents[1]))

sys.path.insert(0, str(Path(__file__).parent))

import hosts
import toys

pytestmark = pytest.mark.distributed
MODES = ["whole", "graphs"]
CAN = hosts.why_no_namespaces() is None
private_files = pytest.mark.skipif(not CAN, reason=hosts.why_no_namespaces() or "")


@pytest.fixture(scope="module")
def corpus(corpus) -> Corpus:
    """The shared documents, and so many words that the params are in files."""
    vocabulary = Vocabulary([f"w{i}" for i in range(400)])
    assert len(vocabulary) * padded(4) * 4 > sharing.SMALL_BYTES
    return Corpus(corpus.parts, vocabulary)


def learn(corpus: Any, client: Any = None, mode: str = "whole", **limits: Any) -> bytes:
    method = table.get("online-cvb0")
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=5)
    executor = None if client is None else lambda run: executors.load(mode).make(run, client, 1)
    train(
        model,
        corpus,
        Limits(2, **limits),
        batch_size=100,
        slice_size=9,
        n_threads=1,
        executor=executor,
    )
    return model.topic_words.raw.tobytes()


def fit_and_infer(corpus: Any, client: Any) -> tuple[bytes, bytes, float]:
    model = LDA(4, method="online-cvb0", max_iter=1, random_state=2, client=client, n_threads=1).fit(corpus)
    return model.components_.tobytes(), model.transform(corpus).tobytes(), model.score(corpus)


def test_workers_are_asked_and_their_addresses_do_not_matter(other_address, three_workers):
    assert shares_files(
        other_address, sharing.places()
    )  # an address of its own, and all files of this machine
    assert shares_files(three_workers, sharing.places())
    assert not shares_files(three_workers, [Path("/nowhere")])


@pytest.mark.filterwarnings("ignore:the Dask scheduler at .* has no worker")  # if starting one takes long
def test_a_cluster_that_has_no_workers_yet_is_waited_for(corpus):
    with hosts.scheduler("127.0.0.1") as client, ExitStack() as late:
        timer = threading.Timer(
            0.5, lambda: late.enter_context(hosts.worker(client, host="127.0.0.1", private_files=CAN))
        )
        timer.start()
        assert learn(corpus, client) == learn(corpus)
        timer.join()


@pytest.mark.filterwarnings("ignore:the Dask scheduler at .* has no worker")
def test_a_cluster_that_starts_workers_when_there_are_tasks(corpus):
    with hosts.scheduler() as client:
        client.cluster.adapt(minimum=0, maximum=1, interval="100ms")
        assert learn(corpus, client) == learn(corpus)


def test_a_cluster_that_never_has_workers_is_an_error(corpus):
    """If Dask is told how long a task without workers may wait."""
    with dask.config.set({"distributed.scheduler.no-workers-timeout": "0.2s"}), hosts.scheduler() as client:
        for work in (
            lambda: learn(corpus, client),
            lambda: list(mapping.bounded_map(abs, [1], client=client)),
        ):
            with pytest.raises(
                ClusterError, match=r"gave up waiting for a worker, as its setting .*no-workers-timeout"
            ):
                work()


def test_a_cluster_whose_workers_are_paused_is_an_error(monkeypatch):
    from distributed.core import Status

    def pause(dask_worker):
        dask_worker.status = Status.paused

    monkeypatch.setattr(workers, "NO_WORKERS_SECONDS", 0.2)
    with hosts.scheduler() as client, hosts.worker(client, host="127.0.0.1", private_files=CAN):
        client.run(pause)
        while {worker["status"] for worker in workers.described(client).values()} != {"paused"}:
            time.sleep(0.01)  # until the scheduler knows
        with pytest.raises(ClusterError, match=r"no worker that accepts work.*give them more memory"):
            cluster.send(client, 1)


@pytest.mark.parametrize("mode", MODES)
def test_params_that_a_worker_does_not_find_are_sent(mode, corpus, other_address, monkeypatch):
    """As on a worker elsewhere that joined after the others were asked."""
    published = hide(monkeypatch)
    assert learn(corpus, other_address, mode) == learn(corpus)
    assert len(published) == 1  # nothing is shared in files from there on


def test_inference_goes_on_with_params_that_are_sent(corpus, other_address, monkeypatch):
    expected = fit_and_infer(corpus, False)
    published = hide(monkeypatch)
    assert fit_and_infer(corpus, other_address) == expected
    assert len(published) == 2  # by the fit, and by transform


@pytest.mark.parametrize("mode", MODES)
def test_params_that_no_folder_takes_are_sent(mode, corpus, three_workers, monkeypatch):
    """As where /dev/shm and the temporary folder are full."""

    def full(path: Any, array: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    expected = learn(corpus), fit_and_infer(corpus, False)
    monkeypatch.setattr(sharing.np, "save", full)
    assert learn(corpus, three_workers, mode) == expected[0]
    assert fit_and_infer(corpus, three_workers) == expected[1]


def hide(monkeypatch: Any) -> list[Any]:
    """Versions of the params are out of everybody's sight as soon as they are there; the list of them."""
    published = []
    publish = sharing.publish

    def hidden(arrays: Any) -> Any:
        shared = publish(arrays)
        published.append(shared)
        shared.remove()
        return shared

    monkeypatch.setattr(sharing, "publish", hidden)
    return published


@private_files
@pytest.mark.parametrize("mode", MODES)
def test_workers_with_files_of_their_own(mode, corpus, other_host):
    assert not shares_files(other_host, sharing.places())
    assert learn(corpus, other_host, mode) == learn(corpus)
    assert fit_and_infer(corpus, other_host) == fit_and_infer(corpus, False)


@private_files
def test_a_container_at_this_address(corpus):
    with (
        hosts.scheduler("127.0.0.1") as client,
        hosts.worker(client, host="127.0.0.1", private_files=True),
    ):
        assert fit_and_infer(corpus, client) == fit_and_infer(corpus, False)


@private_files
@pytest.mark.parametrize("mode", MODES)
def test_the_only_worker_is_replaced_by_one_elsewhere(mode, corpus, monkeypatch):
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.01)
    with hosts.scheduler() as client, ExitStack() as late, ExitStack() as first:
        first.enter_context(hosts.worker(client))

        def replace(event: Any) -> None:
            if event.kind == "round" and event.step == 2:
                late.enter_context(hosts.worker(client, private_files=True))
                first.close()

        assert learn(corpus, client, mode, callbacks=[replace]) == learn(corpus)


@private_files
def test_document_state_needs_workers_that_see_it(corpus, other_host):
    model = new_model(toys.METHODS["labels"], 3, corpus.vocabulary, n_tokens=corpus.n_tokens)
    with pytest.raises(ClusterError, match=r"worker tcp://\S+ does not see .* client=False"):
        train(model, corpus, Limits(1), client=other_host)


@private_files
@pytest.mark.parametrize("kept", [False, True])
def test_a_phase_that_workers_cannot_see_the_files_of_runs_here(kept, corpus, other_host, tmp_path, capsys):
    """By default: from a laptop to any cluster, the same call gives the same topics."""
    found = []
    for client in (False, other_host):
        model = LDA(
            4, max_iter=1, options={"sampling.max_iter": 4}, random_state=2, client=client, n_threads=1
        )
        model.fit(corpus, checkpoint=tmp_path / f"{bool(client)}" if kept else None)
        assert model.history_[-1]["phase"] == "sampling"
        found.append(model.components_.tobytes())
    assert found[0] == found[1]
    said = [line for line in capsys.readouterr().err.splitlines() if "runs in this process" in line]
    folder = tmp_path / "True" if kept else tempfile.gettempdir()
    assert len(said) == 1 and said[0].startswith("the sampling phase runs in this process: worker tcp://")
    assert f"does not see the files of {folder}" in said[0] and "checkpoint in a folder" in said[0]


@pytest.mark.slow
@pytest.mark.skipif(hosts.why_no_networks() is not None, reason=hosts.why_no_networks() or "")
def test_a_network_memory_and_files_of_their_own(corpus):
    """As near to another host as one machine comes."""
    with (
        hosts.private_networks(2) as (here, (one, other)),
        hosts.scheduler(here) as client,
        hosts.worker(client, host=one.address, network=one.network, private_files=True),
        hosts.worker(client, host=other.address, network=other.network, private_files=True),
    ):
        assert fit_and_infer(corpus, client) == fit_and_infer(corpus, False)
        for mode in MODES:
            assert learn(corpus, client, mode) == learn(corpus)

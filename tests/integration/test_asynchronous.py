"""Minibatches that come back in any order: a pass has each of them once, and where it stands says which are left."""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from threading import Condition
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import bigtopic as bt
from bigtopic import methods as table
from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.datasets.known_authors import KnownAuthors
from bigtopic.datasets.known_dual import KnownDual
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.learning import executors
from bigtopic.learning.estep import evaluate, gather
from bigtopic.learning.executors import asynchronous
from bigtopic.learning.executors.asynchronous import AsynchronousExecutor, Threads, Workers
from bigtopic.learning.executors.base import Executor
from bigtopic.learning.executors.sending import Sender
from bigtopic.learning.new_run import make_run
from bigtopic.learning.pushes import Push, pulled, pushed, read_minibatch, shapes_of
from bigtopic.learning.remembering import NoState
from bigtopic.learning.rounds import round_stats, step
from bigtopic.learning.run import Run
from bigtopic.learning.stopping import Limits
from bigtopic.learning.tasks import unpacked
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.exchanges import PROMPT
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Round
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.state.params import Params
from bigtopic.types import Stats

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import hosts
from interrupted import HERE, estimator, fit_saving_often
from reference import case
from reference.serial import total

Make = Callable[[Run], Executor] | None
ADDS = table.get("streaming-ope")  # a minibatch that is done twice, or never, changes the mass of the topics


def new(method: Method, corpus: Corpus) -> TopicModel:
    return new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=5)


class Watch:
    """The rounds that a model is told of; Ctrl-C after some of them."""

    def __init__(self, interrupt_after: int | None = None) -> None:
        self.done: Counter[tuple[int, int]] = Counter()
        self._interrupt_after = interrupt_after

    def by(self, make: Callable[[Run], Executor]) -> Callable[[Run], Executor]:
        """The executor, whose reports are noted."""

        def watched(run: Run) -> Executor:
            executor = make(run)
            advance = executor.advance

            def noting(*limits: Any) -> Any:
                for params, reports in advance(*limits):
                    self.done.update((report.cursor.pass_number, report.cursor.round) for report in reports)
                    if self.done.total() == self._interrupt_after:
                        signal.raise_signal(signal.SIGINT)
                    yield params, reports

            executor.advance = noting  # type: ignore[method-assign]
            return executor

        return watched


def learn(model: TopicModel, corpus: Corpus, make: Make, n_passes: int = 1) -> None:
    train(model, corpus, Limits(n_passes), batch_size=20, slice_size=9, n_threads=1, executor=make)


def bits(model: TopicModel) -> bytes:
    array = model.topic_words
    return array.raw.tobytes() + array.scale.tobytes() + array.sums.tobytes()


def mass(model: TopicModel) -> float:
    return float(model.topic_words.totals().sum())


class Uneven(Threads):
    """Once several are in flight, every fourth minibatch waits until the fifth after it is done, or the last of the
    pass."""

    def __init__(self, run: Run, n_threads: int) -> None:
        super().__init__(run, n_threads)
        self._done: set[tuple[int, int]] = set()
        self._changed, self._forgotten = Condition(), False

    def forget(self, futures: list[Any]) -> None:
        with self._changed:
            self._forgotten = True
            self._changed.notify_all()
        super().forget(futures)
        self._forgotten = False

    def push(self, minibatch: Any, arrays: Any, cursor: Cursor) -> Any:
        return self._pool.submit(self._unevenly, minibatch, arrays, cursor)

    def _unevenly(self, minibatch: Any, arrays: Any, cursor: Cursor) -> Any:
        number, n_rounds = cursor.round, self._run.plan.n_rounds
        awaited = cursor.pass_number, min(number + 5, n_rounds - 1)
        with self._changed:
            prompt = number % 4 or cursor.step < PROMPT
            assert prompt or self._changed.wait_for(lambda: awaited in self._done or self._forgotten, 30)
        found = super().push(minibatch, arrays, cursor).result()
        with self._changed:
            self._done.add((cursor.pass_number, number))
            self._changed.notify_all()
        return found


def uneven(run: Run) -> Executor:
    return AsynchronousExecutor(run, Uneven(run, 12), 6)


def in_flight(n: int, staleness: int | None = None) -> Callable[[Run], Executor]:
    return lambda run: AsynchronousExecutor(run, Threads(run, min(n, 3)), n, staleness)


@pytest.mark.costly(3)
@pytest.mark.parametrize("name", case.methods_of_lda())
def test_one_in_flight_is_serial(name, corpus):
    method = table.get(name)
    serial, alone = new(method, corpus), new(method, corpus)
    learn(serial, corpus, None, 2)
    learn(alone, corpus, in_flight(1), 2)
    assert bits(alone) == bits(serial) and alone.cursor == serial.cursor == Cursor(2, 0, 30)


@pytest.mark.parametrize("n", [2, 5, 40])
def test_several_in_flight_do_every_minibatch_of_a_pass_once(n, corpus):
    watch, model = Watch(), new(ADDS, corpus)
    before = mass(model)
    learn(model, corpus, watch.by(in_flight(n)), 2)
    assert watch.done == Counter((pass_number, number) for pass_number in range(2) for number in range(15))
    assert model.cursor == Cursor(2, 0, 30)
    assert mass(model) - before == pytest.approx(2 * corpus.n_tokens, rel=1e-5)


CONTINUED = {
    "in flight": in_flight(3),
    "threads": lambda run: executors.load("threads").make(run, None, 2),
    "graphs": lambda run: executors.load("graphs").make(run, None, 1),
}


@pytest.mark.parametrize("after", [1, 7, 14, 22])
@pytest.mark.parametrize("make", CONTINUED.values(), ids=CONTINUED.keys())
def test_an_interrupted_pass_goes_on_with_the_rounds_that_are_left(make, after, corpus):
    watch, model = Watch(interrupt_after=after), new(ADDS, corpus)
    before = mass(model)
    learn(model, corpus, watch.by(uneven), 2)
    stands = model.cursor
    assert stands.step == after and (stands.ahead or after <= PROMPT)
    assert stands.rounds_left(15) == 15 - after % 15
    learn(model, corpus, watch.by(make), 2 - stands.pass_number)
    assert watch.done == Counter((pass_number, number) for pass_number in range(2) for number in range(15))
    assert model.cursor == Cursor(2, 0, 30)
    assert mass(model) - before == pytest.approx(2 * corpus.n_tokens, rel=1e-5)


def test_a_second_interruption_comes_after_the_push_is_reported(corpus, monkeypatch):
    """Or the minibatch would be done again when the run goes on."""
    model, plain = new(ADDS, corpus), asynchronous.step
    before = mass(model)

    def interrupted(params: Params, cursor: Cursor, *others: Any) -> Any:
        report = plain(params, cursor, *others)
        if cursor.step == 20:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return report

    monkeypatch.setattr(asynchronous, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(model, corpus, in_flight(3), 2)
    assert model.cursor.step == 21
    learn(model, corpus, in_flight(3))
    assert model.cursor == Cursor(2, 0, 30)
    assert mass(model) - before == pytest.approx(2 * corpus.n_tokens, rel=1e-5)


@pytest.mark.distributed
def test_whole_rounds_do_what_is_left(corpus, one_worker):
    watch, model = Watch(interrupt_after=7), new(ADDS, corpus)
    learn(model, corpus, watch.by(uneven), 2)
    assert model.cursor.ahead or model.cursor.step <= PROMPT
    learn(model, corpus, watch.by(lambda run: executors.load("whole").make(run, one_worker, 1)), 2)
    assert watch.done == Counter((pass_number, number) for pass_number in range(2) for number in range(15))


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_staleness_is_bounded(staleness, corpus):
    watch, model = Watch(), new(ADDS, corpus)
    learn(model, corpus, watch.by(in_flight(6, staleness)), 2)
    assert watch.done == Counter((pass_number, number) for pass_number in range(2) for number in range(15))
    (first, second) = model.history
    assert 0 <= max(row["staleness"]["largest"] for row in (first, second)) <= staleness
    assert all(0 <= share <= 1 for share in first["idle"].values())


LAG = 4


def in_order(n_threads: int) -> Callable[[Run], Executor]:
    return lambda run: AsynchronousExecutor(run, Threads(run, n_threads), LAG, in_order=True)


def emulated(run: Run, params: Params, n_passes: int) -> Params:
    """Algorithm 4 of Gao, Chen and Zhu, plainly: after the first updates, a push comes back after `LAG` - 1 others."""
    reader = BlockReader(run.parts)

    def pushed(rnd: Round, here: Cursor) -> Stats:
        def map_reduce(rnd: Round, arrays: Any, iteration: Any) -> Stats:
            gathered = (gather(reader.block(ref), arrays, run.work) for ref in rnd.slices)
            found = zip(rnd.slices, gathered, strict=True)
            return total([evaluate(ref, one, run.work, iteration, NoState()) for ref, one in found])

        return round_stats(params, rnd, here, run.settings, map_reduce)

    n_steps = 0
    for pass_number in range(n_passes):
        in_air: deque[tuple[Round, int, Stats]] = deque()
        rounds = run.plan.rounds(pass_number)
        while True:
            lag = LAG if n_steps >= PROMPT else 1
            for rnd in islice(rounds, max(0, lag - len(in_air))):
                in_air.append((rnd, n_steps, pushed(rnd, Cursor(pass_number, rnd.number, n_steps))))
            if not in_air:
                break
            rnd, pulled, stats = in_air.popleft()
            here = Cursor(pass_number, rnd.number, n_steps)
            step(params, here, stats, run.settings, 1 / lag, n_steps - pulled)
            n_steps += 1
    return params


@pytest.mark.parametrize("name", ["sgs", "streaming-vb", "online-vb"])
def test_in_order_the_bits_are_those_of_the_emulation(name, corpus):
    """Whatever the number of threads."""
    method, found = table.get(name), []
    for n_threads in (1, 3):
        model = new(method, corpus)
        learn(model, corpus, in_order(n_threads), 2)
        found.append(bits(model))
    plain = new(method, corpus)
    sizes = {"batch_size": 20, "slice_size": 9, "order": "shuffled", "max_iter": 2, "asynchronous": True}
    emulated(make_run(plain, corpus, **sizes), plain.params, 2)
    assert found == [bits(plain)] * 2


def carried(method: Method, corpus: Corpus, n_words: int, batch_size: int) -> tuple[int, int, int, Push]:
    """Rows that a minibatch needs; bytes of its pull and of its push, pickled as Dask does; and the push."""
    wide = from_matrix(csr_array((corpus.to_scipy().data, corpus.to_scipy().indices, corpus.to_scipy().indptr),
                                 shape=(corpus.n_docs, n_words)), random_state=0)  # fmt: skip
    model = new(method, wide)
    sizes = {"batch_size": batch_size, "slice_size": batch_size, "order": "stored", "max_iter": 1}
    run = make_run(model, wide, **sizes, asynchronous=True)
    rnd = next(run.plan.rounds(0))
    minibatch = read_minibatch(run, rnd, shapes_of(model.params), BlockReader(run.parts).block)
    arrays = pulled(model.params, minibatch.ids)
    push = pushed(run, minibatch, arrays, Cursor(), lambda: ("here", 1))
    sent = [len(pickle.dumps(one, protocol=5)) for one in (arrays, push)]
    return len(minibatch.ids["word"]), *sent, push


def test_bytes_are_in_proportion_to_rows(corpus):
    """Whatever the size of the vocabulary."""
    found = {(n, v): carried(ADDS, corpus, v, n)[:3] for n in (1, 2, 4, 20) for v in (80, 5000)}
    rows, *sides = np.transpose([found[n, 80] for n in (1, 2, 4, 20)])
    assert len({*rows.tolist()}) == 4
    # 16 padded topics in float64; without the padding, 4 in float32 and their columns, an id and a place
    for side, each in zip(sides, (16 * 8, 4 * (4 + 4) + 4 + 4), strict=True):
        slopes = np.diff(side) / np.diff(rows)
        assert np.abs(slopes - each).max() < 1
    for n in (1, 2, 4, 20):
        (few, *small), (many, *large) = found[n, 80], found[n, 5000]
        assert few == many and np.abs(np.subtract(small, large)).max() < 100


def test_counts_of_labels_travel_without_zeros(corpus):
    rows, _, n_bytes, push = carried(table.get("sgs"), corpus, 80, 4)
    model = new(table.get("sgs"), corpus)
    values = unpacked(push.stats, model.params.arrays).arrays["topic_words"].values
    n = np.count_nonzero(values)
    assert values.sum() == push.stats.n_tokens and values.shape == (rows, 16) and values.dtype == np.float64
    assert push.__sizeof__() == push.n_bytes == 4 * rows + 12 * n + 4 * (rows + 1) < values.nbytes / 2
    assert n_bytes - push.n_bytes < 2000


@pytest.mark.distributed
def test_pushes_of_workers_move_the_params_once(corpus, three_workers, monkeypatch):
    watch, model, asked, places = Watch(), new(ADDS, corpus), [], Sender.places
    before, begun = mass(model), time.monotonic()
    monkeypatch.setattr(Sender, "places", lambda sender: asked.append(1) or places(sender))
    learn(model, corpus, watch.by(lambda run: AsynchronousExecutor(run, Workers(run, three_workers))), 2)
    assert watch.done == Counter((pass_number, number) for pass_number in range(2) for number in range(15))
    assert mass(model) - before == pytest.approx(2 * corpus.n_tokens, rel=1e-5)
    assert len(asked) <= 2 * (2 + time.monotonic() - begun)  # not for each of 90 tasks
    row = model.history[-1]
    assert set(row["idle"]) <= set(three_workers.nthreads()) and 0 < row["bytes"] <= 80 * (128 + 40) + 100
    serial, alone = new(ADDS, corpus), new(ADDS, corpus)
    learn(serial, corpus, None)
    learn(alone, corpus, lambda run: AsynchronousExecutor(run, Workers(run, three_workers), staleness=0))
    assert bits(alone) == bits(serial)


@pytest.mark.slow
def test_a_run_loads_as_a_model_while_it_goes_on(corpus, tmp_path):
    """Each version counts the tokens of whole minibatches, as many as it has updates."""
    path, tokens, seen = tmp_path / "run.ckpt", {0: 0.0}, []

    def load(event: Any) -> None:
        if event.kind == "round":
            tokens[event.step] = event.n_tokens
            if event.step > 8 and event.step % 2:  # saved after each update
                loaded = bt.load_model(path)
                seen.append(loaded.n_batch_iter_)
                found = mass(loaded._model) - start
                assert found == pytest.approx(tokens[loaded.n_batch_iter_], rel=1e-4, abs=1e-2)

    model = estimator("asynchronous", 2, callbacks=[load])
    start = mass(new_model(table.get(ADDS.name), 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=0))
    model.fit(corpus, checkpoint=bt.Checkpoint(path, seconds=0))
    assert len({*seen}) == 11 and bt.load_model(path).n_batch_iter_ == model.n_batch_iter_ == 30


@pytest.mark.slow
@pytest.mark.parametrize("workers", [False, pytest.param(True, marks=pytest.mark.distributed)])
def test_a_driver_that_is_killed_twenty_times_applies_nothing_twice(workers, corpus, tmp_path, request):
    client = request.getfixturevalue("three_workers").scheduler.address if workers else False
    stored = bt.ingest(corpus, tmp_path / "corpus.zarr", shuffle=False, **HERE)
    path, draw, n_running, n_passes = tmp_path / "run.ckpt", random.Random(1), 0, 60
    for kill in range(20):
        begun = hosts.forks().Event()
        given = "asynchronous", n_passes, str(stored.url), str(path), begun, client
        victim = hosts.forks().Process(target=fit_saving_often, args=given, daemon=True)
        victim.start()
        assert begun.wait(hosts.SECONDS)
        while kill == 0 and victim.is_alive() and not list(path.glob("step-*/zarr.json")):
            time.sleep(0.01)
        time.sleep(draw.uniform(0.5, 1.5) if workers else draw.uniform(0, 0.4))
        n_running += victim.is_alive()
        victim.kill()
        victim.join()
        assert np.isfinite(bt.load_model(path).components_).all()
    resumed = estimator("asynchronous", n_passes, client=client).fit(stored, checkpoint=path, resume=True)
    start = mass(new_model(table.get(ADDS.name), 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=0))
    assert n_running == 20 and resumed.n_batch_iter_ == 15 * n_passes
    assert [row["n_docs"] for row in resumed.history_] == [300 * (1 + i) for i in range(n_passes)]
    assert mass(resumed._model) - start == pytest.approx(n_passes * corpus.n_tokens, rel=1e-4)


@pytest.mark.slow
@pytest.mark.distributed
def test_the_only_worker_dies(corpus, mortal_worker):
    """With all that was sent to it."""
    watch, model, killed = Watch(), new(ADDS, corpus), []
    before = mass(model)

    def make(run: Run) -> Executor:
        executor = AsynchronousExecutor(run, Workers(run, mortal_worker))
        advance = executor.advance

        def deadly(*limits: Any) -> Any:
            for number, found in enumerate(advance(*limits)):
                yield found
                if number == 9 and not killed:
                    killed.extend(mortal_worker.run(os.getpid).values())
                    os.kill(killed[0], signal.SIGKILL)

        executor.advance = deadly  # type: ignore[method-assign]
        return executor

    learn(model, corpus, watch.by(make), 2)
    assert killed and mass(model) - before == pytest.approx(2 * corpus.n_tokens, rel=1e-5)
    assert watch.done == Counter((pass_number, number) for pass_number in range(2) for number in range(15))


@pytest.mark.slow
@pytest.mark.distributed
def test_twenty_kills_lose_nothing_and_apply_nothing_twice(corpus, mortal_workers):
    watch, model, n_passes, killed = Watch(), new(ADDS, corpus), 40, []
    before = mass(model)

    def make(run: Run) -> Executor:
        executor = AsynchronousExecutor(run, Workers(run, mortal_workers))
        advance = executor.advance

        def deadly(*limits: Any) -> Any:
            for number, found in enumerate(advance(*limits)):
                yield found
                if number == 7 and len(killed) < 20 and (pids := mortal_workers.run(os.getpid)):
                    killed.append(min(pids.values()))
                    os.kill(killed[-1], signal.SIGKILL)

        executor.advance = deadly  # type: ignore[method-assign]
        return executor

    learn(model, corpus, watch.by(make), n_passes)
    assert len(killed) == 20
    assert watch.done == Counter(
        (pass_number, number) for pass_number in range(n_passes) for number in range(15)
    )
    assert mass(model) - before == pytest.approx(n_passes * corpus.n_tokens, rel=1e-5)


OTHERS = {
    "online-author-vb": lambda: (AuthorTopicModel, (3,), KnownAuthors(40, 9, 3).corpus(120)),
    "dual-cgs": lambda: (DualTopicModel, (2, 2), KnownDual(60, 20, 2, 2).records(2000)),
}


@pytest.mark.parametrize("method", OTHERS)
def test_models_of_authors_and_of_pairs_on_one_thread_are_serial(method):
    kind, counts, documents = OTHERS[method]()
    settings = {"method": method, "batch_size": 15, "max_iter": 2, "client": False, "n_threads": 1}
    one, other = (kind(*counts, **settings, asynchronous=each).fit(documents) for each in (None, True))
    arrays = one._model.params.arrays
    for name, array in other._model.params.arrays.items():
        assert array.raw.tobytes() == arrays[name].raw.tobytes()

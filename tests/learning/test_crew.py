"""Threads that stay in compiled code compute what the plain loop does, whatever happens to them."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from bigtopic.learning.crew.at_once import StepsAtOnce
from bigtopic.learning.crew.segment import CrewSegment
from bigtopic.learning.crew.threads import Crew
from bigtopic.learning.executors.segments import Segment
from numba import njit

from bigtopic import kernels
from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import ModelError
from bigtopic.kernels.support.slice_loop import SLICE_LOOP
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.loops import works_on
from bigtopic.learning.new_run import make_run
from bigtopic.learning.run import Run
from bigtopic.learning.stopping import interruptible
from bigtopic.methods import get
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.state import _kernels
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.state.params import Params
from bigtopic.types import AxisStats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import serial


def corpus_of(n_docs: int, fractional: bool = False) -> Any:
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, (n_docs, 60)) * (rng.random((1, 60)) < 0.9)
    counts[3], counts[n_docs // 2] = 0, 0
    return from_matrix(counts * 0.37 if fractional else counts)


@pytest.fixture(autouse=True)
def delays_of_short_passes(monkeypatch):
    monkeypatch.setattr("bigtopic.plan.delays.ROUNDS", 1)


def setting(
    n_docs: int = 1500,
    batch_size: int = 3,
    max_iter: int | None = None,
    *,
    corpus: Corpus | None = None,
    order: str = "shuffled",
    known: Sequence[int] | None = None,
    method: str = "online-cvb0",
    **given: Any,
) -> tuple[Run, TopicModel]:
    """A run with delayed updates, and the model; which may not know all words."""
    corpus = corpus_of(n_docs) if corpus is None else corpus
    model = new_model(replace(get(method), **given), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=batch_size, slice_size=None, order=order, max_iter=max_iter)
    if known is not None:
        ids = np.full(run.work.n_words, -1, np.int32)
        ids[list(known)] = np.arange(len(known))
        run = replace(run, work=replace(run.work, id_maps={"word": ids}))
    return run, model


def record_crews(monkeypatch: Any) -> list[Crew]:
    """The crews that are made from now on."""
    made: list[Crew] = []
    usual = Crew.__init__

    def noted(self: Crew, *given: Any) -> None:
        made.append(self)
        usual(self, *given)

    monkeypatch.setattr(Crew, "__init__", noted)
    return made


def learn_pass(executor: Any, params: Params) -> LazyArray:
    """The topics after a pass."""
    cursor = Cursor()
    with executor:
        for _, reports in executor.advance(params, cursor):
            cursor = cursor.after(reports)
    return params["topic_words"]


def learn_pass_everywhere(run: Run, model: TopicModel) -> list[LazyArray]:
    """The topics after a pass of several executors."""
    executors = ThreadExecutor(run, 1), ThreadExecutor(run, 3), GraphExecutor(run, scheduler="sync")
    return [learn_pass(executor, model.params.copy()) for executor in executors]


def crew_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("bigtopic-crew")]


def assert_same_bits(found: LazyArray, expected: LazyArray) -> None:
    np.testing.assert_array_equal(found.raw, expected.raw)
    np.testing.assert_array_equal(found.scale, expected.scale)
    np.testing.assert_array_equal(found.sums, expected.sums)


class Broken(Exception):
    """What a test raises."""


USUAL = get("online-cvb0").schemes["topic_words"]
CONSTANT = Interpolate(learning_decay=None, scale="tokens")
FOUND_BY_NAME = """
import pickle, sys
from bigtopic import kernels
loop = pickle.load(sys.stdin.buffer).loop
print(loop.infer is kernels.load(sys.argv[1]).loop.infer)
"""


@dataclass(frozen=True)
class OneByOne:
    """Steps like another scheme, but not at once: its factors are not known before."""

    constant: bool = False
    adds_up = True

    def step(self, array: Any, stats: Any, info: Any) -> None:
        (CONSTANT if self.constant else USUAL).step(array, stats, info)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("delay", [3, 7, 31])
def test_steps_of_a_group_at_once_are_those_one_by_one(delay, n_threads, monkeypatch):
    calls = []
    usual = StepsAtOnce.take
    monkeypatch.setattr(StepsAtOnce, "take", lambda *given: calls.append(given) or usual(*given))
    run, model = setting(900, delay=delay, max_iter=1)
    found = learn_pass(ThreadExecutor(run, n_threads), model.params.copy())
    assert (n_groups := len(calls)) > 10
    run, _ = setting(900, delay=delay, max_iter=1, schemes={"topic_words": OneByOne()})
    assert_same_bits(learn_pass(ThreadExecutor(run, n_threads), model.params.copy()), found)
    assert len(calls) == n_groups


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 17])
@pytest.mark.parametrize("delay", [1, 3, 7, 31])
def test_any_number_of_threads_learns_what_the_plain_loop_does(delay, n_threads, fractional, monkeypatch):
    """With minibatches that the ends of parts cut into two slices, and read blocks of a few."""
    monkeypatch.setattr("bigtopic.plan.slices.READ_BLOCK_ENTRIES", 1500)
    corpus = corpus_of(1500, fractional)
    whole = corpus.read(order="stored")
    parts = [MemoryPart(f"{a}", whole[a:b]) for a, b in pairwise((0, 703, 1101, 1500))]
    corpus = Corpus(parts, corpus.vocabulary)
    run, model = setting(corpus=corpus, batch_size=7, max_iter=2, delay=delay)
    assert run.plan.delay == delay
    made = record_crews(monkeypatch)
    *updates, (expected, _) = serial.learn(run, model.params, 2)
    params, cursor, reports = model.params.copy(), Cursor(), []
    with ThreadExecutor(run, n_threads) as executor:
        for _ in range(2):
            for _, some in executor.advance(params, cursor):
                cursor = cursor.after(some)
                reports += some
            cursor = cursor.next_pass()
    assert len(made) == (delay >= 3)
    assert_same_bits(params["topic_words"], expected["topic_words"])
    assert reports[:-1] == [report for _, report in updates]


@pytest.mark.parametrize("known", [range(5, 60, 2), []], ids=["some", "none"])
def test_words_that_the_params_do_not_know(known, monkeypatch):
    run, model = setting(500, delay=7, known=known, max_iter=1)
    made = record_crews(monkeypatch)
    found = learn_pass(ThreadExecutor(run, 3), model.params.copy())
    *_, (expected, _) = serial.learn(run, model.params, 1)
    assert_same_bits(found, expected["topic_words"])
    assert made


@pytest.mark.parametrize("n_words", [200, 20_000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_words_that_the_corpus_does_not_have(n_words, n_threads):
    """The params' ids are then beyond those of the corpus. Minibatches are two slices, which are joined."""
    run, model = setting(900, delay=31, max_iter=1)
    array = LazyArray.zeros(n_words, 4, axis="word", prior=0.25)
    array.raw[-60:] = model.params["topic_words"].raw
    array.fold()
    params = Params({**model.params.arrays, "topic_words": array})
    ids = np.arange(n_words - 60, n_words, dtype=np.int32)
    run = replace(run, work=replace(run.work, id_maps={"word": ids}))
    *_, (expected, _) = serial.learn(run, params, 1)
    found = learn_pass(ThreadExecutor(run, n_threads), params.copy())
    np.testing.assert_array_equal(found.raw, expected["topic_words"].raw)
    assert (
        max(len(rnd.slices) for segment in run.plan.segments(0) for rnd in segment if len(segment) > 1) == 2
    )


@pytest.mark.parametrize("n_threads", [2, 5])
def test_tokens_are_those_of_both_slices_while_these_are_joined(n_threads, monkeypatch):
    """Who leads reads the tokens of a group once its documents are looked up."""
    run, model = setting(900, delay=31, max_iter=1)
    tokens: dict[int, set[float]] = {}
    usual, reported = Segment.factors, Segment.report

    def noted(self: Segment, number: int, n_tokens: float) -> tuple[float, float]:
        tokens.setdefault(self.rounds[number].number, set()).add(n_tokens)
        return usual(self, number, n_tokens)

    def report(self: Segment, number: int, n_tokens: float, info: Any) -> None:
        tokens[self.rounds[number].number].add(n_tokens)
        reported(self, number, n_tokens, info)

    monkeypatch.setattr(Segment, "factors", noted)
    monkeypatch.setattr(Segment, "report", report)
    for _ in range(10):
        learn_pass(ThreadExecutor(run, n_threads), model.params.copy())
    assert len(tokens) > 200 and all(len(own) == 1 for own in tokens.values())


def test_documents_that_converge_by_themselves(monkeypatch):
    run, model = setting(
        500, delay=7, options={"mean_change_tol": 1e-3, "max_doc_update_iter": 30}, max_iter=1
    )
    made = record_crews(monkeypatch)
    *_, (expected, _) = serial.learn(run, model.params, 1)
    assert_same_bits(learn_pass(ThreadExecutor(run, 2), model.params.copy()), expected["topic_words"])
    assert made


def test_slices_larger_than_those_before(monkeypatch):
    """The memory of a thread grows when a slice does not fit: here, within a segment."""
    rng = np.random.default_rng(0)
    counts = np.zeros((600, 400))
    for d in range(600):
        counts[d, rng.choice(400, 200 if d > 400 else 2, replace=False)] = 1 + d % 3
    run, model = setting(corpus=from_matrix(counts), batch_size=4, max_iter=1, order="stored", delay=7)
    entered: list[int] = []
    usual = Crew._entrance
    monkeypatch.setattr(Crew, "_entrance", lambda self, number: entered.append(number) or usual(self, number))
    *_, (expected, _) = serial.learn(run, model.params, 1)
    assert_same_bits(learn_pass(ThreadExecutor(run, 3), model.params.copy()), expected["topic_words"])
    n_segments = len([segment for segment in run.plan.segments(0) if len(segment) > 1])
    assert len(entered) > n_segments + 2 and {*entered} == {0, 1, 2}


@dataclass(frozen=True)
class Twice:
    """Adds the statistics of a minibatch in halves, or as other numbers."""

    added: str  # dtype; one named `dtype` would be that of the params
    adds_up = True

    def step(self, array: Any, stats: Any, info: Any) -> None:
        rate = min(0.1, info.largest_step)
        half = AxisStats(stats.ids, (0.5 * stats.values).astype(self.added))
        array.add(half, weight=rate, decay=1.0 - rate)
        array.add(half, weight=rate)


@pytest.mark.parametrize("added", ["float32", "float64"])
def test_schemes_that_add_other_rows_than_the_statistics(added, monkeypatch):
    """Compiled code adds those of float32; Python all others."""
    run, model = setting(500, delay=7, schemes={"topic_words": Twice(added)}, max_iter=1)
    made = record_crews(monkeypatch)
    found = learn_pass_everywhere(run, model)
    *_, (expected, _) = serial.learn(run, model.params, 1)
    for array in found:
        assert_same_bits(array, expected["topic_words"])
    assert made


def test_scales_are_folded_at_the_same_updates_by_every_executor(monkeypatch):
    """With large steps, so that a scale becomes too small within a pass."""
    schemes = {"topic_words": Interpolate(learning_decay=None, scale="tokens")}
    run, model = setting(delay=7, schemes=schemes)
    made = record_crews(monkeypatch)
    found = learn_pass_everywhere(run, model)
    assert made
    assert found[0].scale.max() > 1e-17
    for array in found[1:]:
        np.testing.assert_array_equal(array.raw, found[0].raw)
        np.testing.assert_array_equal(array.scale, found[0].scale)


@pytest.mark.parametrize("name", ["online-cvb0", "online-vb", "cdf", "online-cgs"])
def test_methods_of_all_kinds_may_be_delayed(name):
    """Their kernels read means, expected logarithms, or counts."""
    run, model = setting(400, batch_size=5, max_iter=1, method=name, delay=7, slice_size=None)
    found = learn_pass_everywhere(run, model)
    *_, (expected, _) = serial.learn(run, model.params, 1)
    for array in found:
        np.testing.assert_array_equal(array.raw, expected["topic_words"].raw)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(
    ("what", "at"), [(what, at) for what in ("read", "step", "factors") for at in (17, 50, 130)]
)
def test_a_failure_leaves_the_params_of_an_update(what, at, n_threads, monkeypatch):
    """The thread that leads reads and steps; what it raises ends the others, and what they have begun is done."""
    monkeypatch.setattr("bigtopic.plan.slices.READ_BLOCK_ENTRIES", 100)  # a few minibatches each
    schemes = {"topic_words": OneByOne()} if what == "step" else get("online-cvb0").schemes
    run, model = setting(600, delay=7, max_iter=1, schemes=schemes)
    versions = [one["topic_words"] for one, _ in serial.learn(run, model.params, 1)]
    calls = []

    def breaks(usual: Any) -> Any:
        def call(*given: Any) -> Any:
            calls.append(None)
            if len(calls) == at:
                raise Broken(what)
            return usual(*given)

        return call

    params, reports, made = model.params.copy(), [], record_crews(monkeypatch)
    with ThreadExecutor(run, n_threads) as executor:
        if what == "read":
            monkeypatch.setattr(BlockReader, "read_block", breaks(BlockReader.read_block))
        else:
            monkeypatch.setattr(Segment, what, breaks(getattr(Segment, what)))
        with pytest.raises(Broken, match=what):
            for _, some in executor.advance(params, Cursor()):
                reports += some
        assert made and not crew_threads()
        monkeypatch.undo()
        assert 0 < len(reports) < 200
        assert_same_bits(params["topic_words"], versions[len(reports) - 1])
        assert params["topic_words"].put_off is None


def test_an_executor_goes_on_after_a_failure(monkeypatch):
    run, model = setting(600, delay=7, max_iter=1)
    *_, (expected, _) = serial.learn(run, model.params, 1)
    usual, calls = Segment.factors, []

    def breaks(self: Segment, *given: Any) -> tuple[float, float]:
        calls.append(None)
        if len(calls) == 100:
            raise Broken
        return usual(self, *given)

    made = record_crews(monkeypatch)
    monkeypatch.setattr(Segment, "factors", breaks)
    with ThreadExecutor(run, 3) as executor:
        params, cursor = model.params.copy(), Cursor()
        with pytest.raises(Broken):
            for _, reports in executor.advance(params, cursor):
                cursor = cursor.after(reports)
        assert_same_bits(learn_pass(executor, model.params.copy()), expected["topic_words"])
    assert made and not crew_threads()


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("at", ["a fold at the end", "a step", "a report"])
def test_a_second_ctrl_c_leaves_params_that_are_those_of_an_update(at, n_threads, monkeypatch):
    scheme = OneByOne(constant=True) if at == "a step" else CONSTANT
    run, model = setting(delay=7, schemes={"topic_words": scheme})
    calls, sent = [], []

    def twice(usual: Any) -> Any:
        def interrupted(*given: Any) -> Any:
            found = usual(*given)
            calls.append(None)
            in_main = threading.current_thread() is threading.main_thread()
            if (at != "a fold at the end" and len(calls) < 30) or not in_main or sent:
                return found
            sent.append(None)
            monkeypatch.undo()
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            return found

        return interrupted

    if at == "a step":
        monkeypatch.setattr(Segment, "step", twice(Segment.step))
    elif at == "a report":
        monkeypatch.setattr(Segment, "report", twice(Segment.report))
    else:
        monkeypatch.setattr(_kernels, "fold_scale", twice(_kernels.fold_scale))
    params, n_updates, made = model.params.copy(), 0, record_crews(monkeypatch)
    with pytest.raises(KeyboardInterrupt), ThreadExecutor(run, n_threads) as executor, interruptible():
        for _, reports in executor.advance(params, Cursor()):
            n_updates += len(reports)
    array = params["topic_words"]
    assert made and array.put_off is None and not array.keeps_scale and n_updates > 0
    versions = [one["topic_words"] for one, _ in islice(serial.learn(run, model.params, 1), n_updates)]
    # the plain loop folds scales at once, so that its rows are rounded at other times
    np.testing.assert_allclose(array.gather(None), versions[-1].gather(None), rtol=1e-4)
    np.testing.assert_allclose(array.gather(None).sum(axis=0)[:4], array.weight_totals(), rtol=1e-3)


def test_decays_that_are_too_large_to_be_put_off_are_refused(monkeypatch):
    @dataclass(frozen=True)
    class Forgets:
        adds_up = True

        def step(self, array: Any, stats: Any, info: Any) -> None:
            array.add(stats, weight=1.0, decay=1e-3)

    run, model = setting(delay=31, schemes={"topic_words": Forgets()})
    made = record_crews(monkeypatch)
    with (
        ThreadExecutor(run, 2) as executor,
        pytest.raises(ModelError, match="declares `adds_up`, but decays more than"),
    ):
        list(executor.advance(model.params.copy(), Cursor()))
    assert made


@njit(**SLICE_LOOP)
def _infinite(indptr, words, counts, topic_words, prior, options, scratch, stats, figures):
    stats[:] = 1.0
    if len(indptr) == 4:  # of the only minibatch of three documents
        stats[-1, 2] = np.inf
    figures[:] = 0.0


@njit(**SLICE_LOOP)
def _raising(indptr, words, counts, topic_words, prior, options, scratch, stats, figures):
    raise ValueError("in compiled code")


@pytest.mark.parametrize(
    ("loop", "error", "message"),
    [
        (
            _infinite,
            ModelError,
            r"stats\['topic_words'\] holds numbers that are not finite, at update \d+; the model",
        ),
        (_raising, ValueError, "in compiled code"),
    ],
)
def test_what_a_loop_does_wrong_is_raised(loop, error, message):
    kernel = kernels.load("cvb0")
    assert kernel.loop is not None
    wrong = replace(kernel, run=_run, loop=replace(kernel.loop, infer=loop))
    run, model = setting(1001, batch_size=4, delay=7, kernel=wrong, max_iter=1)
    with ThreadExecutor(run, 2) as executor, pytest.raises(error, match=message):
        list(executor.advance(model.params.copy(), Cursor()))


def _run(*given: Any) -> Any:
    """In the module of the loops."""
    return kernels.load("cvb0").run(*given)


def test_what_reads_more_than_means_of_words_is_for_pipelines():
    run, model = setting(60, batch_size=7)
    kernel, arrays = run.work.kernel, model.params.arrays
    assert works_on(arrays, run.work)
    for other in (
        replace(kernel, loop=None),
        replace(kernel, run=lambda *given: kernel.run(*given)),
        replace(kernel, derives=lambda docs: {}),
        replace(kernel, views={"topic_words": "counts"}),
        replace(kernel, statistics={**kernel.statistics, "doc_topic_prior": "none"}),
    ):
        assert not works_on(arrays, replace(run.work, kernel=other))
    own = arrays["topic_words"].local(np.arange(60))
    own.set_prior(np.full((60, 1), 0.1))
    assert not works_on({**arrays, "topic_words": own}, run.work)


def test_only_the_thread_that_leads_forgets_groups(monkeypatch):
    """One that no longer leads may lose the processor, and another one lead."""
    inside: list[int] = []
    usual = CrewSegment._release_group

    def slow(self: CrewSegment) -> None:
        inside.append(1)
        assert len(inside) == 1
        time.sleep(0.002)
        usual(self)
        inside.pop()

    monkeypatch.setattr(CrewSegment, "_release_group", slow)
    run, model = setting(800, delay=7, max_iter=1)
    made = record_crews(monkeypatch)
    *_, (expected, _) = serial.learn(run, model.params, 1)
    for _ in range(5):
        assert_same_bits(learn_pass(ThreadExecutor(run, 4), model.params.copy()), expected["topic_words"])
    assert len(made) == 5


def test_threads_that_cannot_begin(monkeypatch):
    run, model = setting(600, delay=7, max_iter=1)
    versions = [one["topic_words"] for one, _ in serial.learn(run, model.params, 1)]
    usual, begun = threading.Thread.start, []

    def start(self: threading.Thread) -> None:
        begun.append(self)
        if self.name == "bigtopic-crew_2":
            raise RuntimeError("can't start new thread")
        usual(self)

    params, reports = model.params.copy(), []
    monkeypatch.setattr(threading.Thread, "start", start)
    with ThreadExecutor(run, 3) as executor, pytest.raises(RuntimeError, match="can't start"):
        for _, some in executor.advance(params, Cursor()):
            reports += some
    assert reports and not crew_threads()
    assert_same_bits(params["topic_words"], versions[len(reports) - 1])


def test_what_fails_before_the_first_segment_is_done_again(monkeypatch):
    """Neither the thread that starts the others, nor one of these, is there when the first segment begins."""
    run, model = setting(600, delay=7, max_iter=1)
    *_, (expected, _) = serial.learn(run, model.params, 1)
    usual, entrance, failed = threading.Thread.start, Crew._entrance, []

    def start(self: threading.Thread) -> None:
        if self.name == "bigtopic-crew-starter":
            failed.append(self)
            raise RuntimeError("can't start new thread")
        usual(self)

    def enter(self: Crew, number: int) -> Any:
        if not failed:
            failed.append(number)
            raise MemoryError
        return entrance(self, number)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        assert_same_bits(learn_pass(ThreadExecutor(run, 3), model.params.copy()), expected["topic_words"])
    assert failed
    failed.clear()
    monkeypatch.setattr(Crew, "_entrance", enter)
    assert_same_bits(learn_pass(ThreadExecutor(run, 3), model.params.copy()), expected["topic_words"])
    assert failed and not crew_threads()


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.4])
def test_the_interpreter_ends_while_a_daemon_thread_fits(seconds):
    """Its threads may be waiting, and are about to take locks. Most of such processes aborted when these were freed."""
    script = f"""
import threading, time
import numpy as np
import bigtopic as bt
from bigtopic.learning.crew.segment import CrewSegment
from bigtopic.plan import delays

delays.ROUNDS, begun, usual = 1, threading.Event(), CrewSegment.lead
def lead(self, thread):
    begun.set()
    usual(self, thread)
CrewSegment.lead = lead
corpus = bt.from_matrix(np.random.default_rng(0).poisson(0.4, (1500, 60)))
def fits():
    while True:
        bt.LDA(4, batch_size=3, n_threads=4, max_iter=1, client=False, progress=False).fit(corpus)
threading.Thread(target=fits, daemon=True).start()
assert begun.wait(120)
time.sleep({seconds})
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("name", [name for name in kernels.names() if kernels.load(name).loop])
def test_a_loop_travels_by_its_name(name):
    """Its code would be compiled again by each worker, and not be kept."""
    kernel = kernels.load(name)
    found = subprocess.run(
        [sys.executable, "-c", FOUND_BY_NAME, name],
        input=pickle.dumps(kernel),
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert found.stdout == b"True\n"
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_a_loop_that_no_module_has_travels_as_code():
    @njit(**SLICE_LOOP)
    def infer(*arguments):
        return None

    loop = replace(kernels.load("cvb0").loop, infer=infer)
    assert pickle.loads(cloudpickle.dumps(loop)).figures == loop.figures

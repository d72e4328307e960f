"""Slices of several minibatches in one call of the kernel give the same bits as one by one."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import ModelError
from bigtopic.learning.estep import evaluate, evaluate_stack, gather, gather_stack, lens_of
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.new_run import make_run
from bigtopic.learning.remembering import Nothing
from bigtopic.learning.stopping import interruptible
from bigtopic.learning.work import Iteration
from bigtopic.methods import get
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.state import _kernels
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.new_model import new_model
from bigtopic.types import Kernel, StackResult, Stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import serial

STACKING = [name for name in kernels.names() if kernels.load(name).stacked is not None]
ITERATIONS = [Iteration(7, step, 1, 0) for step in (4, 5, 6)]


def corpus_of(n_docs: int, fractional: bool = False) -> Any:
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, (n_docs, 60)) * (rng.random((1, 60)) < 0.9)
    counts[3], counts[n_docs // 2] = 0, 0
    return from_matrix(counts * 0.37 if fractional else counts)


def setting(kernel: str = "cvb0", fractional: bool = False, known: Sequence[int] | None = None, **given: Any):
    """A run with delayed updates, some slices of a read block, and the params; which may not know all words."""
    method = replace(get("online-cvb0"), kernel=kernel, **given)
    corpus = corpus_of(60, fractional)
    model = new_model(method, 5, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=7, slice_size=None, order="shuffled")
    if known is not None:
        ids = np.full(run.work.n_words, -1, np.int32)
        ids[list(known)] = np.arange(len(known))
        run = replace(run, work=replace(run.work, id_maps={"word": ids}))
    refs = [rnd.slices[0] for rnd in run.plan.rounds(1)][2:5]
    assert len({ref.read_block for ref in refs}) == 1
    return run, refs, model.params.arrays


def stacked(run: Any, refs: Any, arrays: Any, n_rows: int) -> Any:
    lens = lens_of(arrays, run.work)
    assert lens is not None
    block, begin = BlockReader(run.parts, ahead=0).read_block(refs[0]), refs[0].read_block_start
    return gather_stack(
        block, [(ref.start - begin, ref.stop - begin) for ref in refs], lens, run.work, n_rows
    )


def one_by_one(run: Any, refs: Any, arrays: Any) -> list[Stats]:
    reader = BlockReader(run.parts, ahead=0)
    return [
        evaluate(ref, gather(reader.block(ref), arrays, run.work), run.work, iteration, Nothing())
        for ref, iteration in zip(refs, ITERATIONS, strict=True)
    ]


@pytest.mark.parametrize("kernel", STACKING)
@pytest.mark.parametrize("known", [None, range(5, 60, 2), []], ids=["all", "some", "none"])
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("n_rows", [0, 20, 1000])
def test_statistics_are_those_of_the_slices(n_rows, fractional, known, kernel):
    run, refs, arrays = setting(kernel, fractional, known)
    found = evaluate_stack(stacked(run, refs, arrays, n_rows), run.work, ITERATIONS)
    for own, expected in zip(found, one_by_one(run, refs, arrays), strict=True):
        assert (own.n_docs, own.n_tokens, own.info) == (expected.n_docs, expected.n_tokens, expected.info)
        for name, rows in expected.arrays.items():
            np.testing.assert_array_equal(own.arrays[name].ids, rows.ids)
            np.testing.assert_array_equal(own.arrays[name].values, rows.values)
            np.testing.assert_array_equal(own.arrays[name].sums, rows.sums)
        assert type(own.n_docs) is int and {type(figure) for figure in own.info.values()} == {float}


@pytest.mark.parametrize("kernel", STACKING)
def test_documents_that_converge_by_themselves(kernel):
    run, refs, arrays = setting(kernel, options={"mean_change_tol": 1e-3, "max_doc_update_iter": 30})
    found = evaluate_stack(stacked(run, refs, arrays, 100), run.work, ITERATIONS)
    assert [one.info for one in found] == [one.info for one in one_by_one(run, refs, arrays)]


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 17])
@pytest.mark.parametrize("delay", [1, 2, 3, 7, 31])
def test_any_number_of_threads_learns_what_the_plain_loop_does(delay, n_threads, fractional, monkeypatch):
    """With minibatches that the ends of parts cut into two slices, and read blocks of a few."""
    monkeypatch.setattr("bigtopic.plan.delays.ROUNDS", 1)
    monkeypatch.setattr("bigtopic.plan.slices.READ_BLOCK_ENTRIES", 1500)
    corpus = corpus_of(1500, fractional)
    whole = corpus.read(order="stored")
    parts = [MemoryPart(f"{a}", whole[a:b]) for a, b in pairwise((0, 703, 1101, 1500))]
    corpus = Corpus(parts, corpus.vocabulary)
    model = new_model(
        replace(get("online-cvb0"), delay=delay), 4, corpus.vocabulary, n_tokens=corpus.n_tokens
    )
    run = make_run(model, corpus, batch_size=7, slice_size=None, order="shuffled", max_iter=2)
    assert run.plan.delay == delay
    params = model.params.copy()
    *_, (expected, _) = serial.learn(run, model.params, 2)
    cursor = Cursor()
    with ThreadExecutor(run, n_threads) as executor:
        for _ in range(2):
            for _, reports in executor.advance(params, cursor):
                cursor = cursor.after(reports)
            cursor = cursor.next_pass()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(params[name].raw, array.raw)
        np.testing.assert_array_equal(params[name].scale, array.scale)
        np.testing.assert_array_equal(params[name].sums, array.sums)


def learned_everywhere(run: Any, model: Any) -> list[LazyArray]:
    """The topics after a pass of several executors."""
    found = []
    for executor in (ThreadExecutor(run, 1), ThreadExecutor(run, 3), GraphExecutor(run, scheduler="sync")):
        params, cursor = model.params.copy(), Cursor()
        with executor:
            for _, reports in executor.advance(params, cursor):
                cursor = cursor.after(reports)
        found.append(params["topic_words"])
    return found


def test_scales_are_folded_at_the_same_updates_by_every_executor(monkeypatch):
    """With large steps, so that a scale becomes too small within a pass."""
    monkeypatch.setattr("bigtopic.plan.delays.ROUNDS", 1)
    corpus = corpus_of(1500)
    schemes = {"topic_words": Interpolate(learning_decay=None, scale="tokens")}
    method = replace(get("online-cvb0"), delay=7, schemes=schemes)
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=3, slice_size=None, order="shuffled")
    found = learned_everywhere(run, model)
    assert found[0].scale.max() > 1e-17
    for array in found[1:]:
        np.testing.assert_array_equal(array.raw, found[0].raw)
        np.testing.assert_array_equal(array.scale, found[0].scale)


@pytest.mark.parametrize("name", ["online-cvb0", "online-vb", "cdf", "online-cgs"])
def test_methods_of_all_kinds_may_be_delayed(name, monkeypatch):
    """Their kernels read means, expected logarithms, or counts."""
    monkeypatch.setattr("bigtopic.plan.delays.ROUNDS", 1)
    corpus = corpus_of(400)
    method = replace(get(name), delay=7, max_iter=1, slice_size=None)
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=5, slice_size=None, order="shuffled", max_iter=1)
    found = learned_everywhere(run, model)
    *_, (expected, _) = serial.learn(run, model.params, 1)
    for array in found:
        np.testing.assert_array_equal(array.raw, expected["topic_words"].raw)


@pytest.mark.parametrize("at", ["a fold at the end", "an addition after a failure"])
def test_a_second_ctrl_c_leaves_params_that_are_those_of_an_update(at, monkeypatch):
    monkeypatch.setattr("bigtopic.plan.delays.ROUNDS", 1)
    corpus = corpus_of(1500)
    schemes = {"topic_words": Interpolate(learning_decay=None, scale="tokens")}
    fails = at == "an addition after a failure"
    usual = kernels.load("cvb0")
    calls = []

    def stacked(*given: Any) -> StackResult:
        calls.append(None)
        if fails and len(calls) == 30:
            monkeypatch.setattr(_kernels, "scatter_some", twice(_kernels.scatter_some))
            raise ValueError("mine")
        assert usual.stacked is not None
        return usual.stacked(*given)

    def twice(loop: Any) -> Any:
        def interrupted(*given: Any) -> None:
            loop(*given)
            monkeypatch.setattr(_kernels, loop.__name__, loop)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

        return interrupted

    kernel = replace(usual, run=lambda *given: usual.run(*given), stacked=stacked)
    method = replace(get("online-cvb0"), delay=7, schemes=schemes, kernel=kernel)
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=3, slice_size=None, order="shuffled")
    if not fails:
        monkeypatch.setattr(_kernels, "fold_scale", twice(_kernels.fold_scale))
    params, cursor = model.params.copy(), Cursor()
    n_threads = 1 if fails else 2  # with one, what is left to be added is the same in each run
    with pytest.raises(KeyboardInterrupt), ThreadExecutor(run, n_threads) as executor, interruptible():
        for _, reports in executor.advance(params, cursor):
            cursor = cursor.after(reports)
    array = params["topic_words"]
    assert array.put_off is None and not array.keeps_scale
    np.testing.assert_allclose(array.gather(None).sum(axis=0)[:4], array.weight_totals(), rtol=1e-3)
    updates = list(serial.learn(run, model.params, 1))
    versions = [one["topic_words"] for one, _ in updates]
    same = [np.array_equal(one.sums, array.sums) for one in versions]
    if fails:  # those of the segment that was cut have no report
        assert np.array_equal(versions[same.index(True)].raw, array.raw)


def test_decays_that_are_too_large_to_be_put_off_are_refused(monkeypatch):
    monkeypatch.setattr("bigtopic.plan.delays.ROUNDS", 1)

    @dataclass(frozen=True)
    class Forgets:
        adds_up = True

        def step(self, array: Any, stats: Any, info: Any) -> None:
            array.add(stats, weight=1.0, decay=1e-3)

    corpus = corpus_of(1500)
    method = replace(get("online-cvb0"), delay=31, schemes={"topic_words": Forgets()})
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=3, slice_size=None, order="shuffled")
    with (
        ThreadExecutor(run, 2) as executor,
        pytest.raises(ModelError, match="declares `adds_up`, but decays more than"),
    ):
        list(executor.advance(model.params.copy(), Cursor()))


def faulty(change: Any) -> Kernel:
    kernel = kernels.load("cvb0")
    assert kernel.stacked is not None
    own = kernel.stacked
    return replace(kernel, run=lambda *given: kernel.run(*given), stacked=lambda *given: change(own(*given)))


def nan_in_the_second(result: StackResult) -> StackResult:
    result.stats["topic_words"][-1], result.sums["topic_words"][2] = np.nan, np.nan
    return result


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (nan_in_the_second, r"not finite, at update 6"),
        (lambda result: tuple(result), r"returned tuple for a stack, but must return a StackResult"),
        (lambda result: result._replace(stats={}), r"declares the statistics 'topic_words', and did not return them"),
        (lambda result: result._replace(sums={}), r"declares the statistics 'topic_words', and did not return them"),
        (lambda result: result._replace(info={"n": 1.0}), r"info\['n'\] is 1.0, but must be a NumPy array \(3,\)"),
        (
            lambda result: result._replace(sums={"topic_words": np.zeros((2, 16))}),
            r"sums\['topic_words'\] is .*must be a NumPy array \(3, 16\) of float64",
        ),
        (
            lambda result: result._replace(stats={"topic_words": np.zeros((2, 16), np.float32)}),
            r"stats\['topic_words'\] has shape \(2, 16\), but must have \(\d+, 16\): a row for each id of the stack",
        ),
    ],
    ids=["nan", "type", "stats", "no sums", "info", "sums", "shape"],
)  # fmt: skip
def test_what_a_kernel_returns_is_checked(change, message):
    run, refs, arrays = setting()
    run = replace(run, work=replace(run.work, kernel=faulty(change)))
    with pytest.raises(ModelError, match=message):
        evaluate_stack(stacked(run, refs, arrays, 100), run.work, ITERATIONS)


def test_what_reads_more_than_means_of_words_does_not_stack():
    run, _, arrays = setting()
    assert lens_of(arrays, run.work) is not None
    kernel = run.work.kernel
    for other in (
        replace(kernel, stacked=None),
        replace(kernel, run=lambda *given: kernel.run(*given)),
        replace(kernel, derives=lambda docs: {}),
        replace(kernel, views={"topic_words": "counts"}),
        replace(kernel, statistics={**kernel.statistics, "doc_topic_prior": "none"}),
    ):
        assert lens_of(arrays, replace(run.work, kernel=other)) is None
    own = {"topic_words": arrays["topic_words"].local(np.arange(60))}
    own["topic_words"].set_prior(np.full((60, 1), 0.1))
    assert lens_of({**arrays, **own}, run.work) is None

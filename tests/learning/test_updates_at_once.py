"""Updates that a replica makes in compiled code have the bits of those one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numba import njit

from bigtopic import kernels
from bigtopic import methods as table
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import ModelError
from bigtopic.kernels.support.slice_loop import SLICE_LOOP
from bigtopic.learning.new_run import make_run
from bigtopic.learning.replicas import _kernels, at_once, share
from bigtopic.learning.replicas.changes import Changes
from bigtopic.learning.replicas.share import Share, share_changes
from bigtopic.learning.run import Run
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.exchanges import PROMPT
from bigtopic.plan.reading import BlockReader
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model

N_ROUNDS = 21  # more than one call makes


def setting(n_words: int = 60, n_components: int = 4, **given: Any) -> tuple[Run, TopicModel]:
    """A run whose rounds are one slice each, unless a part ends in them."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, (300, n_words)).astype(float)
    counts[3], counts[40:50] = 0, 0
    corpus = from_matrix(counts)
    method = replace(table.get("online-cvb0"), **given)
    model = new_model(method, n_components, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=10, slice_size=10, order="stored", replicas=2)
    return run, model


def share_of(run: Run, n_updates: int = 40, first: int = 400) -> Share:
    """A share of rounds, after the first ones, which are two slices; with the steps of an exchange late in a run."""
    rounds = list(run.plan.rounds(0))[PROMPT : PROMPT + N_ROUNDS]
    return Share(rounds, [Cursor(0, rnd.number, first + i) for i, rnd in enumerate(rounds)], n_updates)


def changes(run: Run, given: Share, model: TopicModel) -> Changes:
    """What the share changes; the params stay as they are."""
    before = {name: array.raw.tobytes() for name, array in model.params.arrays.items()}
    found = share_changes(run, given, BlockReader(run.parts, ahead=0).block, model.params.arrays)
    assert before == {name: array.raw.tobytes() for name, array in model.params.arrays.items()}
    return found


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many updates each call makes from now on."""
    calls: list[int] = []
    usual = _kernels.update

    def noted(*given: Any) -> int:
        calls.append(usual(*given))
        return calls[-1]

    monkeypatch.setattr(_kernels, "update", noted)
    return calls


def assert_bits_of_one_by_one(
    run: Run, given: Share, model: TopicModel, monkeypatch: pytest.MonkeyPatch
) -> Changes:
    found = changes(run, given, model)
    with monkeypatch.context() as patch:
        patch.setattr(share, "are_possible", lambda *_: False)
        expected = changes(run, given, model)
    assert found.reports == expected.reports
    for name, rows in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[name].ids, rows.ids)
        np.testing.assert_array_equal(found.arrays[name].values, rows.values)
        np.testing.assert_array_equal(found.lost[name], expected.lost[name])
    return found


def with_words(run: Run, known: Sequence[int]) -> Run:
    """The run with params that know some words only."""
    ids = np.full(run.work.n_words, -1, np.int32)
    ids[list(known)] = np.arange(len(known))
    return replace(run, work=replace(run.work, id_maps={"word": ids}))


@pytest.mark.parametrize("method", ["online-cvb0", "scvb0"])
def test_bits_are_those_of_updates_one_by_one(method, made, monkeypatch):
    run, model = setting(schemes=table.get(method).schemes)
    assert_bits_of_one_by_one(run, share_of(run), model, monkeypatch)
    assert made == [8, 8, 5]


def test_draws_are_those_of_updates_one_by_one(made, monkeypatch):
    few = {"candidates": 2, "explored": 1}
    run, model = setting(n_components=9, kernel="sparse_cvb0", inference="cvb0", options=few)
    found = assert_bits_of_one_by_one(run, share_of(run), model, monkeypatch)
    assert made == [8, 8, 5]
    other = replace(run, settings=replace(run.settings, seed=run.settings.seed + 1))
    assert changes(other, share_of(run), model).reports == found.reports
    assert (changes(other, share_of(run), model).sums["topic_words"] != found.sums["topic_words"]).any()


def test_a_topic_word_prior_for_each_topic(made, monkeypatch):
    run, model = setting()
    model.topic_words.set_prior(np.array([[0.1, 0.02, 0.3, 0.04]]))
    assert_bits_of_one_by_one(run, share_of(run), model, monkeypatch)
    assert sum(made) == N_ROUNDS


@pytest.mark.parametrize("known", [[5, 3, 50], [7]])
def test_words_that_the_params_do_not_know(known, made, monkeypatch):
    run, model = setting()
    run = with_words(run, known)
    found = assert_bits_of_one_by_one(run, share_of(run), model, monkeypatch)
    assert sum(made) == N_ROUNDS and len(found.arrays["topic_words"].values) == len(known)


def test_rounds_of_several_slices_are_made_by_themselves(made, monkeypatch):
    run, model = setting()
    rounds = share_of(run).rounds
    halves = [tuple(half for ref in rnd.slices for half in _halves(ref)) for rnd in rounds]
    mixed = [replace(rnd, slices=halves[i]) if i in (0, 9, 10, 20) else rnd for i, rnd in enumerate(rounds)]
    given = replace(share_of(run), rounds=mixed)
    assert_bits_of_one_by_one(run, given, model, monkeypatch)
    assert sum(made) == N_ROUNDS - 4


def _halves(ref: Any) -> list[Any]:
    middle = (ref.start + ref.stop) // 2
    return [replace(ref, stop=middle), replace(ref, start=middle)]


def test_scales_that_become_too_small_are_refused(made):
    """Twelve updates that forget 99 % each leave 1e-24; a share of one update may forget so much, no other."""
    fast = Interpolate(learning_decay=None, learning_scale=0.99, scale="tokens")
    run, model = setting(schemes={"topic_words": fast})
    with pytest.raises(ModelError, match=r"decays more than `info\.largest_step` allows"):
        changes(run, share_of(run, n_updates=1), model)
    assert sum(made) == 9


def test_steps_that_are_not_known_before_are_made_one_by_one(made):
    run, model = setting(average=0.5)
    assert at_once.are_possible(model.params.arrays, run.work, replace(run.settings, average=0.0))
    for other in (replace(run.settings, inner=2), replace(run.settings, schemes=table.get("vb").schemes)):
        assert not at_once.are_possible(model.params.arrays, run.work, other)
    changes(run, share_of(run), model)
    assert sum(made) == N_ROUNDS  # the mean is the exchange's


@njit(**SLICE_LOOP)
def _infinite(seed, rows, indptr, words, counts, topic_words, prior, options, scratch, stats, figures):
    for i in range(len(stats)):
        for k in range(stats.shape[1]):
            stats[i, k] = np.inf
    figures[:] = 0.0


def _run(docs: Any, view: Any, *others: Any) -> Any:
    found = kernels.load("cvb0").run(docs, view, *others)
    found.stats["topic_words"][:] = np.inf
    return found


def test_statistics_that_are_not_finite_are_refused_and_the_update_is_named():
    kernel = kernels.load("cvb0")
    assert kernel.loop is not None
    run, model = setting()
    wrong = replace(kernel, run=_run, loop=replace(kernel.loop, infer=_infinite))
    run = replace(run, work=replace(run.work, kernel=wrong))
    with pytest.raises(ModelError, match=r"holds numbers that are not finite, at update 401;"):
        changes(run, share_of(run), model)

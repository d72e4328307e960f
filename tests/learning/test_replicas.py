"""Replicas: what an exchange does to topics and counts, and what cannot be shared out. For bits on all executors, see
`conformance/test_executors`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import bigtopic as bt
from bigtopic import methods as table
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import BigtopicWarning, ModelError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning.new_run import _warn_of_idle_replicas, make_run
from bigtopic.learning.replicas.changes import add_changes, joined
from bigtopic.learning.replicas.share import Share, share_changes
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods.settings import learning
from bigtopic.plan import exchanges
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Plan, Round
from bigtopic.state.new_model import new_model

pytestmark = pytest.mark.usefixtures("replicas_of_large_corpora")

QUIET = {"client": False, "n_threads": 1, "progress": False, "random_state": 0}
ADDING_UP = r"add, add_to_prior, interpolate, interpolate_normalised, interpolate_raw, keep"


def weights(array):
    return array.gather(None)[:, : array.n_components].astype(float)


def test_what_replicas_change_is_added_and_mass_stays(corpus):
    """x + sum (x_r - x), computed densely from replicas that run by themselves."""
    model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(
        model, corpus, batch_size=10, slice_size=None, order="stored", replicas=3, replica_updates=2
    )
    segment = list(run.plan.rounds(0))[:6]
    cursors = [Cursor(0, rnd.number, rnd.number) for rnd in segment]
    read, arrays = BlockReader(run.parts, ahead=0).block, model.params.arrays
    start, alone, total = weights(model.topic_words), [], None
    for first in range(0, len(segment), 2):
        share = Share(segment[first : first + 2], cursors[first : first + 2], len(segment))
        changes = share_changes(run, share, read, arrays)
        total = changes if total is None else joined(total, changes)
        one = model.params.copy()
        add_changes(one, changes)
        alone.append(weights(one["topic_words"]))
    assert np.array_equal(weights(model.topic_words), start)
    add_changes(model.params, total)
    expected = start + sum(one - start for one in alone)
    np.testing.assert_allclose(weights(model.topic_words), expected, rtol=1e-4, atol=1e-4)
    assert model.topic_words.totals().sum() == pytest.approx(corpus.n_tokens, rel=1e-5)
    assert [report.cursor for report in total.reports] == cursors


@dataclass(frozen=True)
class Forgets:
    """A scheme that ignores `info.largest_step`."""

    decay: float
    adds_up = True  # as `is_linear` was called

    def step(self, array, stats, info):
        array.add(stats, weight=1.0, decay=self.decay)


@pytest.mark.parametrize("decay", [0.5, 1e-10])  # the second would be folded into the rows, but for the check
def test_replicas_that_forget_more_than_there_is_are_refused(decay, corpus):
    method = replace(table.get("online-cvb0"), schemes={"topic_words": Forgets(decay)})
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    sizes = {"batch_size": 5, "replicas": 3, "replica_updates": 2}
    with pytest.raises(ModelError, match="declares `is_linear`, but decays more than"):
        train(model, corpus, Limits(1), n_threads=1, **sizes)


@pytest.mark.parametrize(("step", "n_steps", "missed"), [(0, 9, 3), (4, 9, 3), (5, 9, 0), (0, None, 0)])
def test_steps_make_up_for_half_of_what_others_do_in_the_first_half_of_a_run(step, n_steps, missed):
    """Nowhere in a stream, whose half is unknown."""
    rounds = [Round(number, (), 5) for number in range(2)]
    share = Share(rounds, [Cursor(0, number, step + number) for number in range(2)], 8)
    assert share.missed(n_steps) == missed


def test_a_long_pass_has_replicas_unless_it_is_told_otherwise():
    long = from_matrix(np.ones((32 * 496, 3)))
    assert _replicas(long) == (32, 32) and _replicas(long, replicas=4) == (4, 8)
    assert _replicas(long, replicas=1)[0] == _replicas(long[:-1])[0] == _replicas(long, batch_size=2)[0] == 1


@pytest.mark.parametrize(
    "method",
    [
        "svb",  # has inner iterations
        replace(table.get("online-cvb0"), average=0.5),
        replace(table.get("online-cvb0"), schemes=table.get("vb").schemes),
        learning(table.get("online-cvb0"), "asymmetric"),
    ],
    ids=["inner-iterations", "mean", "other-scheme", "learned-prior"],
)
def test_methods_that_do_not_fit_them_have_none(method):
    """Whatever the corpus; and nothing is refused that nobody asked for."""
    assert _replicas(from_matrix(np.ones((32 * 496, 3))), method) == (1, 8)


def _replicas(corpus, method="online-cvb0", batch_size=1, **given):
    own = table.get(method) if isinstance(method, str) else method
    model = new_model(own, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    plan = make_run(model, corpus, batch_size=batch_size, slice_size=None, order="stored", **given).plan
    return plan.replicas, plan.replica_updates


def test_counts_of_labels_are_conserved(corpus):
    model = LDA(4, method="cgs", batch_size=10, max_iter=3, replicas=3, replica_updates=2, **QUIET).fit(
        corpus
    )
    counts = model._model.topic_words
    assert counts.raw.min() >= 0
    np.testing.assert_array_equal(counts.raw.sum(axis=1), corpus.vocabulary.frequency)
    np.testing.assert_array_equal(counts.raw.sum(axis=0), counts.totals())


def test_exchanges_of_a_stream_grow_with_the_updates_that_it_has_had(corpus):
    model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    model.cursor = Cursor(43, 0, 43)  # after 43 calls of one minibatch each
    run = make_run(model, corpus, batch_size=5, slice_size=None, order="stored", replicas=3)
    sizes = [len(exchange.rounds) for exchange in run.plan.exchanges(43)]
    assert sizes[:4] == [2, 3, 3, 3] and sum(sizes) == run.plan.n_rounds == 60


@pytest.mark.parametrize(
    "settings", [{"batch_size": 300, "max_iter": 30}, {"batch_size": 30, "max_iter": 2}], ids=str
)
def test_replicas_that_nothing_is_divided_among_are_told(settings, corpus):
    settings = {"method": "online-cvb0", **settings, **QUIET}
    with pytest.warns(BigtopicWarning, match=r"replicas=2: none of them has any work"):
        idle = LDA(4, replicas=2, **settings).fit(corpus)
    assert idle.components_.tobytes() == LDA(4, **settings).fit(corpus).components_.tobytes()


@pytest.mark.parametrize(("undivided", "fewer"), [(15 * 2 * 8, True), (20, False)])
def test_fewer_replicas_are_advised_where_they_would_begin_earlier(undivided, fewer):
    plan = Plan([300], 10.0, 3, None, replicas=2, undivided_rounds=undivided)
    with pytest.warns(BigtopicWarning, match="choose more passes") as told:
        _warn_of_idle_replicas(plan, 2, n_steps=20)
    assert ("or fewer replicas" in str(told[0].message)) is fewer


def test_an_exchange_of_one_update_is_none(corpus):
    with pytest.warns(
        BigtopicWarning, match="a run of more than 31 updates, and this one has 31; choose more"
    ):
        LDA(4, method="online-cvb0", replicas=2, batch_size=9, max_iter=1, **QUIET).fit(corpus[: 31 * 9])


def test_replicas_begin_later_where_minibatches_have_few_entries_for_a_vocabulary(corpus, monkeypatch):
    monkeypatch.setattr(exchanges, "ENTRIES_PER_WORD", 256)
    entries = corpus.nnz / 100
    expected = math.ceil(256 * len(corpus.vocabulary) / entries)
    model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(
        model, corpus, batch_size=3, slice_size=None, order="stored", replicas=16, replica_updates=16
    )
    assert 30 < run.plan.undivided_rounds == expected < exchanges.rounds_before(100, 16)


def test_one_replica_changes_no_bit(corpus):
    usual, one = (
        LDA(4, method="online-cvb0", batch_size=10, replicas=n, **QUIET).fit(corpus) for n in (None, 1)
    )
    assert one.components_.tobytes() == usual.components_.tobytes()


def test_topics_are_about_as_good(corpus):
    train, test = corpus.split(test_size=60, random_state=0)
    scores = [
        bt.evaluate.log_predictive(
            LDA(
                4, method="online-cvb0", batch_size=5, max_iter=4, replicas=n, replica_updates=2, **QUIET
            ).fit(train),
            test,
            client=False,
        )
        for n in (1, 3)
    ]
    difference, error = scores[1].minus(scores[0])
    assert difference > -3 * error


@pytest.mark.parametrize(("name", "scheme"), [("vb", "Replace"), ("sgs", "DecayAdd"), ("lds", "Langevin")])
def test_changes_that_do_not_add_up_are_refused(name, scheme, corpus):
    with pytest.raises(
        SettingError, match=rf"replicas=2: method '{name}'.*{scheme}.*replicas=1.*{ADDING_UP}"
    ):
        LDA(4, method=name, replicas=2, **QUIET).fit(corpus)


def test_learned_priors_are_refused(corpus):
    with pytest.raises(SettingError, match=r"replicas=2.*online-vb.*prior.*replicas=1"):
        LDA(4, method="online-vb", learn_topic_word_prior="symmetric", replicas=2, **QUIET).fit(corpus)
    with pytest.raises(SettingError, match=r"auto' learns doc_topic_prior, which replicas cannot"):
        LDA(4, learn_doc_topic_prior="symmetric", replicas=2, **QUIET).fit(corpus)


@pytest.mark.parametrize("name", ["replicas", "replica_updates"])
@pytest.mark.parametrize("value", [0, 1.5, True, "all"])
def test_numbers_that_are_none_are_refused(name, value, corpus):
    with pytest.raises(SettingError, match=rf"{name}={value!r}: must be a whole number, 1 or more"):
        LDA(4, **{name: value}, **QUIET).fit(corpus)


class AtOnce:
    """Replicas share exchanges of six rounds from the beginning on."""

    def exchange(self, done: int) -> tuple[int, bool]:
        return 6, True


def test_replicas_of_a_schedule_are_not_said_to_be_idle(corpus):
    """The usual schedule would not let them begin in so few updates; a warning would be an error."""
    model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    sizes = {"batch_size": 9, "replicas": 2, "schedule": AtOnce()}
    train(model, corpus[: 12 * 9], Limits(1), client=None, n_threads=1, **sizes)
    assert model.cursor.step == 12

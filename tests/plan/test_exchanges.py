"""Exchanges: they grow with the run, cover all rounds, and are divided evenly."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pytest

from bigtopic.errors import SettingError
from bigtopic.plan.exchanges import (
    CONCURRENT,
    FIRST,
    GROWTH,
    MISSED_SHARE,
    PROMPT,
    UNDIVIDED,
    concurrent_rounds,
    divided,
    largest_exchange,
    replicas_of_corpus,
    rounds_before,
    undivided_rounds,
)
from bigtopic.plan.slices import Plan


def replicated(n_docs: int, **more: int) -> Plan:
    return Plan([n_docs], 20.0, 10, None, seed=2, **{"replicas": 3, "replica_updates": 4, **more})


@pytest.mark.parametrize("n_docs", [10, 70, 420, 3000])
def test_exchanges_hold_every_round_once_and_grow_with_the_run(n_docs):
    plan, done = replicated(n_docs), 0
    for pass_number in range(3):
        numbers = []
        for exchange in plan.exchanges(pass_number):
            rounds = exchange.rounds
            assert plan.may_cut(pass_number, rounds[0].number)
            assert [rnd for share in exchange.shares for rnd in share] == rounds
            if exchange.copies:
                assert done >= UNDIVIDED and len(exchange.shares) == min(3, len(rounds))
                assert 2 <= len(rounds) <= min(3 * 4, largest_exchange(done, 3))
                assert not any(plan.may_cut(pass_number, rnd.number) for rnd in rounds[1:])
            else:
                assert len(rounds) == 1
            numbers += [rnd.number for rnd in rounds]
            done += len(rounds)
        assert numbers == list(range(plan.n_rounds))


def test_later_exchanges_are_as_large_as_they_may_be():
    sizes = [len(exchange.rounds) for exchange in replicated(3000).exchanges(1)]
    assert sizes == [12] * 25


@pytest.mark.parametrize("concurrent", [1, 4, 16, CONCURRENT])
def test_exchanges_of_single_rounds_grow_to_their_largest_number(concurrent):
    plan, done = Plan([10_000], 20.0, 10, None, concurrent=concurrent), 0
    for pass_number in range(2):
        for exchange in plan.exchanges(pass_number):
            n = len(exchange.rounds)
            assert not exchange.copies and [len(share) for share in exchange.shares] == [1] * n
            most = 1 if done < PROMPT else min(concurrent, max(FIRST, done // GROWTH))
            assert n == min(most, plan.n_rounds - exchange.rounds[0].number)
            halved = concurrent > 1 and done < PROMPT
            assert [len(rnd.slices) for rnd in exchange.rounds] == [2 if halved or concurrent == 1 else 1] * n
            done += n
    assert done == 2 * plan.n_rounds


@pytest.mark.parametrize(
    ("n_rounds", "minibatch_bytes", "concurrent"),
    [(1, 1.0, 1), (255, 1.0, 1), (256, 1.0, 4), (640, 1.0, 10), (10**6, 1.0, CONCURRENT), (10**6, 1e9, 4),
     (10**6, 2e9, 1), (10**6, 0.0, CONCURRENT)],
)  # fmt: skip
def test_rounds_of_an_exchange_follow_from_the_corpus(n_rounds, minibatch_bytes, concurrent):
    assert concurrent_rounds(n_rounds, minibatch_bytes) == concurrent


def test_minibatches_of_several_slices_are_not_concurrent():
    assert Plan([5000], 20.0, 1000, 500, concurrent=8).concurrent == 1


@pytest.mark.parametrize(
    ("n_words", "minibatch_entries", "n_rounds", "replicas", "updates", "undivided"),
    [
        (20_000, 32_000.0, 1000, 2, 128, 160),  # 5 120 000 entries
        (20_000, 31_999.0, 1000, 2, 128, 161),
        (20_000, 32_000.0, 1000, 32, 8, 160),  # however many replicas
        (20_000, 32_000.0, 1000, 2, 4, 15 * 8),  # an exchange has all its rounds earlier
        (20_000, 32_000.0, 1000, 4, 2, 15 * 8),
        (20_000, 32_000.0, 10, 2, 128, 15 * 10),  # or those of a pass
        (100, 32_000.0, 1000, 2, 128, 30),  # the first exchange has two rounds
        (100, 0.0, 1000, 2, 1, 30),  # documents without words
        (100_000, 1.0, 5000, 2, 1024, 15 * 2048),
        (20_000, 32_000.0, 1000, 1, 8, 20),
        (100, 32_000.0, 1000, 32, 8, 31),
    ],
)
def test_replicas_begin_when_their_rounds_are_worth_an_exchange(
    n_words, minibatch_entries, n_rounds, replicas, updates, undivided
):
    assert undivided_rounds(n_words, minibatch_entries, n_rounds, replicas, updates) == undivided


@pytest.mark.parametrize("replicas", [2, 3, 5, 32, 100])
def test_what_a_replica_misses_is_a_share_of_what_was_before(replicas):
    for n_rounds in (1, 2, 7, 100, 2048):
        done = rounds_before(n_rounds, replicas)
        assert largest_exchange(done, replicas) >= n_rounds > largest_exchange(done - 1, replicas)
        missed = largest_exchange(done, replicas) * (replicas - 1) / replicas
        assert missed <= done / MISSED_SHARE


@pytest.mark.parametrize("replicas", [2, 3, 16])
def test_an_exchange_of_few_replicas_is_not_so_long_that_its_steps_are_too_small(replicas):
    """A step is at most 1 / (rounds of the exchange): with two replicas, twice as many rounds cost 0.015 nats per token
    on 8.2 million documents."""
    assert [largest_exchange(done, replicas) for done in (29, 30, 150, 1500)] == [1, 2, 10, 100]


@pytest.mark.parametrize(
    ("n_words", "minibatch_entries", "n_rounds", "found"),
    [
        (30_000, 24_000.0, 32 * 496, (32, 32)),  # 32 updates of each in a sixteenth of a pass
        (30_000, 24_000.0, 32 * 496 - 1, (1, 8)),
        (160_000, 24_000.0, 40 * 496, (32, 40)),  # six entries for each word
        (160_000, 24_000.0, 40 * 496 - 1, (1, 8)),
        (141_043, 29_451.0, 16_400, (32, 33)),
        (141_043, 29_451.0, 200_000, (32, 154)),  # 32 entries for each word are enough
        (1000, 24_000.0, 200_000, (32, 64)),  # and so are 64 updates, if these are more
        (0, 0.0, 40 * 496, (32, 40)),  # a corpus without words
    ],
)
def test_replicas_follow_from_the_corpus(n_words, minibatch_entries, n_rounds, found):
    assert replicas_of_corpus(n_words, minibatch_entries, n_rounds) == found


@pytest.mark.parametrize(("n_docs", "first_size"), [(70, []), (420, [4]), (3000, [4])])
def test_rounds_before_the_undivided_rounds_are_not_divided(n_docs, first_size):
    plan, done, sizes = replicated(n_docs, undivided_rounds=60), 0, []
    for pass_number in range(3):
        for exchange in plan.exchanges(pass_number):
            n = len(exchange.rounds)
            assert exchange.copies == (done >= 60 and n > 1)
            sizes += [n] * exchange.copies
            done += n
    assert sizes[:1] == first_size


def test_with_one_replica_the_plan_is_that_without_any():
    with_one, without = replicated(500, replicas=1), Plan([500], 20.0, 10, None, seed=2)
    assert with_one.settings == without.settings
    assert list(with_one.exchanges(0)) == list(without.exchanges(0))
    assert not any(exchange.copies for exchange in with_one.exchanges(0))


def test_a_plan_is_made_again_from_its_settings():
    plan = replicated(500)
    assert list(Plan(**plan.settings).exchanges(0)) == list(plan.exchanges(0))


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_consecutive_items_are_divided_evenly(n):
    shares = divided(range(7), n)
    assert [i for share in shares for i in share] == list(range(7))
    lengths = sorted(len(share) for share in shares)
    assert lengths[0] > 0 and lengths[-1] - lengths[0] <= 1 and len(shares) == min(n, 7)
    assert all(a[-1] < b[0] for a, b in pairwise(shares))


class Doubling:
    """Exchanges of 1, 2, 4, ... rounds."""

    def exchange(self, done: int) -> tuple[int, bool]:
        return done + 1, False


def test_a_schedule_of_ones_own_divides_passes():
    plan = Plan([100], 20.0, 10, None, schedule=Doubling())
    lengths = [[len(exchange.rounds) for exchange in plan.exchanges(number)] for number in range(2)]
    assert lengths == [[1, 2, 4, 3], [10]]
    assert [number for number in range(11) if plan.may_cut(0, number)] == [0, 1, 3, 7, 10]


class Fixed:
    """The same answer after any number of updates; it has no length of its own."""

    def __init__(self, answer):
        self.answer = answer

    def __len__(self):
        return 0

    def exchange(self, done):
        return self.answer


NO_EXCHANGE = [
    None,
    (),
    3,
    (3,),
    (1, False, 3),
    ("a", False),
    (2.0, False),
    (math.nan, True),
    (0, False),
    (-5, True),
    (2, 1),
]


@pytest.mark.parametrize("answer", NO_EXCHANGE)
def test_a_schedule_that_returns_something_else_is_refused(answer):
    plan = Plan([100], 20.0, 10, None, schedule=Fixed(answer))
    returned = re.escape(repr(answer))
    with pytest.raises(
        SettingError, match=rf"schedule: Fixed.exchange\(0\) returned {returned}; return how many rounds"
    ):
        list(plan.exchanges(0))


def test_a_schedule_that_ends_iterations_ends_no_pass():
    """Raised inside an iterator, it would mean that no rounds are left."""

    class Exhausted:
        def exchange(self, done):
            raise StopIteration

    plan = Plan([100], 20.0, 10, None, schedule=Exhausted())
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(plan.exchanges(0))


def test_whole_numbers_of_numpy_are_numbers_of_rounds():
    plan = Plan([100], 20.0, 10, None, schedule=Fixed((np.int64(4), np.bool_(False))))
    assert [len(exchange.rounds) for exchange in plan.exchanges(0)] == [4, 4, 2]


def test_a_schedule_has_no_replicas_that_the_run_does_not_have():
    plan = Plan([100], 20.0, 10, None, schedule=Fixed((4, True)))
    with pytest.raises(SettingError, match="the run has no replicas; give replicas, or return False"):
        list(plan.exchanges(0))

"""Delays of updates follow from the minibatches of a pass, and grow with the updates that are done."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest

from bigtopic.plan.cursor import Cursor
from bigtopic.plan.delays import delay_of_run, growing
from bigtopic.plan.slices import Plan


@pytest.mark.parametrize(
    ("n_rounds", "delay"), [(1, 1), (40, 1), (127, 1), (128, 2), (500, 7), (2000, 31), (10**6, 31)]
)
def test_a_delay_follows_from_the_rounds_of_a_pass(n_rounds, delay):
    assert delay_of_run(31, n_rounds, 1e6) == delay
    assert delay_of_run(1, n_rounds, 1e6) == 1
    assert delay_of_run(0, n_rounds, 1e6) == 0


def test_statistics_of_minibatches_that_one_may_miss_are_few_gigabytes():
    assert [delay_of_run(31, 2000, size) for size in (1e8, 1e9, 1e12)] == [31, 4, 1]


def delays(plan: Plan, pass_number: int) -> list[tuple[int, int]]:
    """The rounds of each segment of a pass, and how many updates they may miss."""
    segments = list(plan.segments(pass_number))
    for segment, following in pairwise(segments):
        assert following[0].number == segment[-1].number + 1
    return [(len(one), plan.delay_of(pass_number, one[-1].number)) for one in segments]


def test_delays_grow_with_the_updates_before():
    plan = Plan([10_000], 50.0, 10, None, delay=31)
    assert delays(plan, 0) == [(1, 0)] * 8 + [
        (12, 2), (24, 5), (48, 11), (96, 23), (228, 31), (256, 31), (256, 31), (72, 31)
    ]  # fmt: skip
    assert delays(plan, 1) == [(256, 31), (256, 31), (256, 31), (232, 31)]


def test_a_pass_after_few_updates_begins_with_a_short_delay():
    plan = Plan([3000], 50.0, 10, None, delay=7, begin=Cursor(pass_number=1, step=20))
    assert delays(plan, 1) == [(24, 5), (40, 7), (64, 7), (64, 7), (64, 7), (44, 7)]


def test_with_a_delay_of_one_segments_have_32_rounds():
    plan = Plan([700], 50.0, 10, None, delay=1)
    assert delays(plan, 0) == [(1, 0)] * 8 + [(24, 1), (32, 1), (6, 1)]
    assert delays(plan, 1) == [(32, 1), (32, 1), (6, 1)]


def test_segments_of_single_rounds_take_no_memory():
    """A pass may have millions of rounds."""
    plan = Plan([100_000], 50.0, 1, None)
    tracemalloc.start()
    try:
        assert plan.may_cut(0, 5) and plan.delay_of(0, 99_999) == 0
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_rounds_of_replicas_miss_none():
    plan = Plan([1000], 50.0, 10, None, delay=3, replicas=2)
    assert delays(plan, 0)[8] == (12, 2)  # the first 20 rounds of a run have no replicas
    assert {delay for _, delay in delays(plan, 0)[9:]} == {0}


def test_the_segments_in_which_a_delay_grows():
    plan = Plan([10_000], 50.0, 10, None, delay=31)
    assert growing(plan.n_rounds, plan.n_rounds, 31) == delays(plan, 0)[8:13]
    assert growing(20, 20, 31) == [(12, 2)]
    assert growing(1, 3, 1) == [(1, 1)]  # in the second pass
    assert growing(100, 1000, 0) == []

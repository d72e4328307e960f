"""Delays of updates follow from the minibatches of a pass, and grow with the updates that are done."""

from __future__ import annotations

import tracemalloc
from itertools import accumulate, pairwise

import pytest
from bigtopic.plan.delays import GROWTH, PROMPT, delay_of_run, groups_of, one_by_one

from bigtopic.plan.slices import Plan


@pytest.mark.parametrize(
    ("n_rounds", "delay"),
    [(1, 1), (40, 1), (191, 1), (256, 3), (500, 7), (15 * 64, 15), (18 * 64, 17), (2000, 31), (10**6, 31)],
)
def test_a_delay_follows_from_the_rounds_of_a_pass(n_rounds, delay):
    assert delay_of_run(31, n_rounds, 1e6) == delay
    assert delay_of_run(1, n_rounds, 1e6) == 1
    assert delay_of_run(0, n_rounds, 1e6) == 0


def test_statistics_of_minibatches_that_one_may_miss_are_few_gigabytes():
    assert [delay_of_run(31, 2000, size) for size in (1e8, 1e9, 1e12)] == [31, 3, 1]


def delays(plan: Plan, pass_number: int) -> list[tuple[int, int]]:
    """The rounds of each segment of a pass, and how many updates they may miss."""
    segments = list(plan.segments(pass_number))
    for segment, following in pairwise(segments):
        assert following[0].number == segment[-1].number + 1
    return [(len(one), plan.groups(pass_number, one).most_missed) for one in segments]


def test_delays_of_segments():
    plan = Plan([10_000], 50.0, 10, None, delay=31)
    assert delays(plan, 0) == [(1, 0)] * 8 + [(248, 23), (256, 31), (256, 31), (232, 31)]
    assert delays(plan, 1) == [(256, 31), (256, 31), (256, 31), (232, 31)]


@pytest.mark.parametrize(("delay", "n_rounds"), [(5, 48), (9, 80), (19, 160)])
def test_segments_have_eight_rounds_for_each_thread_that_a_delay_keeps_busy(delay, n_rounds):
    plan = Plan([4000], 50.0, 10, None, delay=delay)
    first, *others = [size for size, _ in delays(plan, 0)[8:-1]]
    assert first == n_rounds - 8 and set(others) == {n_rounds}
    assert set(delays(plan, 1)[:-1]) == {(n_rounds, delay)}


def test_the_first_eight_updates_of_a_run_miss_none_in_passes_of_fewer():
    plan = Plan([50], 10.0, 10, None, delay=1)
    assert [delays(plan, number) for number in range(3)] == [
        [(1, 0)] * 5,
        [(1, 0)] * 3 + [(2, 1)],
        [(5, 1)],
    ]
    halves = [[len(rnd.slices) for rnd in plan.rounds(number)] for number in range(3)]
    assert halves == [[2] * 5, [2] * 3 + [1] * 2, [1] * 5]


@pytest.mark.parametrize(("delay", "divided"), [(11, PROMPT), (13, 13 * GROWTH), (31, 31 * GROWTH)])
def test_minibatches_have_two_slices_until_as_many_are_at_work_as_later(delay, divided):
    plan = Plan([1000], 5.0, 2, None, delay=delay)
    sizes = [len(rnd.slices) for rnd in plan.rounds(0)]
    assert sizes == [2] * divided + [1] * (500 - divided)
    assert {len(rnd.slices) for rnd in plan.rounds(1)} == {1}


def test_with_a_delay_of_one_segments_have_32_rounds():
    plan = Plan([700], 50.0, 10, None, delay=1)
    assert delays(plan, 0) == [(1, 0)] * 8 + [(24, 1), (32, 1), (6, 1)]
    assert delays(plan, 1) == [(32, 1), (32, 1), (6, 1)]


@pytest.mark.parametrize("most", range(1, 40))
def test_a_delay_is_one_that_rounds_reach(most):
    delay = delay_of_run(most, 10**6, 1e6)
    groups = groups_of(200, 1000, delay)
    assert groups.most_missed == delay <= most and groups.largest_steps()[0] == 1 / (delay + 1)


@pytest.mark.parametrize(("delay", "first"), [(1, 11), (3, 11), (7, 11), (15, 11), (17, 12), (31, 23)])
@pytest.mark.parametrize("done", [8, 50, 200, 1000])
def test_groups_grow_with_the_updates_before(done, delay, first):
    """Their sizes may differ, so that threads have as many rounds as may be at work at once."""
    groups = groups_of(200, done, delay)
    assert sum(groups.sizes) == 200
    seen, missed, number = groups.seen(), [], 0
    for group, size in enumerate(groups.sizes):
        allowed = min(delay, max(first, (done + number) // 12))
        for _ in range(size):
            missed.append(number - seen[number])
            assert seen[number] in {0, *accumulate(groups.sizes)}
            number += 1
        assert missed[-1] <= allowed
        assert missed[-1] >= allowed - 2 or group < groups.at_work - 1 or number == 200
    assert seen == sorted(seen)
    assert max(missed) == groups.most_missed <= delay and missed == groups.missed()
    assert done < 1000 or set(groups.sizes[:-1]) == {(delay + 1) // groups.at_work}


@pytest.mark.parametrize("delay", [1, 3, 15, 31])
def test_steps_of_rounds_that_miss_one_another_are_together_one_at_most(delay):
    groups = groups_of(600, 8, delay)
    steps, seen = groups.largest_steps(), groups.seen()
    for number, n_seen in enumerate(seen):
        assert sum(steps[n_seen : number + 1]) <= 1 + 1e-9
    assert min(steps) == 1 / (1 + delay)


def test_rounds_that_miss_none_take_steps_of_any_size():
    assert one_by_one(3).largest_steps() == [1.0] * 3 and one_by_one(3).seen() == [0, 1, 2]


def test_segments_of_single_rounds_take_no_memory():
    """A pass may have millions of rounds."""
    plan = Plan([100_000], 50.0, 1, None)
    tracemalloc.start()
    try:
        assert plan.may_cut(0, 5) and plan.may_cut(0, 99_999)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_rounds_of_replicas_miss_none():
    plan = Plan([1000], 50.0, 10, None, delay=3, replicas=2)
    n_rounds, delay = delays(plan, 0)[8]
    assert n_rounds == 12 and delay > 0  # the first 20 rounds of a run have no replicas
    assert {delay for _, delay in delays(plan, 0)[9:]} == {0}

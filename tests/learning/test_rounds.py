"""Where a run stands."""

from __future__ import annotations

import random

import pytest

from bigtopic.plan.cursor import Cursor, RoundReport


def reports(numbers: list[int], pass_number: int = 0, step: int = 0) -> list[RoundReport]:
    return [RoundReport(Cursor(pass_number, number, step + i), 1, 1.0) for i, number in enumerate(numbers)]


def test_rounds_in_order_leave_no_trace():
    assert Cursor().after(reports([0, 1, 2])) == Cursor(0, 3, 3)
    assert Cursor(0, 3, 3).after([]) == Cursor(0, 3, 3)


def test_rounds_out_of_order_are_kept_until_their_turn():
    cursor = Cursor().after(reports([2, 0, 4]))
    assert cursor == Cursor(0, 1, 3, ahead=(2, 4))
    assert cursor.rounds_left(6) == 3 and cursor.inside_pass
    assert cursor.after(reports([1], step=3)) == Cursor(0, 3, 4, ahead=(4,))


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_all_rounds_ends_the_pass(seed):
    numbers = list(range(20))
    random.Random(seed).shuffle(numbers)
    cursor = Cursor().after(reports(numbers))
    assert cursor == Cursor(0, 20, 20) and cursor.rounds_left(20) == 0
    assert cursor.next_pass() == Cursor(1, 0, 20) and not cursor.next_pass().inside_pass


def test_a_later_pass_begins_afresh():
    first, second = reports([0, 1, 2]), reports([0, 3], 1, 3)
    assert Cursor().after([*first, *second]) == Cursor(1, 1, 5, ahead=(3,))

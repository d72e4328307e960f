"""Pairs of samples: which count when the machine was busy."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import pairs
import simulate
from pairs import LEAST, Noise, Pair, Sample, chosen, take_turns

QUIET = Noise(others=0.02, stopped=0.1)


def a_pair(seconds: float, noise: Noise = QUIET) -> Pair:
    return Pair(Sample(np.array([seconds]), QUIET), Sample(np.array([2 * seconds]), noise))


@pytest.mark.parametrize("change", [{"others": 0.5}, {"stopped": 2.0}])
def test_a_pair_with_a_disturbed_sample_does_not_count(change):
    good = [a_pair(1.0) for _ in range(LEAST)]
    assert chosen([a_pair(9.0, QUIET._replace(**change)), *good]) == good


def test_where_few_are_quiet_those_that_were_disturbed_least_count():
    made = [a_pair(float(n), QUIET._replace(others=float(n))) for n in (4, 1, 3, 2)]
    assert [pair.short.figures[0] for pair in chosen(made)] == [1, 2, 3]


def test_stretches_take_turns_until_enough_pairs_are_quiet():
    asked, noise = [], iter([QUIET, QUIET, QUIET._replace(others=0.5), *[QUIET] * 9])

    def sample(stretch: int) -> Sample:
        asked.append(stretch)
        return Sample(np.array([float(stretch)]), next(noise))

    made = take_turns(sample, n=3, seconds=1e9)
    assert asked == [1, 2, 2, 1, 1, 2, 2, 1]
    assert len(made) == 4 and len(chosen(made)) == 3
    assert all((pair.short.figures[0], pair.long.figures[0]) == (1, 2) for pair in made)


def test_disturbed_pairs_are_not_made_again_when_there_is_no_time():
    made = take_turns(lambda _: Sample(np.zeros(1), QUIET._replace(others=1.0)), n=5, seconds=0.0)
    assert len(made) == LEAST


def found(pair: Pair) -> simulate.Found:
    """Of a path that is as long as the lesser sample, and of two seconds of tasks, and three at least."""
    return simulate.Found(float(pair.short.figures[0]), 0.1, 0.1, 0.1, 2.0, 1.0, True, 3.0)


def test_what_is_impossible_does_not_count():
    one = simulate.measured([a_pair(seconds) for seconds in (3.9, 0.5, 4.0, 2.9, 4.1)], found)
    assert one.found.path == 4.0 and one.found.efficiency == 2.0 / 4.1
    assert (one.pairs, one.made, one.quiet) == (3, 5, True)
    assert one.low <= one.efficiency <= one.high < 1
    nothing = simulate.measured([a_pair(1.0)], found)
    assert np.isnan(nothing.found.efficiency) and (nothing.pairs, nothing.quiet) == (0, False)


@pytest.mark.parametrize("others, quiet", [(0.02, True), (0.5, False)])
def test_a_figure_that_was_disturbed_is_marked(others, quiet):
    one = simulate.measured([a_pair(4.0, QUIET._replace(others=others))] * LEAST, found)
    assert one.quiet == quiet and simulate.mark(one) == ("" if quiet else "?")
    assert simulate.row(("32x64", 100, 32, 1250.0), one)[5] == ("49%" if quiet else "49%?")


def test_processor_time_of_the_machine_grows():
    before = pairs.machine()
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    after = pairs.machine()
    if not Path("/proc/stat").exists():
        assert after == before == (0.0, 0.0)
    else:
        assert after[0] > before[0] and after[1] >= before[1]


def test_a_process_that_runs_has_no_long_gaps():
    gaps = pairs.Gaps()
    time.sleep(0.2)
    assert 0 < gaps.take() < 100

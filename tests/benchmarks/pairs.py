"""Rounds at two stretches of their sleeps, in pairs, that a disturbance of the machine does not spoil.

By how much twice the sleeps lengthen a round is one figure from two runs, each of which something else may disturb.
So both stretches take turns, in several pairs, and a pair counts where the machine was quiet during both: other
processes and the host took little processor time, and none of our processes was stopped. Other pairs are made again
while there is time. A control (see `timing`) would say nothing: our own workers go on meanwhile.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

__all__ = ["Gaps", "Noise", "Pair", "Sample", "chosen", "machine", "take_turns"]

OTHERS = 0.2  # processors that others may take, on average
STOPPED = 0.5  # seconds after which a process was not merely busy, but stopped
LEAST = 3  # pairs, whether or not there is time


class Noise(NamedTuple):
    """What disturbed a sample.

    others : processors that other processes took, or the host took away, on average
    stopped : the longest time in which one of our processes did not run, in seconds
    """

    others: float
    stopped: float

    @property
    def amount(self) -> float:
        """At most 1 where the machine was quiet."""
        return max(self.others / OTHERS, self.stopped / STOPPED)


class Sample(NamedTuple):
    """What a round takes, and what disturbed it."""

    figures: np.ndarray
    noise: Noise


class Pair(NamedTuple):
    """The same at the lesser and at twice the stretch."""

    short: Sample
    long: Sample

    @property
    def noise(self) -> float:
        return max(self.short.noise.amount, self.long.noise.amount)


def take_turns(sample: Callable[[int], Sample], n: int, seconds: float) -> list[Pair]:
    """Pairs of samples at stretch 1 and 2, until `n` are quiet or there is no time for another one."""
    begun, made = time.monotonic(), []
    while sum(pair.noise <= 1 for pair in made) < n:
        if len(made) >= LEAST and (time.monotonic() - begun) * (1 + 1 / len(made)) > seconds:
            break
        order = (1, 2) if len(made) % 2 == 0 else (2, 1)  # the machine may become slower, or faster
        found = {stretch: sample(stretch) for stretch in order}
        made.append(Pair(found[1], found[2]))
    return made


def chosen(made: Sequence[Pair]) -> list[Pair]:
    """The quiet pairs; where there are fewer than `LEAST`, so many of those that were disturbed least."""
    quiet = [pair for pair in made if pair.noise <= 1]
    return quiet if len(quiet) >= LEAST else sorted(made, key=lambda pair: pair.noise)[:LEAST]


class Gaps:
    """The longest time in which this process did not run, in seconds, since that was last asked for."""

    def __init__(self) -> None:
        self._last, self._longest = time.monotonic(), 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            now = time.monotonic()
            self._longest, self._last = max(self._longest, now - self._last), now
            time.sleep(STOPPED / 10)

    def take(self) -> float:
        """The longest time; it begins anew."""
        longest, self._longest = self._longest, 0.0
        return longest


def machine() -> tuple[float, float]:
    """Processor seconds of all processes of this machine, and those that its host took away; 0 where unknown."""
    path = Path("/proc/stat")
    if not path.exists():
        return 0.0, 0.0
    user, nice, system, _, _, hard, soft, steal = map(int, path.read_text().split("\n")[0].split()[1:9])
    per_second = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + hard + soft) / per_second, steal / per_second

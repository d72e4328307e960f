"""Step sizes of stochastic approximation: functions of the update, and of the number of updates of the run.

A schedule is called with `step` = 1, 2, ... and `n_steps`, the number of updates of the whole run, or None if unknown.
A scheme has its schedule as numbers, which are saved with a model: the settings of `LearningRate`, or its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bigtopic.errors import SettingError, argument, either
from bigtopic.support.numbers import is_number, is_whole
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = [
    "LearningRate",
    "PlainStep",
    "Schedule",
    "check",
    "constant",
    "decaying_end",
    "first_update_after",
    "joined",
    "robbins_monro",
    "staleness_corrected_rate",
]

Schedule = Callable[[int, int | None], float]

UPDATES_PER_MISSED = 2  # 1 / rate shrinks by this much for each update that is missed
MOST_UPDATES = 100_000
LARGEST_OFFSET = 1e12  # beyond it, steps are too small for float32 topics to change


def robbins_monro(step: int, decay: float, offset: float, scale: float = 1.0) -> float:
    """Step size of update `step` = 1, 2, ...: scale (offset + step)^-decay, at most 1.

    In the literature s (tau + t)^-kappa. Convergence is proved for 0.5 < decay <= 1.

    Examples
    --------
    >>> robbins_monro(1, 0.5, 3.0)
    0.5
    """
    rate: float = scale * (offset + step) ** -decay
    return min(1.0, rate)


def constant(rate: float) -> Schedule:
    """The same for every update."""
    return lambda step, n_steps: rate


def joined(first: Schedule, until: int, then: Schedule) -> Schedule:
    """`first` up to the update `until`, that one included, and `then` after it.

    Examples
    --------
    >>> [joined(constant(0.5), 2, constant(0.1))(step, None) for step in (1, 2, 3)]
    [0.5, 0.5, 0.1]
    """
    return lambda step, n_steps: (first if step <= until else then)(step, n_steps)


def staleness_corrected_rate(rate: float, missed: int) -> float:
    """The step size of an update whose statistics do not know the last `missed` ones: 1 / (1 / rate - 2 (missed - 1)).

    Topics that are still growing would otherwise grow more slowly, see docs/decisions/exchanges.md. A single
    update makes no difference.

    Examples
    --------
    >>> staleness_corrected_rate(0.01, 26)
    0.02
    """
    return rate if missed <= 1 else 1.0 / max(1.0, 1.0 / rate - UPDATES_PER_MISSED * (missed - 1))


def decaying_end(before: Schedule, share: float, last: float) -> Schedule:
    """`before`, except in the last `share` of a run's updates, where the step falls geometrically to `last`.

    Small last steps average over many minibatches; `last` is usually one minibatch's share of the corpus. If the length
    of the run is unknown, or `before` is already smaller, nothing changes.

    Examples
    --------
    >>> [decaying_end(lambda step, n_steps: 0.4, 0.5, 0.1)(step, 4) for step in (1, 2, 3, 4)]
    [0.4, 0.4, 0.2, 0.1]
    """

    def rate(step: int, n_steps: int | None) -> float:
        usual = before(step, n_steps)
        if n_steps is None or usual <= last or step <= (first := n_steps - round(share * n_steps)):
            return usual
        fraction = (step - first) / (n_steps - first)
        between: float = usual ** (1.0 - fraction) * last**fraction
        return between

    return rate


@dataclass(frozen=True)
class LearningRate:
    """The step size of a scheme.

    Parameters
    ----------
    learning_decay : how fast the step size falls, above 0 and at most 1; None for the constant `learning_scale`; in the
        literature kappa
    learning_offset : larger trusts the first minibatches less; in the literature tau
    learning_scale : factor of the step size, which is at most 1; in the literature s
    hold : number of first updates that take the step of the last of them

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    learning_decay: float | None = 0.7
    learning_offset: float = 10.0
    learning_scale: float = 1.0
    hold: int = 0

    def __post_init__(self) -> None:
        check(self.learning_decay, self.learning_offset, self.learning_scale, self.hold)

    @property
    def unread(self) -> Mapping[str, str]:
        """Settings that others turn off: {name: why}."""
        constant_step = "learning_decay is None, which makes the step size constant"
        return (
            dict.fromkeys(("learning_offset", "hold"), constant_step) if self.learning_decay is None else {}
        )

    def schedule(self) -> Schedule:
        """The step size as a function of the update."""
        if self.learning_decay is None:
            return constant(min(1.0, self.learning_scale))
        return _falling(self.learning_decay, self.learning_offset, self.learning_scale, self.hold)

    def rate(self, info: RoundInfo, schedule: Schedule | None = None) -> float:
        """The step size of this update, at least the share that a half-life forgets; `schedule` replaces its own."""
        usual = (schedule or self.schedule())(info.step, info.n_steps)
        least = 0.0 if info.retained is None else 1.0 - info.retained
        return min(max(staleness_corrected_rate(usual, info.missed), least), info.largest_step)


class PlainStep(LearningRate):
    """A scheme whose step is one `add`, with factors that follow from the sizes of the round: many steps may be done at
    once, and their factors are known before their statistics."""

    def factors(self, info: RoundInfo) -> tuple[float, float]:
        """Weight and decay of `step`; `info` has neither arrays nor statistics."""
        raise NotImplementedError

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`."""
        weight, decay = self.factors(info)
        array.add(stats, weight=weight, decay=decay)


@lru_cache(maxsize=16)  # every step asks for it
def first_update_after(whole_steps: float, rate: LearningRate) -> float:
    """The first update with which the step sizes of a run sum to more than `whole_steps`; infinite if the first
    `MOST_UPDATES` do not.

    Examples
    --------
    >>> half = LearningRate(learning_decay=None, learning_scale=0.5)
    >>> [first_update_after(steps, half) for steps in (0, 1, 1.2)]
    [1, 3, 3]
    """
    schedule, moved = rate.schedule(), 0.0
    for step in range(1, MOST_UPDATES + 1):
        moved += schedule(step, None)
        if moved > whole_steps:
            return step
    return np.inf


@lru_cache(maxsize=16)  # every step asks for it
def _falling(decay: float, offset: float, scale: float, hold: int) -> Schedule:
    def falling(step: int, n_steps: int | None) -> float:
        return robbins_monro(step, decay, offset, scale)

    return joined(constant(falling(max(1, hold), None)), hold, falling)


def check(
    decay: float | None, offset: float, scale: float = 1.0, hold: int = 0, of: str = "learning"
) -> None:
    """Check the settings of a schedule, whose names begin with `of`.

    Raises
    ------
    SettingError
        When `decay` is outside (0, 1], `offset` outside [0, LARGEST_OFFSET], `scale` not positive and finite, or `hold`
        not a whole number of at least 0.
    """
    if decay is not None and not (is_number(decay) and 0.0 < decay <= 1.0):
        raise SettingError(
            f"{argument(f'{of}_decay', decay)}: must be above 0 and at most 1 (above 0.5 to converge)"
            f"{either('; a scheme has None for a constant', '')}"
        )
    if not is_number(offset) or not 0.0 <= offset <= LARGEST_OFFSET:
        raise SettingError(
            f"{argument(f'{of}_offset', offset)}: must be between 0 and {LARGEST_OFFSET:g} updates"
        )
    if not is_number(scale) or not 0.0 < scale < np.inf:
        raise SettingError(f"{of}_scale={scale!r}: must be a positive number")
    if not is_whole(hold) or hold < 0:
        raise SettingError(f"hold={hold!r}: must be a whole number of updates, 0 or more")

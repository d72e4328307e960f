"""Step sizes of stochastic approximation: functions of the update, and of the number of updates of the run.

A schedule is called with `step` = 1, 2, ... and `n_steps`, the number of updates of the whole run, or None if unknown.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bigtopic.errors import SettingError

__all__ = ["Schedule", "check", "decaying_end", "is_number", "robbins_monro"]

Schedule = Callable[[int, int | None], float]

LARGEST_OFFSET = 1e12  # beyond it, steps are too small for float32 topics to change


def robbins_monro(step: int, decay: float, offset: float) -> float:
    """Step size of update `step` = 1, 2, ...: (offset + step)^-decay, at most 1.

    In the literature (tau + t)^-kappa. Convergence is proved for 0.5 < decay <= 1; decay 0 is the constant 1.

    Examples
    --------
    >>> robbins_monro(1, 0.5, 3.0)
    0.5
    """
    rate: float = (offset + step) ** -decay
    return min(1.0, rate)


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
        way = (step - first) / (n_steps - first)
        between: float = usual ** (1.0 - way) * last**way
        return between

    return rate


def check(decay: float, offset: float) -> None:
    """Check the settings of a schedule.

    Raises
    ------
    SettingError
        When `decay` is outside [0, 1], or `offset` outside [0, LARGEST_OFFSET].
    """
    if not is_number(decay) or not 0.0 <= decay <= 1.0:
        raise SettingError(f"learning_decay={decay!r}: must be between 0 and 1 (above 0.5 to converge)")
    if not is_number(offset) or not 0.0 <= offset <= LARGEST_OFFSET:
        raise SettingError(f"learning_offset={offset!r}: must be between 0 and {LARGEST_OFFSET:g} updates")


def is_number(value: object) -> bool:
    """Whether this is a number, of Python or NumPy, and not a truth value."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)

"""Step sizes of stochastic approximation."""

from __future__ import annotations

import numpy as np

from bigtopic.errors import SettingError

__all__ = ["check", "robbins_monro"]

LARGEST_OFFSET = 1e12  # a run of so many updates would not move the topics by what float32 can tell apart


def robbins_monro(step: int, decay: float, offset: float) -> float:
    """Step size of update `step` = 1, 2, ...: (offset + step)^-decay, at most 1.

    In the literature (tau + t)^-kappa. Convergence is proved for 0.5 < decay <= 1; decay 0 is the constant 1.

    Examples
    --------
    >>> robbins_monro(1, 0.5, 3.0)
    0.5
    """
    return min(1.0, (offset + step) ** -decay)


def check(decay: float, offset: float) -> None:
    """Refuse settings that are no schedule.

    Raises
    ------
    SettingError
        When `decay` is outside [0, 1], or `offset` outside [0, LARGEST_OFFSET].
    """
    if not _is_number(decay) or not 0.0 <= decay <= 1.0:
        raise SettingError(f"learning_decay={decay!r}: must be between 0 and 1 (above 0.5 to converge)")
    if not _is_number(offset) or not 0.0 <= offset <= LARGEST_OFFSET:
        raise SettingError(f"learning_offset={offset!r}: must be between 0 and {LARGEST_OFFSET:g} updates")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)

"""Step sizes of stochastic approximation."""

from __future__ import annotations

from bigtopic.errors import SettingError

__all__ = ["check", "robbins_monro"]


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
        When `decay` is outside [0, 1] or `offset` is negative.
    """
    if not 0.0 <= decay <= 1.0:
        raise SettingError(f"learning_decay={decay!r}: must be between 0 and 1 (above 0.5 to converge)")
    if not 0.0 <= offset < float("inf"):
        raise SettingError(f"learning_offset={offset!r}: must be 0 or a positive number")

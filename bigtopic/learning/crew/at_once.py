"""Weights and decays of steps, before their statistics are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bigtopic.plan.slices import SliceRef

__all__ = ["Factors", "StepsAtOnce"]

Factors = Callable[[int, float], tuple[float, float]]


class StepsAtOnce:
    """Weights and decays of those groups of a segment that step at once: each round is one slice, or two, which threads
    join.

    Parameters
    ----------
    rounds : the slices of each, in order
    groups : the numbers of the rounds of each
    factors : (number of a round, its tokens) -> weight and decay of its step; None where these do not follow from that

    Attributes
    ----------
    possible : whether each group may step at once
    """

    def __init__(
        self, rounds: Sequence[Sequence[SliceRef]], groups: Sequence[range], factors: Factors | None
    ) -> None:
        self._groups, self._factors = groups, factors
        self.possible = [
            factors is not None and all(len(rounds[number]) <= 2 for number in own) for own in groups
        ]
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def is_known(self, group: int) -> bool:
        """Whether `prepare` was called for a group."""
        return group in self._known

    def prepare(self, group: int, n_tokens: np.ndarray) -> None:
        """Find weights and decays of a group, given the tokens of its rounds."""
        assert self._factors is not None
        found = [self._factors(*one) for one in zip(self._groups[group], n_tokens.tolist(), strict=True)]
        weights, decays = np.array(found).T.copy()
        self._known[group] = weights, decays

    def take(self, group: int) -> tuple[np.ndarray, np.ndarray]:
        """Weights and decays of a group that is prepared, float64 (n_rounds,) each, once."""
        return self._known.pop(group)

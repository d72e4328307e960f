"""Steps of whole groups, whose weights and decays are known before their statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import numpy as np

from bigtopic.learning.putting_off import Unsettled
from bigtopic.plan.slices import SliceRef

__all__ = ["Factors", "StepsAtOnce"]

Factors = Callable[[int, int, float], tuple[float, float]]


class StepsAtOnce:
    """The steps of those groups of a segment whose rounds are one slice each, or two, which threads join.

    Parameters
    ----------
    rounds : the slices of each, in order
    sizes : rounds of each group
    factors : (number of a round, its documents, its tokens) -> weight and decay of its step; None where these do not
        follow from that

    Attributes
    ----------
    groups : whether each group may step at once
    n_docs : of each round
    """

    def __init__(
        self, rounds: Sequence[Sequence[SliceRef]], sizes: Sequence[int], factors: Factors | None
    ) -> None:
        self.n_docs = [sum(ref.stop - ref.start for ref in slices) for slices in rounds]
        self._factors = factors
        self._numbers = [range(*ends) for ends in pairwise(accumulate(sizes, initial=0))]
        self.groups = [
            factors is not None and all(len(rounds[number]) <= 2 for number in own) for own in self._numbers
        ]
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def prepares(self, group: int) -> bool:
        """Whether `prepare` is to be called for a group."""
        return self.groups[group] and group not in self._known

    def prepare(self, group: int, n_tokens: np.ndarray) -> None:
        """Find weights and decays of a group, given the tokens of its rounds."""
        assert self._factors is not None
        found = [
            self._factors(number, self.n_docs[number], tokens)
            for number, tokens in zip(self._numbers[group], n_tokens.tolist(), strict=True)
        ]
        weights, decays = np.array(found).T.copy()
        self._known[group] = weights, decays

    def step(self, group: int, unsettled: Unsettled, name: str, sums: np.ndarray) -> np.ndarray | None:
        """Step a group that is prepared: what `Unsettled.step` does with an array, given sums of statistics, and
        returns."""
        return unsettled.step(name, sums, *self._known.pop(group))

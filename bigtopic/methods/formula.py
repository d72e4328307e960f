"""A default prior that depends on the number of topics, with the formula that the table of methods shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Formula"]


@dataclass(frozen=True)
class Formula:
    """A prior as a function of the number of topics.

    Attributes
    ----------
    text : the formula, with K for the number of topics
    rule : its value
    """

    text: str
    rule: Callable[[int], float]

    def __call__(self, n_components: int) -> float:
        return self.rule(n_components)

    def __str__(self) -> str:
        return self.text

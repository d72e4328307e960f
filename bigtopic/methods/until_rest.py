"""When the inner iterations of a round end: rules for `Method.inner`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bigtopic.errors import SettingError

__all__ = ["UntilRest"]


@dataclass(frozen=True)
class UntilRest:
    """Until the documents of the round are at rest.

    For kernels whose info tells how far they `moved` in an inner iteration, of how many `tokens`, such as `svb`.
    Documents rather than topics: the change of p(word | topic), averaged over a large vocabulary, is below any
    tolerance from the start.

    Parameters
    ----------
    most : inner iterations at most
    tol : tokens that may still move from topic to topic, as a share of all

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    most: int = 100
    tol: float = 1e-3

    def __post_init__(self) -> None:
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1:
            raise SettingError(f"most={self.most!r}: must be a whole number of inner iterations, at least 1")
        if not 0 <= self.tol < 1:
            raise SettingError(f"tol={self.tol!r}: must be a share of the tokens, at least 0 and below 1")

    def __call__(self, iteration: int, info: Mapping[str, float]) -> bool:
        """Whether to go on after this inner iteration (from 1)."""
        return iteration < self.most and info["moved"] > self.tol * info["tokens"]

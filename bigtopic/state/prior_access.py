"""A global array as a scheme of `prior_schemes` sees it: only the prior can change."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.types import MutableArray

__all__ = ["PriorAccess"]


class PriorAccess:
    """A `types.MutableArray` whose statistics stay as they are."""

    def __init__(self, array: MutableArray) -> None:
        self._array = array

    @property
    def n_components(self) -> int:
        return self._array.n_components

    @property
    def n_columns(self) -> int:
        return self._array.n_columns

    @property
    def n_rows(self) -> int:
        return self._array.n_rows

    @property
    def prior(self) -> np.ndarray:
        return self._array.prior

    def gather(self, ids: np.ndarray | None) -> np.ndarray:
        return self._array.gather(ids)

    def totals(self) -> np.ndarray:
        return self._array.totals()

    def set_prior(self, prior: np.ndarray) -> None:
        self._array.set_prior(prior)

    def add(self, *values: Any, **factors: Any) -> NoReturn:
        """Raises ModelError."""
        self._refuse("add")

    def fold(self) -> NoReturn:
        """Raises ModelError."""
        self._refuse("fold")

    def _refuse(self, call: str) -> NoReturn:
        raise ModelError(
            f"it calls {call}, but a scheme of prior_schemes may change an array only with set_prior; give it to "
            "schemes instead"
        )

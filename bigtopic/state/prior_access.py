"""A global array as a scheme of `prior_schemes` sees it: only the prior can change."""

from __future__ import annotations

from typing import Any, NoReturn

from bigtopic.errors import ModelError
from bigtopic.state.forwarding import Forwarding

__all__ = ["PriorAccess"]


class PriorAccess(Forwarding):
    """A `types.MutableArray` whose statistics stay as they are."""

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

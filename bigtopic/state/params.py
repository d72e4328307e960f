"""The params: all global arrays of a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.overlay import Overlay
from bigtopic.state.running_mean import COUNT, MEAN

__all__ = ["Params"]


@dataclass
class Params:
    """All global arrays of a model by name."""

    arrays: dict[str, LazyArray]

    def __getitem__(self, name: str) -> LazyArray:
        return self.arrays[name]

    def copy(self) -> Params:
        return Params({name: array.copy() for name, array in self.arrays.items()})

    def axis_sizes(self) -> dict[str, int]:
        return {array.axis: array.n_rows for array in self.arrays.values()}

    def without_means(self) -> Params:
        """What tasks read: all arrays but those that means over updates need."""
        beside = {path for name in self.arrays for path in (f"{name}.{MEAN}", f"{name}.{COUNT}")}
        return Params({name: array for name, array in self.arrays.items() if name not in beside})

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def overlay(self, names: Iterable[str]) -> dict[str, LazyArray | Overlay]:
        """The arrays, those named behind an overlay that a provisional step may change."""
        changed = set(names)
        return {n: Overlay(a) if n in changed else a for n, a in self.arrays.items()}

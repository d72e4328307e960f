"""What a kernel remembers of documents between epochs (labels, responsibilities): Zarr arrays, one group per slice.

State is read at epoch e and written at e + 1, never in place, so a task that runs twice writes the same bytes twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.runtime.slices import SliceRef

__all__ = ["drop", "read", "write"]


def read(url: str, epoch: str, ref: SliceRef) -> dict[str, np.ndarray] | None:
    """The state of a slice's documents, or None when this epoch has none."""
    import zarr

    try:
        group = zarr.open_group(_path(url, epoch, ref), mode="r")
    except FileNotFoundError:
        return None
    return {name: np.asarray(array[...]) for name, array in group.arrays()}


def write(url: str, epoch: str, ref: SliceRef, state: Mapping[str, np.ndarray]) -> None:
    """Store the state of a slice's documents."""
    import zarr

    path = _path(url, epoch, ref)
    group = zarr.open_group(path, mode="w")
    for name, values in state.items():
        values = np.ascontiguousarray(values)
        array: Any = group.create_array(
            name, shape=values.shape, dtype=values.dtype, chunks=tuple(max(1, n) for n in values.shape)
        )
        array[...] = values


def drop(url: str, epoch: str) -> None:
    """Forget an epoch."""
    shutil.rmtree(Path(url) / epoch, ignore_errors=True)


def _path(url: str, epoch: str, ref: SliceRef) -> str:
    return str(Path(url) / epoch / f"{ref.part}-{ref.start}-{ref.stop}")

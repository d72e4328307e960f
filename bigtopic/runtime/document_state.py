"""What a kernel remembers of documents between epochs (labels, responsibilities): Zarr arrays, one group per slice.

State is read at epoch e and written at e + 1, never in place, so a task that runs twice writes the same bytes twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.errors import ClusterError
from bigtopic.runtime.slices import SliceRef

__all__ = ["REMEDY", "drop", "read", "write"]

REMEDY = (
    "this method keeps labels of documents in files of the driver's machine: use workers on this machine, or "
    "client=False to run on threads"
)


def read(url: str, epoch: str, ref: SliceRef) -> dict[str, np.ndarray] | None:
    """The state of a slice's documents, or None when this epoch has none.

    Raises
    ------
    ClusterError
        When the folder is not to be seen here.
    """
    import zarr

    try:
        group = zarr.open_group(_path(url, epoch, ref), mode="r")
    except FileNotFoundError:
        _require(url)
        return None
    return {name: np.asarray(array[...]) for name, array in group.arrays()}


def write(url: str, epoch: str, ref: SliceRef, state: Mapping[str, np.ndarray]) -> None:
    """Store the state of a slice's documents. Raises as `read`."""
    import zarr

    _require(url)
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


def _require(url: str) -> None:
    """On a worker elsewhere, which may have joined in the middle of a run, all epochs would look like the first."""
    if not Path(url).is_dir():
        raise ClusterError(f"a worker does not see the files of {url}; {REMEDY}")


def _path(url: str, epoch: str, ref: SliceRef) -> str:
    return str(Path(url) / epoch / f"{ref.part}-{ref.start}-{ref.stop}")

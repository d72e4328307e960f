"""AnnData's file: what a store of topics holds, in HDF5. The store is written to a temporary folder first."""

from __future__ import annotations

from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from bigtopic.errors import require
from bigtopic.estimators.topic_stores.contents import CHUNK, write_batches
from bigtopic.estimators.topic_stores.formats._table import Format, TopicsToWrite
from bigtopic.storage.place import Place, zarr_store

__all__ = ["FORMAT"]


def _write(file: IO[bytes], topics: TopicsToWrite) -> None:
    """Raises MissingExtra without h5py."""
    import zarr

    h5py = require("h5py", "anndata")
    with TemporaryDirectory(prefix="bigtopic-topics-") as folder:
        place = Place.of(f"{folder}/topics.zarr")
        write_batches(place, topics.batches, topics.columns, topics.n_components)
        with h5py.File(file, "w") as target:
            _copy(zarr.open_group(zarr_store(place), mode="r"), target, h5py)


def _copy(source: Any, target: Any, h5py: Any) -> None:
    """A group of Zarr into one of HDF5, with all below it."""
    _describe(source, target, h5py)
    for name, group in source.groups():
        _copy(group, target.create_group(name), h5py)
    for name, array in source.arrays():
        size, text = array.shape[0], array.dtype.kind not in "biuf"
        copy = target.create_dataset(
            name,
            (size,),
            h5py.string_dtype() if text else array.dtype,
            maxshape=(None,),
            chunks=(max(1, min(CHUNK, size)),),
            compression="gzip",
        )
        _describe(array, copy, h5py)
        for start, stop in pairwise([*range(0, size, CHUNK), size]):
            values = np.asarray(array[start:stop])
            copy[start:stop] = values.astype(object) if text else values


def _describe(source: Any, target: Any, h5py: Any) -> None:
    for name, value in source.attrs.asdict().items():
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        target.attrs[name] = np.array(value, h5py.string_dtype()) if texts else value


FORMAT = Format("h5ad", _write, streams=False)

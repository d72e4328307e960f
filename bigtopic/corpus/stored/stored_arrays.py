"""Arrays of a store, checked when they are opened: type, length, chunks."""

from __future__ import annotations

import numpy as np

from bigtopic.corpus.stored.schema import TYPES
from bigtopic.errors import CorpusDamaged
from bigtopic.storage.chunks import REMEDY, ChunkedArray, read_metadata, remedy_of_missing
from bigtopic.storage.place import Place
from bigtopic.storage.string_chunks import read_strings

__all__ = ["read_any", "read_text", "typed_array"]


def typed_array(root: Place, path: str, size: int | None) -> ChunkedArray:
    """An array of numbers of the format, which must have the type that belongs to its name, and this many values.

    Raises
    ------
    CorpusDamaged
        When it is missing, or is another array.
    """
    what = f"{root.url}/{path}"
    array = ChunkedArray(root / path, what)
    _check_length(what, array.shape, size)
    expected = TYPES[path.rpartition("/")[2]]
    if array.dtype != np.dtype(expected):
        raise CorpusDamaged(f"{what} has the type {array.dtype}, but must have {expected}; {REMEDY}")
    return array


def _check_length(what: str, shape: tuple[int, ...], size: int | None) -> None:
    if len(shape) != 1:
        raise CorpusDamaged(f"{what} has {len(shape)} dimensions, but must have one; {REMEDY}")
    if size is not None and shape[0] != size:
        raise CorpusDamaged(f"{what} has {shape[0]} values, but the manifest says {size}; {REMEDY}")


def read_any(
    root: Place, path: str, start: int | None = None, stop: int | None = None, size: int | None = None
) -> np.ndarray:
    """Part of a one-dimensional array of any type; strings come as objects.

    Parameters
    ----------
    size : values that the array must have, if that is known

    Raises
    ------
    CorpusDamaged
        When the array or one of its chunks is missing or damaged.
    """
    what = f"{root.url}/{path}"
    metadata = read_metadata(root / path, what)
    _check_length(what, metadata.shape, size)
    if not metadata.text:
        return ChunkedArray(root / path, what)[slice(start, stop)]
    start, stop, _ = slice(start, stop).indices(metadata.shape[0])
    try:
        return read_strings(root / path, metadata, start, stop)
    except (FileNotFoundError, ValueError, MemoryError) as error:
        remedy = remedy_of_missing() if isinstance(error, FileNotFoundError) else REMEDY
        raise CorpusDamaged(f"{what} is missing or damaged ({error}); {remedy}") from error


def read_text(
    root: Place, path: str, start: int | None = None, stop: int | None = None, size: int | None = None
) -> np.ndarray:
    """As `read_any`, of an array that must hold strings."""
    values = read_any(root, path, start, stop, size)
    if values.dtype != object:
        raise CorpusDamaged(f"{root.url}/{path} holds numbers, but must hold strings; {REMEDY}")
    return values

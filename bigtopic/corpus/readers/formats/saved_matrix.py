"""Saved matrices: `scipy.sparse.save_npz` files, `numpy.save` files (memory-mapped), and `numpy.savez` files with one
two-dimensional array. Nothing pickled is loaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.npy import DAMAGED, check_archive, check_stream
from bigtopic.corpus.readers.formats import matrix
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]


def match(file: File) -> float:
    if file.sample.startswith(b"\x93NUMPY"):
        return 1.0
    return 0.9 if file.sample.startswith(b"PK\x03\x04") and file.name.endswith(".npz") else 0.0


def open_reader(files: Sequence[File], options: Options) -> matrix.MatrixReader:
    if len(files) > 1:
        raise InputError(
            f"{files[1].path}: only one saved matrix can be read at a time; ingest one and append the others"
        )
    return matrix.open_reader(_load(files[0]), options, name=files[0].path)


def _load(file: File) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a header of Python 2 takes longer to read
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # SciPy would cast complex indices
            if file.sample.startswith(b"\x93NUMPY"):
                return _load_npy(file)
            with file.open() as stream:
                return _load_npz(stream, file)
    except InputError:
        raise
    except (*DAMAGED, np.exceptions.ComplexWarning) as error:
        raise InputError(
            f"{file.path} is not a saved matrix ({error}); save it with scipy.sparse.save_npz"
        ) from None


def _load_npy(file: File) -> Any:
    with file.open() as stream:
        check_stream(stream, file)
    if file.plain:
        return np.load(file.path, mmap_mode="r", allow_pickle=False)
    with file.open() as stream:
        return np.load(stream, allow_pickle=False)


def _load_npz(stream: Any, file: File) -> Any:
    from scipy.sparse import load_npz

    check_archive(stream, file)
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as arrays:
        if "format" not in arrays.files:
            found = [name for name in arrays.files if arrays[name].ndim == 2]
            if len(found) != 1:
                raise InputError(
                    f"{file.path} holds {len(found)} two-dimensional arrays; save only the one with the documents"
                )
            return arrays[found[0]]
    stream.seek(0)
    return load_npz(stream)

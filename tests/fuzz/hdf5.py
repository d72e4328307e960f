"""HDF5 files that are sound, and whose groups and arrays are not those of AnnData, or lie elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from fuzz.arrays import Parts, sparse_parts
from fuzz.seeds import COUNTS, N_DOCS, N_WORDS

__all__ = ["make_h5ad"]


def make_h5ad(path: Path, secret: Path, rng: Random) -> tuple[str, Parts | None]:
    """Change a valid h5ad file in place; returns what was done and, where only X changed and still fits, its parts."""
    import h5py

    with h5py.File(path, "r+") as file:
        if rng.random() < 0.5:
            parts, how = sparse_parts(rng)
            _write_x(file, parts)
            fits = np.array_equal(parts["shape"], COUNTS.shape)
            return f"X: {how}", parts if fits else None
        action = rng.choice(_H5)
        action(file, secret, rng)
        return action.__name__.strip("_"), None


def _write_x(file: Any, parts: Parts) -> None:
    del file["X"]
    x = file.create_group("X")
    x.attrs.update({"encoding-type": f"{parts['format']}_matrix", "encoding-version": "0.1.0"})
    if parts["shape"] is not None:
        x.attrs["shape"] = (
            parts["shape"].astype(np.float64) if parts["shape"].dtype.kind in "MU" else parts["shape"]
        )
    for name in ("data", "indices", "indptr"):
        values = parts[name]
        if values is not None:
            x.create_dataset(name, data=values.astype("S") if values.dtype.kind in "MU" else values)


def _h5_external(file: Any, secret: Path, rng: Random) -> None:
    """Values taken from another file of the machine."""
    del file["X"]
    file.create_dataset("X", (N_DOCS, N_WORDS), "i1", external=[(str(secret), 0, N_DOCS * N_WORDS)])
    file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


def _h5_external_part(file: Any, secret: Path, rng: Random) -> None:
    n = len(file["X/data"])
    del file["X/data"]
    file["X"].create_dataset("data", (n,), "i1", external=[(str(secret), 0, n)])


def _h5_external_link(file: Any, secret: Path, rng: Random) -> None:
    import h5py

    other = secret.with_name("other.h5")
    with h5py.File(other, "w") as written:
        written.create_dataset("X", data=COUNTS)
    name = rng.choice(["X", "obs", "X/data"])
    del file[name]
    file[name] = h5py.ExternalLink(str(other), "/X")


def _h5_soft_link(file: Any, secret: Path, rng: Random) -> None:
    import h5py

    name = rng.choice(["X", "obs", "var", "X/indptr", "obs/year"])
    del file[name]
    file[name] = h5py.SoftLink(rng.choice(["/", "/X", "/obs", "/nothing", "/" + name]))


def _h5_virtual(file: Any, secret: Path, rng: Random) -> None:
    """A data set whose values are in another file."""
    import h5py

    other = secret.with_name("other.h5")
    with h5py.File(other, "w") as written:
        written.create_dataset("X", data=COUNTS)
    layout = h5py.VirtualLayout(COUNTS.shape, COUNTS.dtype)
    layout[:] = h5py.VirtualSource(str(other), "X", COUNTS.shape)
    del file["X"]
    file.create_virtual_dataset("X", layout)


def _h5_huge(file: Any, secret: Path, rng: Random) -> None:
    """A shape of 10^12 with nothing in it."""
    name = rng.choice(["X", "X/indptr", "X/indices", "X/data", "obs/_index", "var/_index", "obs/year"])
    attributes = dict(file[name].attrs)
    del file[name]
    shape = (10**12, N_WORDS) if name == "X" else (10**12,)
    dtype: Any = "S10" if name.endswith("_index") else "i8"
    chunks = (1024, N_WORDS) if name == "X" else (1024,)
    file.create_dataset(name, shape, dtype, chunks=chunks).attrs.update({} if name == "X" else attributes)


def _h5_length(file: Any, secret: Path, rng: Random) -> None:
    """One column, or the whole frame, has another length."""
    import h5py

    name = rng.choice(["obs/year", "obs/_index", "var/_index", "obs/label/codes", "obs/label/categories"])
    values, attributes = file[name][:], dict(file[name].attrs)
    del file[name]
    new = rng.choice([values[:-2], np.concatenate([values, values]), values[:0], values.reshape(1, -1)])
    file.create_dataset(
        name, data=new, dtype=values.dtype if values.dtype.kind != "O" else h5py.string_dtype()
    )
    file[name].attrs.update(attributes)


def _h5_value(file: Any, secret: Path, rng: Random) -> None:
    name = rng.choice(["obs/year", "obs/label/codes"])
    values = file[name][:]
    values[rng.randrange(len(values))] = rng.choice([-1, -2, 100, 127])
    file[name][:] = values


def _h5_drop(file: Any, secret: Path, rng: Random) -> None:
    name = rng.choice(["X", "obs", "var", "obs/_index", "obs/year", "X/data", "X/indices", "X/indptr"])
    del file[name]


def _h5_attribute(file: Any, secret: Path, rng: Random) -> None:
    """An attribute dropped or of another value."""
    name = rng.choice(["/", "X", "obs", "var", "obs/_index", "obs/label", "obs/year"])
    attributes = file[name].attrs
    if not len(attributes):
        return
    key = rng.choice(sorted(attributes))
    if rng.random() < 0.3:
        del attributes[key]
    else:
        attributes[key] = rng.choice(
            [
                "",
                "x",
                "csr_matrix",
                "csc_matrix",
                "array",
                "dataframe",
                "categorical",
                -5,
                [1],
                [-1, 2],
                0.5,
                [10**15] * 2,
            ]
        )


def _h5_dataset_for_group(file: Any, secret: Path, rng: Random) -> None:
    name = rng.choice(["obs", "var", "X", "obs/label"])
    del file[name]
    file.create_dataset(name, data=rng.choice([np.zeros(3), np.zeros((N_DOCS, N_WORDS)), 3.0]))


_H5: list[Callable[[Any, Path, Random], None]] = [
    _h5_external, _h5_external_part, _h5_external_link, _h5_soft_link, _h5_virtual, _h5_huge, _h5_length, _h5_value,
    _h5_drop, _h5_attribute, _h5_attribute, _h5_dataset_for_group,
]  # fmt: skip

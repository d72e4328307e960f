"""Toy methods that ask of the runtime what later methods need, each of a few lines of NumPy in a file of its own."""

from __future__ import annotations

import pkgutil
import shutil
from importlib import import_module
from pathlib import Path

from bigtopic.methods import Method

MODULES = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
METHODS: dict[str, Method] = {
    method.name: method
    for module in MODULES
    for method in (
        *(getattr(module, name, None) for name in ("METHOD", "STOPPING")),
        *getattr(module, "METHODS", ()),
    )
    if method is not None
}


def n_components(method: Method, n: int = 3) -> dict[str, int]:
    """A number for each component count of a method's model, no two alike."""
    return {name: n - i for i, name in enumerate(method.model.components)}


def packed(folder: Path) -> str:
    """These files as an archive, for `Client.upload_file`."""
    here = Path(__file__).parent
    return shutil.make_archive(str(folder / here.name), "zip", here.parent, here.name)

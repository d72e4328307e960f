"""Local inference: one algorithm per file, found by looking into this folder.

A file whose name does not begin with an underscore defines `KERNEL`, a `bigtopic.types.Kernel`. Adding a
kernel is adding a file. Importing this package does not import numba; loading a kernel does.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec

from bigtopic.errors import SettingError
from bigtopic.types import Kernel

__all__ = ["load", "names"]


def names() -> list[str]:
    """Names of the kernels that are there, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def load(name: str) -> Kernel:
    """The kernel of this name; its file is imported the first time.

    Raises
    ------
    SettingError
        When there is no such kernel.
    """
    if name.startswith("_") or not name.isidentifier() or find_spec(f"{__name__}.{name}") is None:
        raise SettingError(f"there is no kernel {name!r}; there are: {', '.join(names())}")
    return import_module(f"{__name__}.{name}").KERNEL

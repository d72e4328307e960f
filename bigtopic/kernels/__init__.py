"""Local inference: one algorithm per file, in the folder of its family.

A file outside of `support/` defines `KERNEL`, a `bigtopic.types.Kernel`. To add a kernel, add a file. A variant that
reads the topics in another form is in the same file, in `FURTHER`, and its name begins with the file's: `vb_mean` is in
`vb.py`. Importing this package does not import numba; naming and loading kernels does.
"""

from __future__ import annotations

from bigtopic.support import discovery
from bigtopic.types import Kernel

__all__ = ["load", "names"]


def names() -> list[str]:
    """Names of the available kernels, in alphabetical order."""
    return discovery.names(__name__, "KERNEL")


def load(name: str) -> Kernel:
    """The kernel of this name; its file is imported the first time.

    Raises
    ------
    SettingError
        When there is no such kernel.
    """
    return discovery.load(__name__, name, "KERNEL", "kernel")

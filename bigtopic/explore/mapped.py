"""Arrays of an index that are written through memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.storage.local import store_errors

__all__ = ["new_array"]


def new_array(path: Path, dtype: Any, n: int) -> np.memmap:
    """A new file of n zeros, mapped into memory.

    Its space is allocated first: where the disk is full, writing to a mapped file would end the process (SIGBUS).

    Raises
    ------
    StoreError
        When the system refuses; names the file and its bytes.
    """
    with store_errors("written", f"{path} ({n * np.dtype(dtype).itemsize:,} bytes)"):
        found = np.lib.format.open_memmap(path, "w+", dtype, (n,))
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return found

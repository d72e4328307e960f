"""`-` on the command line: standard input in place of a file to read, standard output in place of one to write."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["STANDARD", "source_file"]

STANDARD = "-"
_NAME = "standard-input"  # what messages call it, after the name of the temporary folder


@contextmanager
def source_file(path: str) -> Iterator[str]:
    """The path; for "-", that of a temporary file with all of standard input, because readers read twice."""
    if path != STANDARD:
        yield path
        return
    with TemporaryDirectory(prefix="bigtopic-") as folder:
        copy = Path(folder) / _NAME
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(copy)

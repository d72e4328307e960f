"""`-` on the command line: standard input in place of a file to read, standard output in place of one to write."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

import click

from bigtopic.errors import InputError

__all__ = ["STANDARD", "source_file", "standard_input", "without_copies"]

STANDARD = "-"
_COPY = "bigtopic.standard-input"  # path of the temporary file, in `click.Context.meta`


@contextmanager
def source_file(path: str) -> Iterator[str]:
    """The path; for "-", that of a temporary file with all of standard input, because readers read twice."""
    if path != STANDARD:
        yield path
        return
    with TemporaryDirectory(prefix="bigtopic-") as folder:
        copy = Path(folder) / "standard-input"
        with copy.open("wb") as file:
            shutil.copyfileobj(standard_input().buffer, file)
        if (context := click.get_current_context(silent=True)) is not None:
            context.meta[_COPY] = str(copy)
        yield str(copy)


def without_copies(message: str, context: click.Context) -> str:
    """A message, in which the temporary file is called standard input."""
    copy = context.meta.get(_COPY)
    return message if copy is None else message.replace(copy, "standard input")


def standard_input() -> TextIO:
    """Standard input.

    Raises
    ------
    InputError
        When it is closed, as by `<&-`.
    """
    if sys.stdin is None:
        raise InputError("standard input is closed; write a file or a text in place of '-'")
    return sys.stdin

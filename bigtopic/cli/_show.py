"""Figures and tables in a terminal. Text from data or paths is made safe for terminals here."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from math import isfinite
from typing import Any

import click

from bigtopic.report import Summary, text_table
from bigtopic.wording import printable

__all__ = ["figures", "line", "table", "to_json", "wrote"]

_WIDEST = 140


def line(text: str) -> None:
    """One line."""
    click.echo(printable(text))


def wrote(path: object, as_json: bool) -> None:
    """That a file was written."""
    if as_json:
        to_json({"wrote": str(path)})
    else:
        line(f"Wrote {path}")


def figures(pairs: Mapping[str, str]) -> None:
    """Aligned lines of label and value; empty values are left out."""
    pairs = {label: value for label, value in pairs.items() if value}
    size = max(map(len, pairs), default=0)
    for label, value in pairs.items():
        click.echo(click.style(f"  {label.ljust(size)}  ", dim=True) + printable(value))


def table(summary: Summary) -> None:
    """The topics, in the width of the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size((100, 24)).columns)
    click.echo(text_table(summary, width, lambda heading: click.style(heading, bold=True)))


def to_json(value: Any) -> None:
    """One JSON document on standard output; control characters are written as JSON escapes, and numbers that are
    missing or infinite as null."""
    lines = json.dumps(_known(value), indent=2, ensure_ascii=False, allow_nan=False).split("\n")
    click.echo("\n".join(text if printable(text) == text else "".join(map(_json, text)) for text in lines))


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _known(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _json(character: str) -> str:
    return character if printable(character) == character else json.dumps(character)[1:-1]

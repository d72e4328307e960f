"""How figures and tables look in a terminal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from typing import Any

import click

from bigtopic.report import Summary, text_table

__all__ = ["figures", "table", "to_json"]

_WIDEST = 140


def figures(pairs: Mapping[str, str]) -> None:
    """Aligned lines of label and value; empty values are left out."""
    pairs = {label: value for label, value in pairs.items() if value}
    size = max(map(len, pairs), default=0)
    for label, value in pairs.items():
        click.echo(click.style(f"  {label.ljust(size)}  ", dim=True) + value)


def table(summary: Summary) -> None:
    """The topics, as wide as the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size((100, 24)).columns)
    click.echo(text_table(summary, width, lambda heading: click.style(heading, bold=True)))


def to_json(value: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))

"""Answers to questions, in a terminal or as JSON."""

from __future__ import annotations

import shutil
import textwrap
from typing import Any

import click

from bigtopic.cli import _show
from bigtopic.wording import printable

__all__ = ["documents", "show", "values"]

_LINES = 4  # of each text


def show(found: Any, as_json: bool) -> None:
    """A table: aligned, or a JSON object for each row."""
    from bigtopic.questions.table import Table

    table = Table.of(found)
    if as_json:
        _show.to_json(values(found))
    else:
        heading, *lines = table.text(max(20, _width() // 2)).split("\n")
        click.echo("\n".join([click.style(heading, bold=True), *lines]))


def documents(found: Any) -> None:
    """Documents about a topic: share, id and the beginning of the text."""
    for row in values(found):
        rest = {
            name: value for name, value in row.items() if name not in ("document", "row", "share", "text")
        }
        columns = "".join(f"  {name}={value}" for name, value in rest.items())
        click.echo(click.style(printable(f"  {row['share']:.4f}  {row['document']}{columns}"), bold=True))
        for line in _beginning(row.get("text") or ""):
            click.echo(f"          {line}")


def _beginning(text: str) -> list[str]:
    lines = textwrap.wrap(printable(" ".join(text.split())), max(20, _width() - 10))
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], f"{lines[_LINES - 1]} …"]


def values(found: Any) -> list[dict[str, Any]]:
    """The rows of a table as JSON values: missing numbers are None."""
    from bigtopic.questions.table import Table

    table = Table.of(found)
    return [
        {name: _plain(value) for name, value in zip(table.columns, row, strict=True)} for row in table.rows()
    ]


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else list(value) if isinstance(value, tuple) else value


def _width() -> int:
    return shutil.get_terminal_size((100, 24)).columns

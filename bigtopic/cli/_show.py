"""Figures, tables and answers in a terminal, or as JSON. Text from data or paths is made safe for terminals here."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Mapping
from math import isfinite
from typing import Any

import click

from bigtopic.cli import _show
from bigtopic.report import Summary, text_table
from bigtopic.wording import printable

__all__ = ["documents", "figures", "line", "show", "table", "to_json", "values", "wrote"]


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

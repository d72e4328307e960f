"""Figures, tables and answers in a terminal, or as JSON. Text from data or paths is made safe for terminals here."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from bigtopic.wording import printable

if TYPE_CHECKING:
    from bigtopic.report import Summary

__all__ = [
    "aside",
    "comparison",
    "documents",
    "figures",
    "frame",
    "in_unicode",
    "is_terminal",
    "json_line",
    "line",
    "result",
    "table",
    "to_json",
    "values",
    "width",
    "wrote",
]

_WIDEST = 140
_LINES = 4  # of each text


def width(least: int = 0, without: int = 0) -> int:
    """Columns of the terminal, without some of them, and at least so many."""
    return max(least, shutil.get_terminal_size((100, 24)).columns - without)


def in_unicode() -> bool:
    """Whether standard output takes all characters."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()  # None where it is closed: `>&-`


def line(text: str) -> None:
    """One line."""
    click.echo(printable(text))


def aside(text: str) -> None:
    """One line on standard error; nothing if there is no text."""
    if text:
        click.echo(printable(text), err=True)


def result(value: Any, shown: str | Mapping[str, str], as_json: bool) -> None:
    """Show a value as JSON, or for people: a line, or figures."""
    if as_json:
        to_json(value)
    elif isinstance(shown, str):
        line(shown)
    else:
        figures(shown)


def wrote(path: object, as_json: bool) -> None:
    """That a file was written."""
    result({"wrote": str(path)}, f"Wrote {path}", as_json)


def figures(pairs: Mapping[str, str]) -> None:
    """Aligned lines of label and value; empty values are left out."""
    pairs = {label: value for label, value in pairs.items() if value}
    size = max(map(len, pairs), default=0)
    for label, value in pairs.items():
        click.echo(click.style(f"  {label.ljust(size)}  ", dim=True) + printable(value))


def table(summary: Summary) -> None:
    """The topics, in the width of the terminal."""
    from bigtopic.report import text_table

    click.echo(text_table(summary, min(_WIDEST, width()), lambda heading: click.style(heading, bold=True)))


def frame(found: Any, as_json: bool) -> None:
    """An answer, which is a table: aligned, or a JSON object for each row."""
    from bigtopic.questions.table import Table

    if as_json:
        to_json(values(found))
        return
    _lines(Table.of(found).text(max(20, width() // 2)))


def comparison(found: Any, as_json: bool, more: Mapping[str, Any] | None = None) -> None:
    """Models side by side, or all results as JSON.

    Parameters
    ----------
    found : a `ScoreTable`
    more : what else there is to say, {label: value}
    """
    more = more or {}
    if as_json:
        to_json({**found.to_dict(), **more})
    else:
        _rows(found)
        figures({label: str(value) for label, value in more.items()})


def _rows(found: Any) -> None:
    """The lines of a table of scores, or, in a terminal that is too narrow for them, a line for each cell."""
    table, notes = found._shown(), found._notes()
    text = table.text(_WIDEST)  # the end of a path tells models apart
    if is_terminal() and max(map(len, text.split("\n"))) > width():
        for row in table.rows():
            figures(dict(zip(table.columns, map(str, row), strict=True)))
            click.echo()
    else:
        _lines(text)
    for note in notes:
        line(note)


def _lines(table: str) -> None:
    """The lines of a table, the first of which are headings."""
    heading, *lines = table.split("\n")
    click.echo("\n".join([click.style(heading, bold=True), *lines]))


def documents(found: Any) -> None:
    """Documents about a topic: share, id and the beginning of the text."""
    for row in values(found):
        share, name, text = row.pop("share"), row.pop("document"), row.pop("text", None) or ""
        columns = "".join(f"  {column}={value}" for column, value in row.items() if column != "row")
        click.echo(click.style(printable(f"  {share:.4f}  {name}{columns}"), bold=True))
        lines = textwrap.wrap(printable(" ".join(text.split())), width(20, 10))
        if len(lines) > _LINES:
            lines[_LINES - 1 :] = [f"{lines[_LINES - 1]} …"]
        for one in lines:
            click.echo(f"          {one}")


def values(found: Any) -> list[dict[str, Any]]:
    """The rows of a table as JSON values: missing numbers are None."""
    from bigtopic.questions.table import Table

    table = Table.of(found)
    return [dict(zip(table.columns, map(_plain, row), strict=True)) for row in table.rows()]


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else list(value) if isinstance(value, tuple) else value


def to_json(value: Any) -> None:
    """One JSON document on standard output; control characters, and all that the encoding of the terminal lacks, are
    written as JSON escapes, and numbers that are missing or infinite as null."""
    lines = json.dumps(_known(value), indent=2, ensure_ascii=not in_unicode(), allow_nan=False).split("\n")
    click.echo("\n".join(text if printable(text) == text else "".join(map(_json, text)) for text in lines))


def json_line(value: Any) -> None:
    """The same on one line, without delay: a reader of several takes each as it comes."""
    text = json.dumps(_known(value), ensure_ascii=not in_unicode(), allow_nan=False)
    click.echo("".join(map(_json, text)))


def _json(character: str) -> str:
    return character if printable(character) == character else json.dumps(character)[1:-1]


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _known(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value

"""`bigtopic methods`: the learning methods."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby

import click

from bigtopic.cli._options import as_json, completed

_LEAST = 20  # characters for what a method is for, in the narrowest terminal


@click.command("methods", short_help="List the learning methods, or the settings of one.")
@click.argument(
    "name", required=False, shell_complete=completed(lambda: import_module("bigtopic.methods").names())
)
@as_json
def command(name: str | None, as_json: bool) -> None:
    """List the learning methods by family, and when to use each: names for --method of `bigtopic train`. With the NAME
    of a method, all there is to know of it: its settings for --option, with their meanings and defaults, choices and
    errata of its papers, and these as BibTeX.

    --json has the rest: what each method does, its kernel, scheme, minibatch, passes, cost, paper, and other names.

    \b
    Examples:
        bigtopic methods
        bigtopic methods sgs
        bigtopic methods --json
    """
    from bigtopic.cli import _show
    from bigtopic.cli.train import command as train
    from bigtopic.methods import methods

    if name is not None or as_json:
        shown = methods(name)
        _show.to_json(shown) if as_json else click.echo(repr(shown))
        return
    for family, rows in groupby(methods(), lambda row: row["family"]):
        click.secho(family.capitalize(), bold=True)
        for line in _lines({row["method"]: _in_options(row["use"], train) for row in rows}):
            click.echo(line)


def _in_options(use: str, train: click.Command) -> str:
    """A sentence of the table, which names arguments as Python does."""
    for param in train.params:
        if "_" in str(param.name):
            use = re.sub(rf"\b{param.name}\b", param.opts[0], use).replace(
                f"{param.opts[0]}=", f"{param.opts[0]} "
            )
    return use


def _lines(uses: dict[str, str]) -> Iterator[str]:
    """A line or more for each method of a family, in the width of the terminal."""
    from bigtopic.methods import DEFAULT, names

    size = max(map(len, names()))
    width = max(_LEAST, shutil.get_terminal_size((100, 24)).columns - size - 4)
    for name, use in uses.items():
        said = f"{use} (default)" if name == DEFAULT else use
        first, *more = textwrap.wrap(said, width, break_on_hyphens=False) or [""]
        yield f"  {name.ljust(size)}  {first}"
        yield from (" " * (size + 4) + line for line in more)

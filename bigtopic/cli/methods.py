"""`bigtopic methods`: the learning methods."""

from __future__ import annotations

import re
import textwrap
from importlib import import_module
from itertools import groupby

import click

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import as_json, completed

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
    from bigtopic.cli.train import command as train
    from bigtopic.methods import DEFAULT, methods, names

    if name is not None or as_json:
        shown = methods(name)
        terminal.to_json(shown) if as_json else click.echo(repr(shown))
        return
    size = max(map(len, names()))
    width = terminal.width(_LEAST, size + 4)
    for family, rows in groupby(methods(), lambda row: row["family"]):
        click.secho(family.capitalize(), bold=True)
        for row in rows:
            use = _in_options(row["use"], train) + (" (default)" if row["method"] == DEFAULT else "")
            first, *more = textwrap.wrap(use, width, break_on_hyphens=False) or [""]
            for label, text in [(row["method"], first), *(("", text) for text in more)]:
                click.echo(f"  {label.ljust(size)}  {text}")


def _in_options(use: str, train: click.Command) -> str:
    """A sentence of the table, which names arguments as Python does."""
    for param in train.params:
        if "_" in str(param.name):
            use = re.sub(rf"\b{param.name}\b", param.opts[0], use).replace(
                f"{param.opts[0]}=", f"{param.opts[0]} "
            )
    return use

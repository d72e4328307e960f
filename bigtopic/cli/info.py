"""`bigtopic info`: the contents of a store."""

from __future__ import annotations

import click
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import as_json, paths


@verb("info", short_help="Describe a corpus, a model, or topics of documents.")
@paths("store")
@click.option("--verify", is_flag=True, help="Read and check every chunk.")
@as_json
def command(store: str, verify: bool, as_json: bool) -> None:
    """Describe the corpus, the model or the topics of documents at STORE.

    Of a model, it prints the command that repeats its training, if one does.

    \b
    Examples:
        bigtopic info articles.zarr
        bigtopic info topics.zarr --json
    """
    from bigtopic.cli.support.facts import described

    facts, lines = described(store, verify)
    terminal.result({**facts, "verified": verify}, lines, as_json)
    if verify and not as_json:
        click.echo("  every array is as it was written")

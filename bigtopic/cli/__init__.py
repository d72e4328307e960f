"""The command `bigtopic`: one file per verb, imported on use."""

from __future__ import annotations

import click

from bigtopic.cli.support.group import Verbs

__all__ = ["main"]


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(package_name="bigtopic", prog_name="bigtopic")
@click.option("--debug", is_flag=True, help="Show where an error came from.")
def main(debug: bool) -> None:
    """Topic models for corpora larger than memory.

    \b
    Try it without data or network:
        bigtopic demo
    Then with your own documents:
        bigtopic ingest articles.jsonl articles.zarr --stop-words english --min-df 5
        bigtopic train articles.zarr topics.zarr --topics 100
        bigtopic topics topics.zarr --corpus articles.zarr
    """

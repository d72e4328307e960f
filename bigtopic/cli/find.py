"""`bigtopic find`: the topics of a word."""

from __future__ import annotations

import click

from bigtopic.cli._options import PATH, as_json


@click.command("find", short_help="Find the topics of a word.")
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.argument("model", type=PATH)
@click.option("--n-top", type=click.IntRange(1), default=10, show_default=True, help="Topics to list.")
@as_json
def command(words: tuple[str, ...], model: str, n_top: int, as_json: bool) -> None:
    """List the topics of MODEL that WORD, or several words together, most probably belong to.

    Any word that the model knows will do. rank is 1 if it is the topic's most probable word; lift says how many times
    more frequent it is in the topic than in all topics together.

    \b
    Examples:
        bigtopic find sqlite topics.zarr
        bigtopic find river bank topics.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.cli._stores import is_model
    from bigtopic.estimators.persistence import load_model

    if is_model(words[0]) and not is_model(model):
        raise click.UsageError(f"the words come first: bigtopic find {model} {words[0]}")
    _show.show(load_model(model).find_topics(words, n_top), as_json)

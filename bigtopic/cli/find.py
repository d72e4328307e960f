"""`bigtopic find`: the topics of a word."""

from __future__ import annotations

from click import UsageError, argument, option
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import COUNT, as_json, paths
from bigtopic.cli.support.stores import is_model, model_at


@verb("find", short_help="Find the topics of a word.")
@argument("words", nargs=-1, required=True, metavar="WORD...")
@paths("model")
@option("--n-top", type=COUNT, default=10, help="Topics to list.")
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
    if is_model(words[0]) and not is_model(model):
        raise UsageError(f"the words come first: bigtopic find {model} {words[0]}")
    terminal.frame(model_at(model).find_topics(words, n_top), as_json)

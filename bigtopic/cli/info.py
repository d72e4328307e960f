"""`bigtopic info`: the contents of a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from bigtopic.cli._options import PATH, as_json


@click.command("info", short_help="Describe a corpus, a model, or topics of documents.")
@click.argument("store", type=PATH)
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
    from bigtopic.cli import _show

    facts, lines = described(store, verify)
    if as_json:
        _show.to_json({**facts, "verified": verify})
    else:
        _show.figures(lines)
        if verify:
            click.echo("  every array is as it was written")


def described(store: str, verify: bool) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """What is known about a store, as JSON values and as lines."""
    from bigtopic.cli import _facts, _stores
    from bigtopic.cli.train import command as train
    from bigtopic.corpus.store import open_corpus
    from bigtopic.errors import InputError
    from bigtopic.estimators.persistence import load_model
    from bigtopic.storage.place import Place

    if _stores.is_model(store) or _stores.is_checkpoint(store):
        facts = _facts.facts_of_model(load_model(store), store, train)  # every array has been read
        return facts, _facts.model_lines(facts)
    if _stores.is_topics(store):
        facts = _facts.facts_of_topics(store, verify)
        return facts, _facts.topics_lines(facts)
    if not Place.of(store).exists():
        raise InputError(
            f"there is nothing at {store}{Place.of(store).nearest()}; give the path of a corpus, a model, a checkpoint "
            "or topics of documents"
        )
    corpus = open_corpus(store)
    if verify:
        corpus.verify()
    facts = _facts.facts_of_corpus(corpus)
    return facts, _facts.corpus_lines(facts)

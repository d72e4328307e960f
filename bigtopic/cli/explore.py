"""`bigtopic explore`: a model and its documents in a browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager

import click
from click import argument, option
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import PATH, as_json, connected, parallel, paths
from bigtopic.cli.support.stores import corpus_at, is_corpus, is_topics, model_at


@verb("explore", short_help="Explore a model and its documents in a browser.")
@paths("model")
@argument("stores", nargs=-1, type=PATH, metavar="[THETA] [CORPUS]")
@option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the server; 0 for any that is free."
)
@option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@option("--index", type=PATH, help="Folder to keep the index in; default one in the user's cache.")
@option("--title", help="Title of the page; default the name of the model.")
@as_json
@parallel
def command(
    model: str,
    stores: tuple[str, ...],
    port: int,
    no_browser: bool,
    index: str | None,
    title: str | None,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Explore the topics of MODEL and the documents of CORPUS in a browser, until Ctrl-C.

    THETA has the topics of the documents, as `bigtopic infer` wrote them; without it they are inferred first. Without
    CORPUS, no texts are shown. The server is for this machine and user alone: its address has a token.

    \b
    Examples:
        bigtopic explore topics.zarr theta.zarr articles.zarr
        bigtopic explore topics.zarr articles.zarr --no-browser --port 8080
    """
    theta, corpus = _which(stores)
    estimator, documents = model_at(model), corpus_at(corpus)
    title = title or f"Topics: {model.rstrip('/').rpartition('/')[2].removesuffix('.zarr')}"
    with connected(scheduler, n_threads) as work:
        estimator.set_params(**work)
        exploration = estimator.explore(
            documents, theta=theta, port=port, index=index, title=title, model_path=model
        )
        with exploration, _until_interrupted():
            shown = f"Explore the topics at {exploration.url}; end it with Ctrl-C"
            terminal.result({"url": exploration.url}, shown, as_json)
            if not no_browser:
                webbrowser.open(exploration.url)
            exploration.wait()


def _which(stores: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The topics of documents, and the corpus, of paths that are one of the two or both."""
    if not 1 <= len(stores) <= 2:
        raise click.UsageError(
            "give THETA, the topics of documents that 'bigtopic infer' wrote, or CORPUS, or both in this order"
        )
    if len(stores) == 2:
        if is_corpus(stores[0]) and is_topics(stores[1]):
            raise click.UsageError(f"the topics come before the corpus: {stores[1]} {stores[0]}")
        return stores
    return (None, stores[0]) if is_corpus(stores[0]) else (stores[0], None)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C is how an exploration ends."""
    try:
        yield
    except KeyboardInterrupt:
        terminal.aside("Ended")

"""`bigtopic topics`: print the words of each topic."""

from __future__ import annotations

from typing import Any

import click

from bigtopic.cli._options import connected, parallel


@click.command("topics", short_help="Print the topics of a model.")
@click.argument("model")
@click.option(
    "--corpus", help="Corpus for shares, coherence and leading authors; costs one or two passes over it."
)
@click.option(
    "--n-top",
    "--words",
    "n_words",
    type=click.IntRange(1),
    default=15,
    show_default=True,
    help="Words per topic.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")
@parallel
def command(
    model: str, corpus: str | None, n_words: int, as_json: bool, scheduler: str | None, n_threads: int | None
) -> None:
    """Print the topics of MODEL: their most probable words and, given a corpus, their shares of it.

    \b
    Example:
        bigtopic topics topics.zarr --corpus articles.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model
    from bigtopic.report import summarise

    estimator = load_model(model)
    documents = None if corpus is None else open_corpus(corpus)
    with connected(scheduler) as client:
        summary = summarise(estimator, documents, n_words=n_words, client=client, n_threads=n_threads)
    if as_json:
        _show.to_json([_as_dict(topic) for topic in summary.topics])
    else:
        _show.table(summary)


def _as_dict(topic: Any) -> dict[str, Any]:
    return {
        "topic": topic.number,
        "share": topic.share,
        "npmi": None,
        **topic.scores,
        "words": [{"word": word, "probability": probability} for word, probability in topic.words],
        "authors": [{"author": name, "share": share} for name, share in topic.authors],
        "documents": [{"document": name, "weight": weight} for name, weight in topic.documents],
    }

"""`bigtopic topics`: the words of each topic, the documents about one, and how topics change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from bigtopic.cli._options import PATH, as_json, conditions, connected, of_documents, parallel


@click.command("topics", short_help="Print the topics of a model, their documents, or their change.")
@click.argument("model", type=PATH)
@click.option(
    "--corpus",
    type=PATH,
    help="Corpus for shares, coherence and leading authors; costs one or two passes over it.",
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
@click.option("--topic", type=int, help="Only this topic, by its number.")
@click.option(
    "--documents", "n_documents", type=click.IntRange(1), help="List this many documents about --topic."
)
@click.option(
    "--by",
    "columns",
    multiple=True,
    metavar="COLUMN",
    help="Shares of topics by the values of a column, or authors. May be repeated.",
)
@click.option(
    "--freq",
    metavar="UNIT",
    help="Group the dates of --by, the first one, by decade, year, quarter, month, week or day.",
)
@click.option(
    "--bins",
    type=click.IntRange(1),
    help="Group the numbers or dates of --by, the first one, into this many bins.",
)
@click.option(
    "--date-format",
    metavar="FORMAT",
    help="How these dates are written, such as %d.%m.%Y; %s for seconds since 1970.",
)
@of_documents
@as_json
@parallel
def command(
    model: str,
    corpus: str | None,
    n_words: int,
    topic: int | None,
    n_documents: int | None,
    columns: tuple[str, ...],
    freq: str | None,
    bins: int | None,
    date_format: str | None,
    theta: str | None,
    where: tuple[str, ...],
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Print the topics of MODEL: their most probable words and, given a corpus, their shares of it.

    With --documents, list the documents that are most about a topic, with their text if the corpus keeps it. With --by,
    print the mean share of each topic in the documents of each value of a column, with its standard error.

    \b
    Examples:
        bigtopic topics topics.zarr --corpus articles.zarr
        bigtopic topics topics.zarr --topic 5 --documents 20 --corpus articles.zarr --theta theta.zarr
        bigtopic topics topics.zarr --topic 5 --by year --theta theta.zarr
        bigtopic topics topics.zarr --by date --freq month --theta theta.zarr --where kind=news
    """
    from bigtopic.cli import _show
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model

    _check(topic, n_documents, columns, theta or where, freq or bins or date_format)
    if (n_documents is not None or columns) and corpus is None and theta is None:
        raise click.UsageError("--documents and --by need --corpus or --theta")
    estimator = load_model(model)
    documents = None if corpus is None else open_corpus(corpus)
    with connected(scheduler) as client:
        estimator.set_params(client=client, n_threads=n_threads)
        if n_documents is None and not columns:
            _words(estimator, documents, n_words, topic, as_json)
            return
        chosen: dict[str, Any] = {"theta": theta, "where": conditions(where, _chosen_from(documents, theta))}
        if columns:
            grouped: dict[str, Any] = {"freq": freq, "bins": bins, "date_format": date_format}
            found = estimator.topics_over(columns, documents, topics=topic, **grouped, **chosen)
            _show.show(found, as_json)
            return
        assert topic is not None and n_documents is not None  # see _check
        found = estimator.documents(topic, documents, n_documents, **chosen)
    if as_json:
        _show.show(found, as_json)
    else:
        _show.documents(found)


def _check(
    topic: int | None, n_documents: int | None, columns: tuple[str, ...], chosen: Any, grouped: Any
) -> None:
    """Refuse options that do not go together."""
    if n_documents is not None and (topic is None or columns):
        raise click.UsageError("--documents lists those about one topic: give --topic, and leave out --by")
    if chosen and n_documents is None and not columns:
        raise click.UsageError("--theta and --where need --documents or --by")
    if grouped and not columns:
        raise click.UsageError(
            "--freq, --bins and --date-format are about the values of a column: name it with --by"
        )


def _chosen_from(documents: Any, theta: str | None) -> Any:
    """The documents whose columns --where names."""
    if theta is None:
        return documents
    from bigtopic.estimators.topic_stores.stored_topics import StoredTopics

    return StoredTopics(theta).documents


def _words(estimator: Any, documents: Any, n_words: int, topic: int | None, as_json: bool) -> None:
    from bigtopic.cli import _show
    from bigtopic.report import summarise

    summary = summarise(
        estimator, documents, n_words=n_words, client=estimator.client, n_threads=estimator.n_threads
    )
    if topic is not None:
        estimator.show_topic(topic, 1)  # refuses a topic that does not exist
        summary = replace(summary, topics=[own for own in summary.topics if own.number == topic])
    if as_json:
        _show.to_json([_as_dict(own) for own in summary.topics])
    else:
        _show.table(summary)


def _as_dict(topic: Any) -> dict[str, Any]:
    return {
        "topic": topic.number,
        "label": topic.label or None,
        "share": topic.share,
        "unused": topic.unused,
        "npmi": None,
        **topic.scores,
        "words": [{"word": word, "probability": probability} for word, probability in topic.words],
        "authors": [{"author": name, "share": share} for name, share in topic.authors],
        "documents": [{"document": name, "weight": weight} for name, weight in topic.documents],
    }

"""`bigtopic topics`: the words of each topic, the documents about one, and how topics change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from click import UsageError, option
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import (
    COUNT,
    PATH,
    as_json,
    conditions,
    connected,
    n_words,
    of_documents,
    parallel,
    paths,
)
from bigtopic.cli.support.stores import corpus_at, model_at


@verb("topics", short_help="Print the topics of a model, their documents, or their change.")
@paths("model")
@option(
    "--corpus",
    type=PATH,
    help="Corpus for shares, coherence and leading authors; costs one or two passes over it.",
)
@n_words(15)
@option("--topic", type=int, help="Only this topic, by its number.")
@option("--documents", "n_documents", type=COUNT, help="List this many documents about --topic.")
@option(
    "--by",
    "columns",
    multiple=True,
    metavar="COLUMN",
    help="Shares of topics by the values of a column, or authors. May be repeated.",
)
@option(
    "--freq",
    metavar="UNIT",
    help="Group the dates of --by, the first one, by decade, year, quarter, month, week or day.",
)
@option("--bins", type=COUNT, help="Group the numbers or dates of --by, the first one, into this many bins.")
@option(
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
    theta: str | None,
    where: tuple[str, ...],
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
    **groups: Any,
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
    from bigtopic.estimators.topic_stores.stored_topics import StoredTopics

    if n_documents is not None and (topic is None or columns):
        raise UsageError("--documents lists those about one topic: give --topic, and leave out --by")
    of_documents = n_documents is not None or columns
    if (theta or where) and not of_documents:
        raise UsageError("--theta and --where need --documents or --by")
    if any(groups.values()) and not columns:
        raise UsageError(
            "--freq, --bins and --date-format are about the values of a column: name it with --by"
        )
    if of_documents and corpus is None and theta is None:
        raise UsageError("--documents and --by need --corpus or --theta")
    estimator, documents = model_at(model), corpus_at(corpus)
    with connected(scheduler, n_threads) as work:
        estimator.set_params(**work)
        if not of_documents:
            _words(estimator, documents, n_words, topic, as_json)
            return
        with_columns = documents if theta is None else StoredTopics(theta).documents
        chosen: dict[str, Any] = {"theta": theta, "where": conditions(where, with_columns)}
        if columns:
            found = estimator.topics_over(columns, documents, topics=topic, **groups, **chosen)
        else:
            found = estimator.documents(topic, documents, n_documents, **chosen)
    if as_json or columns:
        terminal.frame(found, as_json)
    else:
        terminal.documents(found)


def _words(estimator: Any, documents: Any, n_words: int, topic: int | None, as_json: bool) -> None:
    from bigtopic.report import summarise

    work = {"client": estimator.client, "n_threads": estimator.n_threads}
    summary = summarise(estimator, documents, n_words=n_words, **work)
    if topic is not None:
        estimator.show_topic(topic, 1)  # refuses a topic that does not exist
        summary = replace(summary, topics=[own for own in summary.topics if own.number == topic])
    if as_json:
        terminal.to_json([_as_dict(own) for own in summary.topics])
    else:
        terminal.table(summary)


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

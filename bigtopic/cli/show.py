"""`bigtopic show`: one document."""

from __future__ import annotations

import click
from click import argument, option
from click import command as verb

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import PATH, as_json, paths
from bigtopic.cli.support.stores import corpus_at, model_at

_WORDS = 20


@verb("show", short_help="Show a document and its topics.")
@argument("document")
@paths("corpus")
@option("--model", type=PATH, help="Model, for the topics of the document and of its words.")
@parameters.theta
@as_json
def command(document: str, corpus: str, model: str | None, theta: str | None, as_json: bool) -> None:
    """Show the document of CORPUS with the id DOCUMENT: its text, if the corpus keeps it, its columns and its words.

    \b
    Examples:
        bigtopic show article-17 articles.zarr
        bigtopic show article-17 articles.zarr --model topics.zarr
    """
    if theta is not None and model is None:
        raise click.UsageError("--theta needs --model, the model that the topics are of")
    documents = corpus_at(corpus)
    found = documents.document(document)
    topics = None
    if model is not None:
        topics = model_at(model).set_params(client=False).document(document, documents, theta=theta)
    if as_json:
        columns = {name: None if value != value else value for name, value in found.columns.items()}
        answer = {**found._asdict(), "columns": columns}
        if topics is not None:
            answer |= {"topics": terminal.values(topics.topics), "word_topics": terminal.values(topics.words)}
        terminal.to_json(answer)
        return
    words = sorted(found.counts, key=lambda word: (-found.counts[word], word))[:_WORDS]
    terminal.figures(
        {
            "document": found.id,
            "row": f"{found.row:,}",
            "tokens": f"{sum(found.counts.values()):,.0f}",
            "authors": ", ".join(found.authors or ()),
            **{name: str(value) for name, value in found.columns.items()},
            "words": " ".join(f"{word} {found.counts[word]:g}" for word in words),
        }
    )
    for line in (found.text or "").splitlines():
        terminal.line(f"  {line}")
    for table in () if topics is None else (topics.topics, topics.words):
        click.echo()
        terminal.frame(table, as_json=False)

"""`bigtopic show`: one document."""

from __future__ import annotations

from typing import Any

import click

from bigtopic.cli._options import PATH, as_json

_WORDS = 20


@click.command("show", short_help="Show a document and its topics.")
@click.argument("document")
@click.argument("corpus", type=PATH)
@click.option("--model", type=PATH, help="Model, for the topics of the document and of its words.")
@click.option(
    "--theta",
    type=PATH,
    help="Topics of the documents, as `bigtopic infer` wrote them; else they are inferred.",
)
@as_json
def command(document: str, corpus: str, model: str | None, theta: str | None, as_json: bool) -> None:
    """Show the document of CORPUS with the id DOCUMENT: its text, if the corpus keeps it, its columns and its words.

    \b
    Examples:
        bigtopic show article-17 articles.zarr
        bigtopic show article-17 articles.zarr --model topics.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model

    if theta is not None and model is None:
        raise click.UsageError("--theta needs --model, the model that the topics are of")
    documents = open_corpus(corpus)
    found = documents.document(document)
    topics = None
    if model is not None:
        topics = load_model(model).set_params(client=False).document(document, documents, theta=theta)
    if as_json:
        _show.to_json(_as_dict(found, topics))
        return
    _show.figures(_figures(found))
    for line in (found.text or "").splitlines():
        _show.line(f"  {line}")
    if topics is not None:
        for table in (topics.topics, topics.words):
            click.echo()
            _show.show(table, as_json=False)


def _figures(found: Any) -> dict[str, str]:
    words = sorted(found.counts, key=lambda word: (-found.counts[word], word))[:_WORDS]
    return {
        "document": found.id,
        "row": f"{found.row:,}",
        "tokens": f"{sum(found.counts.values()):,.0f}",
        "authors": ", ".join(found.authors or ()),
        **{name: str(value) for name, value in found.columns.items()},
        "words": " ".join(f"{word} {found.counts[word]:g}" for word in words),
    }


def _as_dict(found: Any, topics: Any) -> dict[str, Any]:
    from bigtopic.cli._show import values

    columns = {name: None if value != value else value for name, value in found.columns.items()}
    answer = {**found._asdict(), "columns": columns}
    if topics is not None:
        answer |= {"topics": values(topics.topics), "word_topics": values(topics.words)}
    return answer

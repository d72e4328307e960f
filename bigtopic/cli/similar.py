"""`bigtopic similar`: documents with similar topics."""

from __future__ import annotations

import click

from bigtopic.cli._options import PATH, STANDARD, as_json, standard_input


@click.command("similar", short_help="List the documents most like a document or a text.")
@click.argument("model", type=PATH)
@click.argument("theta", type=PATH)
@click.argument("query")
@click.option(
    "--n-documents", type=click.IntRange(1), default=10, show_default=True, help="Documents to list."
)
@click.option(
    "--measure", default="hellinger", show_default=True, help="hellinger, cosine or jensen-shannon."
)
@click.option(
    "--token-pattern", help="The pattern used to tokenise the model's texts, if it was a custom one."
)
@as_json
def command(
    model: str,
    theta: str,
    query: str,
    n_documents: int,
    measure: str,
    token_pattern: str | None,
    as_json: bool,
) -> None:
    """List the documents of THETA, which `bigtopic infer` wrote with MODEL, whose topics are most like those of QUERY.

    QUERY is the id of a document of THETA, else a text; - reads it from standard input. Scores are from
    0, nothing in common, to 1, equal topics.

    \b
    Examples:
        bigtopic similar topics.zarr theta.zarr article-17
        bigtopic similar topics.zarr theta.zarr "rivers and their deltas" --n-documents 5
    """
    from bigtopic.cli import _show
    from bigtopic.estimators.persistence import load_model

    estimator = load_model(model, token_pattern=token_pattern)
    if query == STANDARD:
        query = _text_of_input().strip()
    found = estimator.similar_documents(query, theta, n_documents=n_documents, measure=measure)
    if as_json:
        _show.to_json([{"document": name, "score": score} for name, score in found])
    else:
        for name, score in found:
            _show.line(f"  {score:.4f}  {name}")


def _text_of_input() -> str:
    from bigtopic.errors import InputError

    try:
        return standard_input().read()
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is not text: {error}") from None

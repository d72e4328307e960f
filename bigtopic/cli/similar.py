"""`bigtopic similar`: documents with similar topics."""

from __future__ import annotations

from click import argument, option
from click import command as verb

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import COUNT, STANDARD, as_json, paths, standard_input
from bigtopic.cli.support.stores import model_at
from bigtopic.errors import InputError


@verb("similar", short_help="List the documents most like a document or a text.")
@paths("model", "theta")
@argument("query")
@option("--n-documents", type=COUNT, default=10, help="Documents to list.")
@option("--measure", default="hellinger", help="hellinger, cosine or jensen-shannon.")
@parameters.token_pattern
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
    """List the documents of THETA, which `bigtopic infer` wrote with MODEL, that are most like QUERY in their topics.

    QUERY is the id of a document of THETA, else a text; - reads it from standard input. Scores are from
    0, nothing in common, to 1, equal topics.

    \b
    Examples:
        bigtopic similar topics.zarr theta.zarr article-17
        bigtopic similar topics.zarr theta.zarr "rivers and their deltas" --n-documents 5
    """
    estimator = model_at(model, token_pattern=token_pattern)
    if query == STANDARD:
        try:
            query = standard_input().read().strip()
        except UnicodeDecodeError as error:
            raise InputError(f"standard input is not text: {error}") from None
    found = estimator.similar_documents(query, theta, n_documents=n_documents, measure=measure)
    if as_json:
        terminal.to_json([{"document": name, "score": score} for name, score in found])
    else:
        for name, score in found:
            terminal.line(f"  {score:.4f}  {name}")

"""Which documents a verb is about: options, and what they mean to `Corpus.select`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from bigtopic.cli._values import PATH
from bigtopic.wording import counted

__all__ = ["conditions", "of_documents", "where_option"]


def where_option(**settings: Any) -> Callable[..., Any]:
    """--where."""
    return click.option(
        "--where",
        "where",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="Only documents with this value of a column, or from a to b: year=2000..2005. May be repeated.",
        **settings,
    )


def of_documents(function: Callable[..., Any]) -> Callable[..., Any]:
    """--theta and --where."""
    for option in (
        where_option(),
        click.option(
            "--theta",
            type=PATH,
            help="Topics of the documents, as `bigtopic infer` wrote them; else they are inferred.",
        ),
    ):
        function = option(function)
    return function


def conditions(given: Sequence[str], documents: Any) -> dict[str, Any]:
    """What `Corpus.select` takes, from COLUMN=VALUE; values have the type of the column of these documents."""
    found: dict[str, Any] = {}
    for text in given:
        if documents is None:
            raise click.UsageError("--where needs --corpus or --theta, which have the columns")
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(
                f"--where {text!r}: write COLUMN=VALUE, such as year=2005 or year=2000..2005"
            )
        if name in found:
            raise click.UsageError(
                f"--where {text!r}: {name} is given twice; write one range, such as {name}=2000..2005"
            )
        kind = documents.run(0, 1, order="stored").read_column(name).dtype.kind
        low, dots, high = value.partition("..")
        found[name] = slice(_typed(low, kind), _typed(high, kind)) if dots else _typed(value, kind)
    if found and not documents.select(**found).n_docs:
        shown = " ".join(f"--where {text}" for text in given)
        raise click.UsageError(
            f"{shown}: none of the {counted(len(documents), 'document')} meets "
            f"{'this condition' if len(found) == 1 else 'these conditions together'}"
        )
    return found


def _typed(value: str, kind: str) -> Any:
    """The value as a column of this kind has it; None for an empty end of a range."""
    if kind == "O":
        return value or None
    if kind == "b":
        if value.lower() not in ("true", "false"):
            raise click.UsageError(f"--where: {value!r} is neither true nor false, which the column holds")
        return value.lower() == "true"
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    return value or None

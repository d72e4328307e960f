"""`bigtopic task`: score models in a task, against a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from click import Choice, UsageError, argument, get_current_context, option
from click import command as verb

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import COUNT, PATH, as_json, connected, is_given, parallel
from bigtopic.cli.support.stores import corpus_at, models_at
from bigtopic.wording import counted

_OWN = {
    "authors": ["k"],
    "items": ["k", "train"],
    "classes": ["labels", "n_folds", "random_state"],
}  # options


@verb("task", short_help="Rank authors or items, or classify documents, and score that.")
@argument("name", type=Choice(list(_OWN)))
@argument("model", nargs=-1, required=True, type=PATH)
@argument("corpus", type=PATH)
@option("--k", type=COUNT, help="Length of the list, for precision and recall; default 5 authors, 10 items.")
@option(
    "--train",
    type=PATH,
    help="Corpus that the models learned from: items that a row has there are not ranked.",
)
@option("--labels", metavar="COLUMN", help="Column of CORPUS with the class of each document.")
@option(
    "--folds", "n_folds", type=int, default=5, help="Parts of the documents, each classified from the others."
)
@parameters.random_state
@as_json
@parallel
def command(
    name: str,
    model: tuple[str, ...],
    corpus: str,
    train: str | None,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
    **settings: Any,
) -> None:
    """Score MODEL in a task on CORPUS, beside a baseline.

    \b
    authors   rank all authors, or tags, for each document; against their popularity
    items     rank the columns of dual topics for each row of held-out records; against theirs
    classes   predict --labels from the topics of documents, linearly; against the most frequent label

    Held-out records are made by `bigtopic split --records`. Several models are compared on the same documents: a row
    for each, with its difference to the best one and the standard error of that difference.

    \b
    Examples:
        bigtopic task authors writers.zarr new-articles.zarr --k 3
        bigtopic task items pairs.zarr held-out.zarr --train seen.zarr
        bigtopic task classes k20.zarr k50.zarr articles.zarr --labels section
    """
    from bigtopic import evaluate
    from bigtopic.cli.support.facts import learned_from

    for param in get_current_context().command.params:
        owners = [task for task, own in _OWN.items() if param.name in own]
        if owners and name not in owners and is_given(str(param.name)):
            raise UsageError(
                f"{param.opts[0]} is of task {' and '.join(owners)}, not of {name!r}: leave it out"
            )
    if name == "classes" and settings["labels"] is None:
        raise UsageError(
            "task 'classes' needs --labels, the column of CORPUS with the class of each document"
        )
    score: Any = {
        "authors": evaluate.rank_authors,
        "items": evaluate.rank_items,
        "classes": evaluate.classification_accuracy,
    }[name]
    estimators, documents = models_at(model), corpus_at(corpus)
    chosen = {own: settings[own] for own in _OWN[name] if settings.get(own) is not None}
    if train is not None:
        chosen["train"] = corpus_at(train)
    for path, each in estimators.items() if name != "classes" else ():
        terminal.aside(learned_from(each, path, documents))
    with connected(scheduler, n_threads) as work:
        found = {path: score(each, documents, **chosen, **work) for path, each in estimators.items()}
    if len(found) == 1:
        (result,) = found.values()
        terminal.result(result.to_dict(), _lines(result), as_json)
    else:
        _compare(found, as_json)


def _lines(result: Any) -> dict[str, str]:
    title = {} if hasattr(result, "scores") else {"accuracy": result.text()}
    omitted = counted(result.n_omitted, "document") if result.n_omitted else ""
    return {**title, **result.details(), "left out": omitted}


def _compare(found: Mapping[str, Any], as_json: bool) -> None:
    """A row for each model, with the difference to the best one where both have scored the same documents."""
    from bigtopic.evaluation.base import with_error
    from bigtopic.evaluation.runs.compare import ScoreTable, best_of

    best = best_of({path: result.value for path, result in found.items()})
    pairs = {path: _difference(result, found[best]) for path, result in found.items()}
    if as_json:
        models = {
            path: {
                **result.to_dict(),
                "difference": pairs[path][0],
                "difference_standard_error": pairs[path][1],
            }
            for path, result in found.items()
        }
        terminal.to_json({"models": models, "reference": best})
        return
    first = found[best]
    columns = {
        "model": list(found),
        "reciprocal rank" if hasattr(first, "scores") else "accuracy": [
            with_error(result.value, result.standard_error) for result in found.values()
        ],
        "difference": [
            *{**{p: with_error(*pair, sign="+") for p, pair in pairs.items()}, best: "reference"}.values()
        ],
    }
    for name in first.baselines:
        columns[name] = [with_error(result.baselines.get(name, float("nan"))) for result in found.values()]
    terminal.comparison(ScoreTable(columns), as_json=False)


def _difference(result: Any, other: Any) -> tuple[float, float]:
    if result.rows.tolist() != other.rows.tolist():
        return float("nan"), float("nan")
    found = result.minus(other)
    difference: tuple[float, float] = found["reciprocal rank"] if isinstance(found, dict) else found
    return difference

"""`bigtopic evaluate`: score a model on a corpus, or several models side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from click import UsageError, argument
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import PATH, as_json, connected, parallel
from bigtopic.cli.support.settings import WithSettings, given
from bigtopic.cli.support.stores import corpus_at, model_at


@verb("evaluate", cls=WithSettings, short_help="Score models on a corpus.")
@argument("model", nargs=-1, required=True, type=PATH)
@argument("corpus", type=PATH)
@as_json
@parallel
def command(
    model: tuple[str, ...],
    corpus: str,
    measures: tuple[str, ...],
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
    **settings: Any,
) -> None:
    """Score MODEL on CORPUS: held-out log probability by document completion, and coherence of its topics.

    Several models are compared on the same held-out tokens: a row for each, with its difference to the best one and the
    standard error of that difference.

    The held-out score is meaningful only for documents that the model was not trained on. If CORPUS is the one that it
    learned from, a line on standard error says so, and the score is called "training score".

    \b
    Examples:
        bigtopic evaluate topics.zarr new-articles.zarr
        bigtopic evaluate k10.zarr k20.zarr k50.zarr new-articles.zarr --measure log-predictive
    """
    from bigtopic.cli.support.facts import learned_from
    from bigtopic.evaluation import compare, measure
    from bigtopic.evaluation.measures import load

    if twice := [path for i, path in enumerate(model) if path in model[:i]]:
        raise UsageError(f"{twice[0]} is given twice; give each model once, and then the corpus")
    estimators, documents = {path: model_at(path) for path in model}, corpus_at(corpus)
    asked = [load(name) for name in measures]
    known = [learned_from(estimator, path, documents) for path, estimator in estimators.items()]
    if any(known) and any(one.held_out for one in asked):
        for said in known:
            terminal.aside(said)
        asked = [replace(one, title=one.title.replace("held-out", "training")) for one in asked]
    with connected(scheduler, n_threads) as work:
        if len(estimators) > 1:
            compared = compare(estimators, documents, asked, **work, **given(settings))
            terminal.comparison(compared, as_json)
            return
        (estimator,) = estimators.values()
        found = measure(estimator, documents, asked, **work, **given(settings))
    terminal.result(found.to_dict(), found.lines(), as_json)

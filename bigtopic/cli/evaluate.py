"""`bigtopic evaluate`: score a model on a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import click

from bigtopic.cli._options import PATH, WithSettings, as_json, connected, given, parallel


@click.command("evaluate", cls=WithSettings, short_help="Score a model on a corpus.")
@click.argument("model", type=PATH)
@click.argument("corpus", type=PATH)
@as_json
@parallel
def command(
    model: str,
    corpus: str,
    measures: tuple[str, ...],
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
    **settings: Any,
) -> None:
    """Score MODEL on CORPUS: held-out log probability by document completion, and coherence of its topics.

    The held-out score is meaningful only for documents that the model was not trained on. If CORPUS is the one that it
    learned from, a line on standard error says so, and the score is called "training score".

    \b
    Example:
        bigtopic evaluate topics.zarr new-articles.zarr
    """
    from bigtopic.cli import _facts, _show
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model
    from bigtopic.evaluation import measure

    estimator, documents = load_model(model), open_corpus(corpus)
    asked = _loaded(measures)
    if known := any(one.held_out for one in asked) and _facts.learned_from(estimator, model, documents):
        _facts.say(known)
        asked = [_of_training(one) for one in asked]
    with connected(scheduler) as client:
        found = measure(estimator, documents, asked, client, n_threads, **given(settings))
    if as_json:
        _show.to_json(found.to_dict())
    else:
        _show.figures(found.lines())


def _loaded(names: Iterable[str]) -> list[Any]:
    from bigtopic.evaluation import measures

    return [measures.load(name) for name in names]


def _of_training(measure: Any) -> Any:
    """The measure, whose title does not say that documents are unseen."""
    return replace(measure, title=measure.title.replace("held-out", "training"))

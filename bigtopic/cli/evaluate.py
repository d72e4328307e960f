"""`bigtopic evaluate`: score a model on a corpus."""

from __future__ import annotations

from typing import Any

import click

from bigtopic.cli._measures import WithSettings, given
from bigtopic.cli._options import as_json, connected, parallel
from bigtopic.cli._values import PATH


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

    The held-out score is meaningful only for documents that the model was not trained on.

    \b
    Example:
        bigtopic evaluate topics.zarr new-articles.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model
    from bigtopic.evaluation import measure

    estimator, documents = load_model(model), open_corpus(corpus)
    with connected(scheduler) as client:
        found = measure(estimator, documents, measures, client, n_threads, **given(settings))
    if as_json:
        _show.to_json(found.to_dict())
    else:
        _show.figures(found.lines())

"""`bigtopic evaluate`: score a model on a corpus."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from click import command as verb

from bigtopic.cli import _show
from bigtopic.cli._options import WithSettings, as_json, connected, given, parallel, paths
from bigtopic.cli._stores import corpus_at, model_at


@verb("evaluate", cls=WithSettings, short_help="Score a model on a corpus.")
@paths("model", "corpus")
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
    from bigtopic.cli._facts import learned_from
    from bigtopic.evaluation import measure
    from bigtopic.evaluation.measures import load

    estimator, documents = model_at(model), corpus_at(corpus)
    asked = [load(name) for name in measures]
    if known := any(one.held_out for one in asked) and learned_from(estimator, model, documents):
        _show.aside(known)
        asked = [replace(one, title=one.title.replace("held-out", "training")) for one in asked]
    with connected(scheduler, n_threads) as work:
        found = measure(estimator, documents, asked, **work, **given(settings))
    _show.result(found.to_dict(), found.lines(), as_json)

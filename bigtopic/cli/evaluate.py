"""`bigtopic evaluate`: score a model on a corpus, or several models side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from click import UsageError, argument, option
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import PATH, as_json, connected, parallel
from bigtopic.cli.support.settings import WithSettings, given, named
from bigtopic.cli.support.stores import corpus_at, is_checkpoint, is_model, models_at


@verb("evaluate", cls=WithSettings, short_help="Score models on a corpus.")
@argument("model", nargs=-1, type=PATH)
@argument("corpus", required=False, type=PATH)
@option("--reference", metavar="MODEL", help="Model that the others are compared with; default the best one.")
@option(
    "--stability",
    is_flag=True,
    help="Also say how far the topics of the models are apart, as of several seeds.",
)
@as_json
@parallel
def command(
    model: tuple[str, ...],
    corpus: str | None,
    measures: tuple[str, ...],
    reference: str | None,
    stability: bool,
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

    Coherence asks which words occur together in CORPUS, which may be any: held-out documents, or a reference corpus.
    Measures of topics alone (diversity, entropy, exclusivity) and --stability need no CORPUS.

    \b
    Examples:
        bigtopic evaluate topics.zarr new-articles.zarr
        bigtopic evaluate k10.zarr k20.zarr k50.zarr new-articles.zarr --measure log-predictive --inference both
        bigtopic evaluate topics.zarr --measure diversity --measure entropy
        bigtopic evaluate seed0.zarr seed1.zarr seed2.zarr --stability
    """
    from bigtopic import evaluate
    from bigtopic.evaluation.measures import load

    if corpus is not None and (is_model(corpus) or is_checkpoint(corpus)):
        model, corpus = (*model, corpus), None
    if not model:
        raise UsageError("give a model, or several, and then the corpus: bigtopic evaluate MODEL... CORPUS")
    if len(model) == 1 and (reference is not None or stability):
        raise UsageError(f"{'--stability' if stability else '--reference'} needs several models")
    estimators, documents = models_at(model), corpus_at(corpus)
    asked = [load(name) for name in measures]
    if stability and documents is None and named(measures) is None:
        asked = []  # the usual ones need documents
    if documents is not None:
        asked = _titled(asked, estimators, documents)
    with connected(scheduler, n_threads) as work:
        if len(model) == 1:
            found = evaluate.measure(estimators[model[0]], documents, asked, **work, **given(settings))
            terminal.result(found.to_dict(), found.lines(), as_json)
            return
        compared = evaluate.compare(
            estimators, documents, asked, reference=reference, **work, **given(settings)
        )
    more: dict[str, Any] = {}
    if stability:
        apart = evaluate.stability(list(estimators.values()))
        more["stability"] = apart.to_dict() if as_json else apart.text()
    if asked:
        terminal.comparison(compared, as_json, more)
    else:
        terminal.result(more, more, as_json)


def _titled(asked: Sequence[Any], estimators: Mapping[str, Any], documents: Any) -> list[Any]:
    """The measures; if a model learned from these documents, say so, and do not call their scores held-out."""
    from bigtopic.cli.support.facts import learned_from

    known = [learned_from(estimator, path, documents) for path, estimator in estimators.items()]
    if not any(known) or not any(one.held_out for one in asked):
        return list(asked)
    for said in known:
        terminal.aside(said)
    return [replace(one, title=one.title.replace("held-out", "training")) for one in asked]

"""`bigtopic evaluate`: how good a model is on a corpus."""

from __future__ import annotations

from typing import Any

import click

from bigtopic.cli._options import connected, parallel, seed

_MEASURES = ("log-predictive", "npmi", "umass")


@click.command("evaluate", short_help="Score a model on a corpus.")
@click.argument("model")
@click.argument("corpus")
@click.option(
    "--measure",
    "measures",
    type=click.Choice(_MEASURES),
    multiple=True,
    default=("log-predictive", "npmi"),
    show_default=True,
    help="May be given several times.",
)
@click.option(
    "--split", type=click.Choice(["token", "type"]), default="token", show_default=True,
    help="Divide a document's tokens, or its distinct words.",
)  # fmt: skip
@click.option(
    "--ratio", type=float, default=0.5, show_default=True, help="Share of a document that is observed."
)
@click.option(
    "--repeats", type=click.IntRange(1), default=1, show_default=True, help="Random splits of each document."
)
@click.option(
    "--topn",
    type=click.IntRange(2),
    default=10,
    show_default=True,
    help="Words of a topic whose coherence is measured.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")
@seed
@parallel
def command(
    model: str,
    corpus: str,
    measures: tuple[str, ...],
    split: str,
    ratio: float,
    repeats: int,
    topn: int,
    as_json: bool,
    seed: int,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Score MODEL on CORPUS: held-out log probability by document completion, and coherence of its topics.

    The held-out score means something only for documents the model was not trained on.

    \b
    Example:
        bigtopic evaluate topics.zarr new-articles.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model
    from bigtopic.evaluation import coherence, log_predictive

    estimator, documents = load_model(model), open_corpus(corpus)
    results: dict[str, Any] = {}
    with connected(scheduler) as client:
        for measure in dict.fromkeys(measures):
            if measure == "log-predictive":
                results[measure] = log_predictive(
                    estimator, documents, split, ratio, repeats, seed, client, n_threads
                )
            else:
                results[measure] = coherence(estimator, documents, measure, topn, client, n_threads)
    if as_json:
        _show.to_json({measure: _as_dict(result) for measure, result in results.items()})
    else:
        _show.figures(_lines(results))


def _as_dict(result: Any) -> dict[str, Any]:
    from bigtopic.evaluation import Coherence

    if isinstance(result, Coherence):
        per_topic = [None if score != score else score for score in result.per_topic.tolist()]
        return {"value": result.value, "per_topic": per_topic, "omitted": result.omitted, "topn": result.topn}
    names = (
        "value",
        "standard_error",
        "per_document",
        "perplexity",
        "n_tokens",
        "n_docs",
        "unigram",
        "unknown_share",
    )
    return {name: getattr(result, name) for name in names}


def _lines(results: dict[str, Any]) -> dict[str, str]:
    lines = {}
    for measure, result in results.items():
        if measure != "log-predictive":
            omitted = f", {result.omitted:.1%} of the pairs left out" if result.omitted else ""
            lines[measure.upper() if measure == "npmi" else "UMass"] = (
                f"{result.value:.4f}, mean of {len(result.per_topic)} topics{omitted}"
            )
            continue
        lines["held-out score"] = f"{result.value:.4f} ± {result.standard_error:.4f} nats per token"
        lines["perplexity"] = f"{result.perplexity:,.1f}"
        lines["unigram model"] = "" if result.unigram is None else f"{result.unigram:.4f} nats per token"
        lines["held out"] = f"{result.n_tokens:,.0f} tokens of {result.n_docs:,} documents"
        lines["unknown words"] = f"{result.unknown_share:.1%} of the tokens" if result.unknown_share else ""
    return lines

"""`bigtopic infer`: the topics of documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import click

from bigtopic.cli._options import connected, parallel


@click.command("infer", short_help="Write the topics of documents.")
@click.argument("model")
@click.argument("documents")
@click.argument("theta")
@click.option(
    "--min-probability", type=float, default=0.01, show_default=True, help="Smaller entries are left out."
)
@click.option("--top-k", type=int, help="Keep only the largest entries of each document.")
@click.option("--overwrite", is_flag=True, help="Replace THETA if it is there.")
@parallel
def command(
    model: str,
    documents: str,
    theta: str,
    min_probability: float,
    top_k: int | None,
    overwrite: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Write the topics of DOCUMENTS under MODEL to THETA, an AnnData store with one sparse row per document.

    DOCUMENTS is a corpus, or any source that `bigtopic ingest` reads; text is split as the model's own was.

    \b
    Examples:
        bigtopic infer topics.zarr articles.zarr theta.zarr
        bigtopic infer topics.zarr new.txt theta.zarr
    """
    from bigtopic.estimators.persistence import load_model

    estimator = load_model(model)
    with connected(scheduler) as client, _as_corpus(documents, estimator, n_threads) as corpus:
        estimator.set_params(client=client, n_threads=n_threads)
        written = estimator.transform_to(
            corpus, theta, min_probability=min_probability, top_k=top_k, overwrite=overwrite
        )
    click.echo(f"Wrote the topics of {len(corpus):,} documents to {written}")


@contextmanager
def _as_corpus(source: str, estimator: Any, n_threads: int | None) -> Iterator[Any]:
    """The corpus at `source`, or one made of it with the model's words, for as long as it is needed."""
    from bigtopic.cli._stores import is_corpus
    from bigtopic.corpus.store import open_corpus

    if is_corpus(source):
        yield open_corpus(source)
        return
    from bigtopic.corpus.text_settings import TextSettings
    from bigtopic.runtime.ingest import ingest

    text = TextSettings.from_dict(estimator._fitted().text or {})
    settings = {name: value for name, value in vars(text).items() if name not in ("min_doc_length",)}
    with TemporaryDirectory(prefix="bigtopic-infer-") as folder:
        yield ingest(
            source, f"{folder}/corpus.zarr", vocabulary=estimator.vocabulary_, shuffle=False, client=False,
            n_threads=n_threads, **settings,
        )  # fmt: skip

"""`bigtopic info`: the contents of a store."""

from __future__ import annotations

from typing import Any

import click


@click.command("info", short_help="Describe a corpus or a model.")
@click.argument("store")
@click.option("--verify", is_flag=True, help="Read and check every chunk.")
def command(store: str, verify: bool) -> None:
    """Describe the corpus or model at STORE.

    \b
    Example:
        bigtopic info articles.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.cli._stores import is_checkpoint, is_model

    if is_model(store) or is_checkpoint(store):
        _show.figures(_of_model(store))  # reads every array
        if verify:
            click.echo("  every array is as it was written")
        return
    from bigtopic.corpus.store import open_corpus

    corpus = open_corpus(store)
    _show.figures(_of_corpus(corpus))
    if verify:
        corpus.verify()
        click.echo("  every chunk is as it was written")


def _of_corpus(corpus: Any) -> dict[str, str]:
    from bigtopic.corpus.card import byte_size

    n_docs = max(1, len(corpus))
    return {
        "corpus": str(corpus.url),
        "documents": f"{len(corpus):,}",
        "words": f"{corpus.n_words:,}",
        "tokens": f"{corpus.n_tokens:,.0f}, {corpus.n_tokens / n_docs:,.1f} per document",
        "non-zeros": f"{corpus.nnz:,}, {corpus.nnz / n_docs:,.1f} per document",
        "authors": f"{corpus.n_authors:,}" if corpus.authors is not None else "",
        "columns": ", ".join(corpus.columns),
        "parts": f"{len(corpus.parts):,}",
        "size": byte_size(corpus.n_bytes),
        "order": "shuffled" if corpus.shuffled else "as in the source",
        "frequent words": " ".join(str(word) for word in corpus.vocabulary[:12]),
    }


def _of_model(url: str) -> dict[str, str]:
    from bigtopic.estimators.persistence import load_model

    estimator = load_model(url)
    history = estimator.history_
    scores = [row["score"] for row in history if row.get("score") is not None]
    model = estimator._fitted()
    method = model.method
    return {
        "model": url,
        "settings": repr(estimator),
        "method": f"{method.name}: {method.summary}",
        "topics": f"{estimator.n_components:,}",
        "words": f"{len(estimator.vocabulary_):,}",
        "authors": f"{len(model.axes['author']):,}" if "author" in model.axes else "",
        "trained": f"{estimator.n_iter_:,} passes, {estimator.n_batch_iter_:,} updates"
        if estimator.n_batch_iter_
        else "",
        "learnt from": f"{history[-1]['n_tokens']:,.0f} tokens in {history[-1]['seconds']:.1f} s"
        if history
        else "",
        "held-out score": f"{scores[-1]:.4f} nats per token" if scores else "",
    }

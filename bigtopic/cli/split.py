"""`bigtopic split`: the documents of a corpus, divided in two."""

from __future__ import annotations

import click

from bigtopic.cli._options import PATH, as_json, number, parallel, random_state
from bigtopic.cli._stores import store


@click.command("split", short_help="Divide a corpus into documents to train on and to test with.")
@click.argument("corpus", type=PATH)
@click.argument("train", type=PATH)
@click.argument("test", type=PATH)
@click.option(
    "--test-size",
    type=number,
    default=0.1,
    show_default=True,
    help="Share (0.1) or number (100) of the documents to write to TEST.",
)
@click.option("--overwrite", is_flag=True, help="Replace TRAIN and TEST if they exist.")
@as_json
@random_state
@parallel
def command(
    corpus: str,
    train: str,
    test: str,
    test_size: float,
    overwrite: bool,
    as_json: bool,
    random_state: int,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Divide the documents of CORPUS at random between TRAIN and TEST, two other corpora.

    A document's row and the seed say where it goes, not how CORPUS is stored: after an append, the earlier documents
    stay nearly all where they were. To hold out documents while training, `bigtopic train --held-out` needs no copy.

    \b
    Examples:
        bigtopic split articles.zarr train.zarr test.zarr
        bigtopic split articles.zarr train.zarr test.zarr --test-size 1000 --random-state 1
    """
    from bigtopic.corpus.store import open_corpus

    views = open_corpus(corpus).split(test_size, random_state)
    store([train, test], views, overwrite, as_json, scheduler, n_threads)

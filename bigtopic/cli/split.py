"""`bigtopic split`: the documents of a corpus, divided in two."""

from __future__ import annotations

from typing import Any

from click import command as verb
from click import option

from bigtopic.cli.support.parameters import as_json, number, parallel, paths, random_state
from bigtopic.cli.support.stores import corpus_at, store


@verb("split", short_help="Divide a corpus into documents to train on and to test with.")
@paths("corpus", "train", "test")
@option(
    "--test-size",
    type=number,
    default=0.1,
    help="Share (0.1) or number (100) of the documents to write to TEST.",
)
@option("--records", is_flag=True, help="Divide the tokens of each document, not the documents.")
@option("--overwrite", is_flag=True, help="Replace TRAIN and TEST if they exist.")
@as_json
@random_state
@parallel
def command(
    corpus: str,
    train: str,
    test: str,
    test_size: float,
    records: bool,
    overwrite: bool,
    as_json: bool,
    random_state: int,
    **workers: Any,
) -> None:
    """Divide the documents of CORPUS at random between TRAIN and TEST, two other corpora.

    A document's row and the seed say where it goes, not how CORPUS is stored: after an append, the earlier documents
    stay nearly all where they were. To hold out documents while training, `bigtopic train --held-out` needs no copy.

    With --records, TRAIN and TEST have all documents, and each of their tokens is in one of the two: for dual topics,
    and `bigtopic task items`.

    \b
    Examples:
        bigtopic split articles.zarr train.zarr test.zarr
        bigtopic split articles.zarr train.zarr test.zarr --test-size 1000 --random-state 1
        bigtopic split plays.zarr seen.zarr held-out.zarr --records --test-size 0.4
    """
    from bigtopic.evaluate import split_records

    opened = corpus_at(corpus)
    views = (
        split_records(opened, test_size, random_state) if records else opened.split(test_size, random_state)
    )
    store([train, test], views, overwrite, as_json, **workers)

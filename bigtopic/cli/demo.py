"""`bigtopic demo`: topics of text that is already on this machine."""

from __future__ import annotations

import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from bigtopic.cli._options import as_json, random_state
from bigtopic.cli._values import PATH
from bigtopic.wording import printable

_TEST_SHARE = 0.1


@click.command("demo", short_help="Learn topics from text that is already on this machine.")
@click.option(
    "--topics",
    "n_components",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="Number of topics.",
)
@click.option(
    "--passes",
    "max_iter",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Passes over the corpus.",
)
@click.option("--folder", type=PATH, help="Folder of this machine for the corpus; default your cache folder.")
@click.option(
    "--threads", "n_threads", type=click.IntRange(1), help="Number of threads; default all processors."
)
@as_json
@random_state
def command(
    n_components: int,
    max_iter: int,
    folder: str | None,
    n_threads: int | None,
    as_json: bool,
    random_state: int,
) -> None:
    """Learn topics from the documentation of Python and of the packages installed here.

    Nothing is downloaded, imported or run: source files are read as text. The corpus is kept, so later runs are
    faster, and rebuilt when packages change.

    \b
    Example:
        bigtopic demo --topics 60
    """
    from bigtopic.cli import _show
    from bigtopic.cli.support.demo_corpus import PAGE, demo_folder, kept_corpus
    from bigtopic.estimators.lda import LDA
    from bigtopic.report import summarise, write_html

    begun = time.perf_counter()
    kept = demo_folder() if folder is None else Path(_local(folder))
    tell = partial(click.echo, err=True) if as_json else click.echo
    corpus = kept_corpus(kept, lambda text: tell(printable(text)), n_threads)
    train, test = corpus.split(test_size=_TEST_SHARE, random_state=random_state)
    tell(f"Learning {n_components} topics from {len(train):,} documents, {train.n_tokens:,.0f} words ...\n")
    model = LDA(
        n_components,
        max_iter=max_iter,
        validation=test,
        random_state=random_state,
        client=False,
        n_threads=n_threads,
    )
    model.fit(train)
    summary = summarise(model, train, test=test, client=False, n_threads=n_threads)
    figures = _figures(summary, model.history_, time.perf_counter() - begun)
    page = write_html(
        summary,
        kept / PAGE,
        title="What Python’s documentation is about",
        subtitle="Topics of the docstrings of the standard library and of the packages installed on one machine. "
        "Below each topic: the modules that write most about it, and documents that are almost entirely about it.",
        figures={label: figures[label] for label in ("tokens per second", "peak memory") if figures[label]},
        author_noun="modules",
    )
    if as_json:
        _show.to_json({"corpus": corpus.url, "page": str(page), **summary.results.to_dict()})
        return
    _show.table(summary)
    click.echo()
    _show.figures({**figures, "page": Path(page).as_uri(), "corpus": str(corpus.url)})


def _local(folder: str) -> str:
    from bigtopic.storage.place import Place

    place = Place.of(folder)
    if not place.local:
        raise click.UsageError(
            f"--folder {folder}: the demo keeps its corpus in a folder of this machine; give one"
        )
    return place.url


def _figures(summary: Any, history: list[dict[str, Any]], seconds: float) -> dict[str, str]:
    rate = _tokens_per_second(history)
    memory = _peak_memory()
    return {
        **summary.results.lines(),
        "tokens per second": "" if rate is None else f"{rate:,.0f}",
        "peak memory": "" if memory is None else f"{memory / 2**20:,.0f} MiB",
        "time": f"{seconds:.1f} s",
    }


def _tokens_per_second(history: list[dict[str, Any]]) -> float | None:
    """Speed without scoring and without the first pass, in which code is compiled."""
    tokens = seconds = 0.0
    for before, row in pairwise(history):
        if row.get("score") is None:
            tokens += row["n_tokens"] - before["n_tokens"]
            seconds += row["seconds"] - before["seconds"]
    return tokens / seconds if seconds > 0 else None


def _peak_memory() -> float | None:
    """Largest resident size of this process so far, in bytes; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)

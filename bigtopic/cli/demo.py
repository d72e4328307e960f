"""`bigtopic demo`: topics of text that is already on this machine."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from bigtopic.cli.support import parameters, terminal
from bigtopic.cli.support.parameters import COUNT, PATH, as_json
from bigtopic.errors import CorpusExists
from bigtopic.wording import printable

__all__ = ["PAGE", "demo_folder", "kept_corpus"]

_TEST_SHARE = 0.1
PAGE = "topics.html"  # of the demo's folder
_MARKER = ".bigtopic-demo"  # a folder of the demo has it; it holds the key of a complete corpus

# Words that are frequent in docstrings of any subject.
_FURNITURE = """
    return returns returned returning default defaults true false none null optional parameter parameters param params
    value values given use used uses using set sets int str float bool object objects type types example examples
    instance instances note notes new specified provided call calls called following function functions method methods
    class classes argument arguments args kwargs see self two first second passed get
""".split()  # noqa: SIM905
_SETTINGS: dict[str, Any] = {
    "token_pattern": r"(?u)\b[^\W\d_]{3,}\b",  # names_with_underscores are code, not prose
    "min_df": 5,
    "max_df": 0.1,
    "random_state": 0,
}


@click.command("demo", short_help="Learn topics from text that is already on this machine.")
@click.option("--topics", "n_components", type=COUNT, default=30, help="Number of topics.")
@click.option("--passes", "max_iter", type=COUNT, default=20, help="Passes over the corpus.")
@click.option("--folder", type=PATH, help="Folder of this machine for the corpus; default your cache folder.")
@parameters.threads
@as_json
@parameters.random_state
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
    from bigtopic.estimators.lda import LDA
    from bigtopic.report import summarise, write_html
    from bigtopic.storage.place import Place

    begun = time.perf_counter()
    kept = demo_folder()
    if folder is not None:
        if not (place := Place.of(folder)).local:
            raise click.UsageError(
                f"--folder {folder}: the demo keeps its corpus in a folder of this machine; give one"
            )
        kept = Path(place.url)
    tell = partial(click.echo, err=True) if as_json else click.echo
    corpus = kept_corpus(kept, lambda text: tell(printable(text)), n_threads)
    train, test = corpus.split(test_size=_TEST_SHARE, random_state=random_state)
    tell(f"Learning {n_components} topics from {len(train):,} documents, {train.n_tokens:,.0f} words ...\n")
    work: dict[str, Any] = {"client": False, "n_threads": n_threads}
    how: dict[str, Any] = {"method": "online-cvb0", "max_iter": max_iter, "validation": test}
    model = LDA(n_components, **how, random_state=random_state, **work)
    summary = summarise(model.fit(train), train, test=test, **work)
    figures = {
        **summary.results.lines(),
        "tokens per second": _tokens_per_second(model.history_),
        "peak memory": _peak_memory(),
        "time": f"{time.perf_counter() - begun:.1f} s",
    }
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
        terminal.to_json({"corpus": corpus.url, "page": str(page), **summary.results.to_dict()})
        return
    terminal.table(summary)
    click.echo()
    terminal.figures({**figures, "page": Path(page).as_uri(), "corpus": str(corpus.url)})


def _tokens_per_second(history: list[dict[str, Any]]) -> str:
    """Speed without scoring and without the first pass, in which code is compiled."""
    passes = [(before, row) for before, row in pairwise(history) if row.get("score") is None]
    tokens, seconds = (
        sum(row[name] - before[name] for before, row in passes) for name in ("n_tokens", "seconds")
    )
    return f"{tokens / seconds:,.0f}" if seconds > 0 else ""


def _peak_memory() -> str:
    """Largest resident size of this process so far; empty where the system does not say."""
    try:
        import resource
    except ImportError:
        return ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{peak / (2**20 if sys.platform == 'darwin' else 2**10):,.0f} MiB"


def demo_folder() -> Path:
    """The demo's folder in the user's cache."""
    from bigtopic.storage.local import cache_folder

    return cache_folder("demo")


def kept_corpus(folder: Path, tell: Callable[[str], object], n_threads: int | None) -> Any:
    """The corpus in `folder`, rebuilt first unless it matches the installed packages.

    Parameters
    ----------
    tell : function that prints progress, one line at a time

    Raises
    ------
    CorpusExists
        When the folder holds a corpus or a page that the demo did not write.
    """
    from bigtopic.corpus.store import open_corpus
    from bigtopic.corpus.text.stopwords import ENGLISH
    from bigtopic.datasets import docstrings, installed_packages
    from bigtopic.ingestion.ingest import ingest

    marker, store = folder / _MARKER, folder / "corpus.zarr"
    for path in () if marker.exists() or folder == demo_folder() else (store, folder / PAGE):
        if path.exists():
            raise CorpusExists(
                f"{path} exists and was not written by `bigtopic demo`; give --folder another folder"
            )
    packages = installed_packages()
    # Changes whenever the documents or their words would: bigtopic itself is one of the packages.
    described = json.dumps([_SETTINGS, _FURNITURE, packages], sort_keys=True)
    key = hashlib.blake2b(described.encode(), digest_size=16).hexdigest()
    if store.exists() and marker.exists() and marker.read_text() == key:
        corpus = open_corpus(store)
        tell(
            f"Documentation of Python and {len(packages) - 1} packages, from the cache: {len(corpus):,} documents"
        )
        return corpus
    tell(f"Reading the documentation of Python and {len(packages) - 1} installed packages ...")
    folder.mkdir(parents=True, exist_ok=True)
    marker.write_text("")  # the folder is the demo's, and has no corpus until the new one is complete
    stop_words = [*sorted(ENGLISH), *_FURNITURE]
    corpus = ingest(
        docstrings(),
        store,
        stop_words=stop_words,
        overwrite=True,
        client=False,
        n_threads=n_threads,
        **_SETTINGS,
    )
    marker.write_text(key)
    return corpus

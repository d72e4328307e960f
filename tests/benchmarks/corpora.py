"""The corpora of the benchmarks: three real ones from a folder, and the documentation that is on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bigtopic.corpus.store import Corpus
from bigtopic.runtime.ingest import ingest

DEMO_PACKAGES = ["numpy", "scipy", "numba", "dask", "distributed", "zarr"]
TEXT = {"stop_words": "english", "min_df": 3, "max_df": 0.5}


def load(name: str, data: Path, folder: Path) -> Corpus:
    """A corpus by name ("ap", "bbc", "dblp" below `data`; "demo"), ingested once into `folder`."""
    store = folder / f"{name}.zarr"
    if not store.exists():
        _MAKERS[name](data / name, store)
    from bigtopic.corpus.store import open_corpus

    return open_corpus(store)


def _ap(source: Path, store: Path) -> None:
    files = [source / "ap_train.txt", source / "ap_infer.txt"]
    ingest(files, store, vocabulary=source / "vocab.txt", format="lda_c")


def _titles(source: Path, store: Path) -> None:
    ingest(_first_column(source / "corpus.tsv"), store, min_df=2)


def _first_column(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield line.split("\t", 1)[0]


def _demo(source: Path, store: Path) -> None:
    import sys

    from bigtopic.datasets import docstrings

    standard = sorted(set(sys.stdlib_module_names))
    known = []
    for name in [*standard, *DEMO_PACKAGES]:
        try:
            next(iter(docstrings([name])), None)
        except Exception:  # a module without source text
            continue
        known.append(name)
    ingest(docstrings(known), store, **TEXT)


_MAKERS = {"ap": _ap, "bbc": _titles, "dblp": _titles, "demo": _demo}

"""The corpora of the benchmarks: three real ones from a folder, and the documentation that is on every machine, whole
and its first lines."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.ingestion.ingest import ingest

DEMO_PACKAGES = ["numpy", "scipy", "numba", "dask", "distributed", "zarr"]
TEXT = {"stop_words": "english", "min_df": 3, "max_df": 0.5}
HELD_OUT = {"ap": 450, "bbc": 600, "dblp": 10_000, "demo": 2000, "lines": 2000}


def add_options(parser: argparse.ArgumentParser, default: str) -> None:
    """The options --data, --corpora and --folder."""
    parser.add_argument("--data", type=Path, help="folder with ap/, bbc/ and dblp/; demo and lines need none")
    parser.add_argument("--corpora", default=default)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")


def load(name: str, data: Path | None, folder: Path) -> Corpus:
    """A corpus by name ("ap", "bbc", "dblp" below `data`; "demo", "lines"), ingested once into `folder`."""
    if name not in _MAKERS:
        raise SystemExit(f"no corpus {name!r}; there are {', '.join(_MAKERS)}")
    store = folder / f"{name}.zarr"
    if not store.exists():
        if name not in ("demo", "lines") and not (data and (data / name).is_dir()):
            raise SystemExit(
                f"--data: give the folder that has {name}/ in it, or leave {name} out of --corpora"
            )
        folder.mkdir(parents=True, exist_ok=True)
        _MAKERS[name](data and data / name, store)
    return open_corpus(store)


def split(name: str, corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """Documents to learn from, and those held out: the numbers of `HELD_OUT`."""
    return corpus.split(test_size=HELD_OUT[name], random_state=seed)


def _ap(source: Path, store: Path) -> None:
    files = [source / "ap_train.txt", source / "ap_infer.txt"]
    ingest(files, store, vocabulary=source / "vocab.txt", format="lda_c")


def _titles(source: Path, store: Path) -> None:
    ingest(_records(source / "corpus.tsv"), store, min_df=2, stop_words=None, max_df=1.0)


def _records(path: Path) -> Iterator[dict[str, str]]:
    """Text and, as its author, the class it belongs to."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            text, _, label = line.rstrip("\n").split("\t")
            yield {"text": text, "authors": label}


def _demo(source: Path | None, store: Path) -> None:
    ingest(_documentation(), store, **TEXT)


def _lines(source: Path | None, store: Path) -> None:
    """The first lines of the same documents: short descriptions."""
    records = ({**record, "text": record["text"].strip().split("\n")[0]} for record in _documentation())
    ingest(records, store, **TEXT)


def _documentation() -> Iterator[dict]:
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
    return docstrings(known)


_MAKERS = {"ap": _ap, "bbc": _titles, "dblp": _titles, "demo": _demo, "lines": _lines}

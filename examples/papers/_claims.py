"""What the scripts of this folder share: data, tables, figures, and the verdict on a claim.

A claim is judged by paired differences, one for each seed (the same documents, the same split), in the direction that
the paper expects. Only their mean and its standard error decide:

    held        mean - 2 standard errors > 0
    did not     mean + 2 standard errors < 0
    undecided   otherwise, or with fewer than five seeds

A claim of equality gives a margin: held if |mean| + 2 standard errors are below it, did not if |mean| - 2 are above it.

A paper that measures each method by its own inference is judged so; the differences by the inference that all models
share stand beside them, and decide nothing.
"""

from __future__ import annotations

import argparse
import csv
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bigtopic as bt

SEEDS = 5
HELD, DID_NOT, UNDECIDED = "held", "did not", "undecided"
PACKAGES = ["asyncio", "email", "http", "logging", "multiprocessing", "unittest", "xml"]
LIBRARIES = ["dask", "distributed", "numba", "numpy", "scipy", "zarr"]  # that bigtopic requires
WITHOUT_DOCUMENTS = {"idlelib", "lib2to3", "test", "turtledemo"}  # which `datasets.docstrings` leaves out
TEXT: dict[str, Any] = {
    "stop_words": "english",
    "min_df": 5,
    "max_df": 0.2,
    "overwrite": True,
    "progress": False,
}
LEAST_TOKENS = 20  # of a document of the larger demo
Row = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and what was measured.

    where : figure, table or section of the paper
    text : what the paper says
    differences : one for each seed, positive where the paper is right; with a margin, either way from equality
    unit : of the differences
    margin : for a claim of equality, the largest difference that counts as equal
    common : the same by the inference that all models share, if the claim is judged by the methods' own
    """

    where: str
    text: str
    differences: Sequence[float]
    unit: str
    margin: float | None = None
    common: Sequence[float] | None = None

    def row(self) -> Row:
        """A line of the table of claims."""
        return {
            "where": self.where,
            "claim": self.text,
            "difference": f"{_shown(self.differences)} {self.unit}",
            "by common inference": "" if self.common is None else _shown(self.common),
            "seeds": len(self.differences),
            "verdict": verdict(self.differences, self.margin),
        }


def _shown(differences: Sequence[float]) -> str:
    mean, error = mean_and_error(differences)
    return f"{mean:+.4f} ± {error:.4f}"


def mean_and_error(differences: Sequence[float]) -> tuple[float, float]:
    """The mean, and its standard error: nan for one alone."""
    values = np.asarray(differences, dtype=np.float64)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def verdict(differences: Sequence[float], margin: float | None = None) -> str:
    """See the module: "held", "did not" or "undecided"."""
    mean, error = mean_and_error(differences)
    if len(differences) < SEEDS or not np.isfinite([mean, error]).all():
        return UNDECIDED
    distance = mean if margin is None else margin - abs(mean)
    return HELD if distance > 2 * error else DID_NOT if distance < -2 * error else UNDECIDED


def arguments(doc: str | None, data: str = "demo") -> argparse.Namespace:
    """The options that all scripts have: data, out, seeds, full, toy."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        default=data,
        help="fetched, demo (docstrings of this machine), synthetic, or a path: of a corpus, or of texts that "
        "bigtopic.ingest reads, such as a folder, a TSV or a CSV; default %(default)s",
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of tables and figures")
    parser.add_argument("--seeds", type=int, help=f"default {SEEDS}; fewer decide nothing")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="the paper's sizes; prints its time first")
    size.add_argument(
        "--toy", action="store_true", help="seconds, to see that it runs; no verdict means anything"
    )
    given = parser.parse_args()
    given.seeds = given.seeds or (2 if given.toy else SEEDS)
    given.out.mkdir(parents=True, exist_ok=True)
    return given


def corpus_of(
    given: argparse.Namespace, fetched: str, drawn: Callable[[], bt.Corpus], large: bool = False
) -> bt.Corpus:
    """The corpus that `--data` names.

    fetched : name of the data set, for `datasets.fetch`
    drawn : makes the synthetic corpus
    large : whether demo has thousands of documents, or hundreds
    """
    if given.data == "fetched":
        return bt.datasets.fetch(fetched)
    if given.data == "synthetic" or (given.toy and given.data == "demo"):
        return drawn()
    if given.data == "demo":
        return docstrings(given.out, large)
    try:
        return bt.open_corpus(given.data)
    except bt.errors.CorpusVersionError:  # not a corpus, but perhaps texts
        return bt.ingest(given.data, given.out / "data.zarr", **TEXT)


def docstrings(out: Path, large: bool = True) -> bt.Corpus:
    """Docstrings of this machine: of a few modules of Python, or longer ones of all modules that `modules` names."""
    records = bt.datasets.docstrings(modules() if large else PACKAGES)
    own = {"min_doc_length": LEAST_TOKENS} if large else {}
    return bt.ingest(records, out / "demo.zarr", **TEXT, **own)


def modules() -> list[str]:
    """Names of all modules of Python that have source text, and of the libraries that bigtopic requires."""
    there = {path.stem for path in Path(sysconfig.get_path("stdlib")).iterdir()}
    return sorted(there & sys.stdlib_module_names - WITHOUT_DOCUMENTS) + LIBRARIES


def drawn(n_docs: int, n_words: int, n_topics: int, length: int) -> bt.Corpus:
    """Documents of a known LDA, with the word frequencies of text."""
    truth = bt.datasets.KnownLDA(n_words, n_topics, mean_length=length, zipf_exponent=1.0)
    return bt.from_matrix(truth.documents(n_docs).counts, shuffle=False)


def announce(given: argparse.Namespace, corpus: bt.Corpus, probe: Callable[[], Any], n_probes: float) -> None:
    """Print the data, and how long the script will take: a probe is timed, compiled before, unless it is a toy."""
    print(
        f"{given.data}: {corpus.n_docs:,} documents, {corpus.n_words:,} words, {corpus.n_tokens:,.0f} tokens"
    )
    if not given.toy:
        probe()
        begun = time.perf_counter()
        probe()
        minutes = (time.perf_counter() - begun) * n_probes / 60
        print(f"about {max(minutes, 1):.0f} minutes on this machine as it is now", flush=True)


def write(folder: Path, name: str, rows: Iterable[Row]) -> None:
    """Write a table as CSV and Markdown, and print it."""
    rows = list(rows)
    heads = list(rows[0])
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, heads)
        writer.writeheader()
        writer.writerows(rows)
    text = markdown(rows)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"\n{name}\n\n{text}", flush=True)


def markdown(rows: Sequence[Row]) -> str:
    """A table; numbers have four figures."""
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(cell(row[head]) for head in heads) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value).replace("|", "\\|")


def report(folder: Path, claims: Sequence[Claim]) -> None:
    """Write and print the table of claims; differences by the common inference only where there are some."""
    rows = [claim.row() for claim in claims]
    if not any(row["by common inference"] for row in rows):
        rows = [{name: cell for name, cell in row.items() if name != "by common inference"} for row in rows]
    write(folder, "claims", rows)


def figure(
    folder: Path,
    name: str,
    panels: dict[str, dict[str, tuple[Any, Any]]],
    labels: tuple[str, str],
) -> None:
    """Draw curves into NAME.png, one panel beside the other, if matplotlib is installed.

    panels : {title: {curve: (x, y)}}
    labels : of the axes
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        print(f"no {name}.png: pip install 'bigtopic[plots]'", file=sys.stderr)
        return
    picture = Figure(figsize=(4 * len(panels), 3.2), layout="constrained")
    FigureCanvasAgg(picture)
    for axes, (title, curves) in zip(
        picture.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        for curve, (x, y) in curves.items():
            axes.plot(x, y, ".-", label=curve)
        axes.set(title=title, xlabel=labels[0], ylabel=labels[1])
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    picture.savefig(folder / f"{name}.png", dpi=120)

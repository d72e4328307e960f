"""Learned priors of author-topic models: held-out perplexity given the authors, next to that of the priors given.

Every document is held out once, in one of several folds, each with a start of its own. The standard error is that of
the paired difference, over documents; "sum of alpha" and "of eta" show a prior that has run away. Three corpora:
descriptions of the installed packages by their authors, docstrings by module, and documents that are drawn from a known
model, with topics that share many words.

    python -m tests.benchmarks author_priors
    python -m tests.benchmarks author_priors --begin 0 --shrinkage 0 --methods online-author-vb
"""

from __future__ import annotations

import argparse
import re
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import results

from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.datasets import KnownAuthors, docstrings
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.ingestion.ingest import ingest
from bigtopic.methods import Method, get
from bigtopic.methods.settings import learning

HEAD = ("corpus", "method", "learned", "shape", "perplexity", "difference in %", "standard error", "sum of alpha",
        "sum of eta")  # fmt: skip
LEARNED = {"alpha": ("author_topic_prior",), "eta": ("topic_word_prior",)}
LEARNED["both"] = LEARNED["alpha"] + LEARNED["eta"]
MODULES = ["asyncio", "collections", "concurrent", "ctypes", "curses", "email", "http", "importlib", "json", "logging",
           "multiprocessing", "sqlite3", "tkinter", "unittest", "urllib", "wsgiref", "xml"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--methods", default="online-author-vb,author-vb")
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--passes", type=int, help="default: the method's")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--begin", type=float, help="of every learned prior; default: the scheme's")
    parser.add_argument("--shrinkage", type=float, help="of asymmetric eta; default: the scheme's")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[tuple[str, ...]] = [HEAD]
    figures = []
    for name in given.corpora.split(","):
        if name not in CORPORA:
            raise SystemExit(f"--corpora: no {name!r}; there are {', '.join(CORPORA)}")
        folds = [*split(CORPORA[name](given.folder), given.folds)]
        for method in given.methods.split(","):
            for found in compare(folds, method, given):
                figures.append({"corpus": name, "method": method, **found})
                rows.append((name, method, *cells(found)))
                print(" | ".join(rows[-1]), flush=True)
    caption = f"{given.topics} topics, {given.folds} folds; sums are means over the folds"
    results.report(given, "author-priors", caption, rows, figures)


def split(corpus: Corpus, n_folds: int) -> Iterator[tuple[Corpus, Corpus]]:
    """Documents to learn from, and those held out whose authors all have others."""
    fold_of = np.random.default_rng(0).permutation(corpus.n_docs) % n_folds
    rows, authors = zip(*((doc.row, set(doc.authors)) for doc in corpus), strict=True)
    for fold in range(n_folds):
        known = set().union(*(who for who, other in zip(authors, fold_of, strict=True) if other != fold))
        held_out = [
            r for r, who, own in zip(rows, authors, fold_of, strict=True) if own == fold and who <= known
        ]
        yield (
            corpus.select(rows=[row for row, other in zip(rows, fold_of, strict=True) if other != fold]),
            corpus.select(rows=held_out),
        )


def compare(
    folds: list[tuple[Corpus, Corpus]], name: str, given: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Without learned priors, and with each of them in both shapes."""
    tokens = np.concatenate([counts(test) for _, test in folds])
    unlearned, sums = held_out(folds, get(name), given)
    yield found("nothing", "", unlearned, unlearned, tokens, sums)
    for learned, priors in LEARNED.items():
        for shape in ("symmetric", "asymmetric"):
            method = with_settings(learning(get(name), **dict.fromkeys(priors, shape)), given)
            scores, sums = held_out(folds, method, given)
            yield found(learned, shape, scores, unlearned, tokens, sums)


def with_settings(method: Method, given: argparse.Namespace) -> Method:
    """This method with the begin and the shrinkage of the command line."""
    schemes = {}
    for array, scheme in method.prior_schemes.items():
        changes = {name: getattr(given, name) for name in ("begin", "shrinkage") if hasattr(scheme, name)}
        schemes[array] = replace(scheme, **{k: v for k, v in changes.items() if v is not None})  # type: ignore[type-var]
    return replace(method, prior_schemes=schemes)


def held_out(
    folds: list[tuple[Corpus, Corpus]], method: Method, given: argparse.Namespace
) -> tuple[np.ndarray, np.ndarray]:
    """Log likelihood of every held-out document, in nats, and the mean sums of alpha and eta."""
    scores, sums = [], []
    same = {"client": False, "n_threads": 1, "progress": False, "max_iter": given.passes}
    for seed, (train, test) in enumerate(folds):
        model = AuthorTopicModel(given.topics, method=method, random_state=seed, **same).fit(train)
        scores.append(model.log_likelihood(test))
        eta = np.broadcast_to(model.topic_word_prior_, model.n_features_in_)
        sums.append((model.author_topic_prior_.sum(), eta.sum()))
    return np.concatenate(scores), np.mean(sums, axis=0)


def counts(corpus: Corpus) -> np.ndarray:
    """Tokens of each document, (n_docs,)."""
    return np.asarray(corpus.to_scipy("source").sum(axis=1), dtype=float).ravel()


def found(
    learned: str, shape: str, scores: np.ndarray, unlearned: np.ndarray, tokens: np.ndarray, sums: np.ndarray
) -> dict[str, Any]:
    """The figures of one row; differences in nats per token, which is to say relative ones of perplexity."""
    worse = unlearned - scores
    rate = worse.sum() / tokens.sum()
    error = np.sqrt(np.square(worse - rate * tokens).sum()) / tokens.sum()
    alpha, eta = map(float, sums)
    return {"learned": learned, "shape": shape, "perplexity": float(np.exp(-scores.sum() / tokens.sum())),
            "difference": float(rate), "standard error": float(error), "alpha": alpha, "eta": eta}  # fmt: skip


def cells(figures: dict[str, Any]) -> list[str]:
    """What a row says."""
    rate, error = (f"{100 * figures[name]:+.2f}" for name in ("difference", "standard error"))
    first = [figures["learned"], figures["shape"], f"{figures['perplexity']:,.1f}"]
    sums = [f"{figures['alpha']:.1f}", f"{figures['eta']:,.0f}"]
    return [*first, *(("", "") if figures["learned"] == "nothing" else (rate, error.lstrip("+"))), *sums]


# ---------------------------------------------------------------- corpora


def stored(name: str, records: Iterator[dict[str, Any]], folder: Path) -> Corpus:
    """Ingested once into `folder`."""
    store = folder / f"{name}.zarr"
    if not store.exists():
        folder.mkdir(parents=True, exist_ok=True)
        ingest(records, store, **corpora.TEXT)
    return open_corpus(store)


def packages(folder: Path) -> Corpus:
    """Descriptions of the installed packages, by their authors and maintainers."""
    return stored("packages", filter(None, map(description, sorted(distributions(), key=named))), folder)


def named(distribution: Distribution) -> str:
    return str(distribution.metadata["Name"])


def description(distribution: Distribution) -> dict[str, Any] | None:
    """The record of a package, if its metadata have authors and a text."""
    fields = distribution.metadata
    people = [who for role in ("Author", "Maintainer") for who in fields.get_all(role, [])]
    people += [who for role in ("Author-email", "Maintainer-email") for who in fields.get_all(role, [])]
    names = re.sub(r"<.*?>", "", ",".join(people)).split(",")
    authors = sorted({one.strip().strip('"') for one in names if one.strip() and "@" not in one})
    text = fields.get("Description") or fields.get_payload()
    return (
        {"id": named(distribution), "text": str(text), "authors": authors[:6]} if authors and text else None
    )


def modules(folder: Path) -> Corpus:
    """Docstrings of the standard library, by module."""
    return stored("modules", docstrings(MODULES), folder)


def drawn(folder: Path) -> Corpus:
    """Few documents of many words, by two authors each."""
    return KnownAuthors(1000, 100, 10, 2).corpus(200)


CORPORA = {"packages": packages, "modules": modules, "drawn": drawn}


if __name__ == "__main__":
    main()

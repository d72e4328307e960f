"""Mortensen, "The author-topic model" (2017), rerun: table 4.1 and figures 4.1 to 4.10 as far as they are of the model.

    python examples/papers/thesis.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

The measure is the thesis's: the variational bound of the training documents, in nats a token, by `evaluate.bound` for
every method alike. Documents with 1, 2, 4 and 8 authors are drawn from a known author-topic model; `--data` is for
the figures on offline and online learning and on learned priors. In demo, an author is each name of the dotted path to
a docstring, such as `email`, `message`.

Table 4.2, vectorised code against loops in Python, has no counterpart here: all loops are compiled.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bigtopic as bt

sys.path.insert(0, str(Path(__file__).parent))

from _claims import PACKAGES, Claim, Row, announce, arguments, corpus_of, figure, report, write

QUIET: dict[str, Any] = {"client": False, "progress": False, "tol": 0.0}
UNIT = "nats a token"
BLOCKING, STANDARD = "author-vb", "author-mean-field"
ALPHA, ETA = "learn_author_topic_prior", "learn_topic_word_prior"
LEARNED = {"neither": ()} | {"alpha": (ALPHA,), "eta": (ETA,), "both": (ALPHA, ETA)}


@dataclass(frozen=True)
class Size:
    """Documents, words and authors that are drawn; topics; passes; authors of a document."""

    n_docs: int = 1000
    n_words: int = 1000
    n_authors: int = 300
    K: int = 10
    passes: int = 50
    authors: tuple[int, ...] = (1, 2, 4, 8)

    def drawn(self, authors_per_doc: int, seed: int, factor: int = 1) -> bt.Corpus:
        truth = bt.datasets.KnownAuthors(
            self.n_words, self.n_authors, self.K, authors_per_doc, mean_length=60, random_state=seed
        )
        return truth.corpus(self.n_docs * factor)


TOY = Size(40, 50, 12, 3, 5, (2, 4))
FULL = Size(10_000, 5000, 3000, 10, 100)


def curve(corpus: bt.Corpus, size: Size, method: str, seed: int, **how: Any) -> tuple[np.ndarray, float]:
    """The bound after each of `looks`, and seconds of learning without them."""
    bounds, paused = [], 0.0

    def look(event: Any) -> None:
        nonlocal paused
        if event.kind == "pass" and len(model.history_) in looks(size):
            begun = time.perf_counter()
            bounds.append(bt.evaluate.bound(model, corpus, client=False).value)
            paused += time.perf_counter() - begun

    settings = {**QUIET, "max_iter": size.passes, "random_state": seed, "callbacks": [look], **how}
    model = bt.AuthorTopicModel(size.K, method=method, **settings)
    begun = time.perf_counter()
    model.fit(corpus)
    return np.array(bounds), time.perf_counter() - begun - paused


def looks(size: Size) -> list[int]:
    """Passes after which the bound is taken."""
    return sorted({n for n in (1, 2, 5, 10, 20, 50) if n < size.passes} | {size.passes})


def blocking(size: Size, seeds: range, out: Path) -> list[Claim]:
    """Table 4.1, figures 4.1 and 4.2: author and topic of a token together, or apart."""
    claims, rows, panels = [], [], {}
    for n in size.authors:
        found: dict[str, list[Any]] = {BLOCKING: [], STANDARD: []}
        for seed in seeds:
            corpus = size.drawn(n, seed)
            for method, runs in found.items():
                runs.append(curve(corpus, size, method, seed))
        curves = {method: np.array([run[0] for run in runs]) for method, runs in found.items()}
        seconds = {method: np.array([run[1] for run in runs]) for method, runs in found.items()}
        row: Row = {"authors a document": n}
        rows.append(
            row
            | {f"{method}, bound": bounds[:, -1].mean() for method, bounds in curves.items()}
            | {f"{method}, seconds": own.mean() for method, own in seconds.items()}
        )
        panels[f"{n} authors"] = {method: (looks(size), own.mean(axis=0)) for method, own in curves.items()}
        where, gain = f"Table 4.1, {n} authors", (curves[BLOCKING] - curves[STANDARD])[:, -1]
        if n <= 2:
            claims.append(Claim(where, "blocking and standard VB do not differ (0.05)", gain, UNIT, 0.05))
        claims += [
            Claim(where, "blocking VB has the higher bound", gain, UNIT),
            Claim(where, "blocking VB is slower (text)", np.log(seconds[BLOCKING] / seconds[STANDARD]), "log ratio"),
        ]  # fmt: skip
    write(out, "table-4-1", rows)
    figure(out, "figure-4-1", panels, ("passes", "bound, nats a token"))
    return claims


def online(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """Figures 4.3 and 4.4: batch and online."""
    # Ten updates or more in a pass, as in the thesis's figures.
    batch = {"batch_size": max(1, corpus.n_docs // 16)}
    methods: dict[str, dict[str, Any]] = {
        BLOCKING: {},
        "online-author-vb": batch,
        "online-author-vb-local": batch,
    }
    curves = {
        method: np.array([curve(corpus, size, method, seed, **how)[0] for seed in seeds])
        for method, how in methods.items()
    }
    write(out, "figure-4-3", [
        {"passes": n} | {method: bounds[:, at].mean() for method, bounds in curves.items()}
        for at, n in enumerate(looks(size))
    ])  # fmt: skip
    panels = {"bound": {method: (looks(size), bounds.mean(axis=0)) for method, bounds in curves.items()}}
    figure(out, "figure-4-3", panels, ("passes", "bound, nats a token"))
    early = looks(size).index(min(5, size.passes))
    lead = curves["online-author-vb"] - curves[BLOCKING]
    local = (curves["online-author-vb-local"] - curves["online-author-vb"])[:, early]
    return [
        Claim("Figure 4.3, pass 5", "online learning is ahead of batch learning", lead[:, early], UNIT),
        Claim("Figure 4.3, last pass", "(ours) batch learning has caught up", -lead[:, -1], UNIT),
        Claim("Figure 4.4, pass 5", "inner iterations gain a little for each pass", local, UNIT),
    ]


def priors(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """Figure 4.5: learned priors, one number for each topic or word, or one for all."""
    last = {
        (kind, learned): np.array(
            [curve(corpus, size, BLOCKING, seed, **dict.fromkeys(names, kind))[0][-1] for seed in seeds]
        )
        for kind in ("asymmetric", "symmetric")
        for learned, names in LEARNED.items()
        if names or kind == "asymmetric"
    }
    base = last.pop(("asymmetric", "neither"))
    write(out, "figure-4-5", [
        {"learned": "neither", "prior": "", "bound": base.mean()},
        *({"learned": learned, "prior": kind, "bound": own.mean()} for (kind, learned), own in last.items()),
    ])  # fmt: skip
    gain = {of: bounds - base for of, bounds in last.items()}
    claims = []
    for kind in ("asymmetric", "symmetric"):
        texts = {name: f"learning {name} raises the bound ({kind})" for name in ("alpha", "eta", "both")}
        claims += [Claim("Figure 4.5", text, gain[kind, name], UNIT) for name, text in texts.items()]
        more = gain[kind, "eta"] - gain[kind, "alpha"]
        claims.append(Claim("Figure 4.5", f"eta helps more than alpha ({kind})", more, UNIT))
    return claims


def times(size: Size, seeds: range, out: Path) -> list[Claim]:
    """Figure 4.6: seconds by documents."""
    factors = (1, 4)
    seconds = np.empty((len(factors), len(seeds)))
    for column, seed in enumerate(seeds):
        for row, factor in enumerate(factors):
            corpus = size.drawn(2, seed, factor)
            model = bt.AuthorTopicModel(
                size.K, method=BLOCKING, max_iter=size.passes, random_state=seed, **QUIET
            )
            begun = time.perf_counter()
            model.fit(corpus)
            seconds[row, column] = time.perf_counter() - begun
    rows = zip(factors, seconds.mean(axis=1), strict=True)
    write(out, "figure-4-6", [{"documents": n * size.n_docs, "seconds": own} for n, own in rows])
    ratio = np.log(seconds[1] / seconds[0] / (factors[1] / factors[0]))
    text = "four times the documents need four times as long (factor below 1.5)"
    return [Claim("Figure 4.6", text, ratio, "log ratio", math.log(1.5))]


def demo() -> bt.Corpus:
    """Docstrings; authors are the names of the path to them."""
    records = (
        {**record, "authors": sorted(set(record["id"].split(".")[:2]))} for record in bt.datasets.docstrings(PACKAGES)
    )  # fmt: skip
    return bt.ingest(
        records, "memory://thesis.zarr", stop_words="english", min_df=5, overwrite=True, progress=False
    )


def main() -> None:
    given = arguments(__doc__, data="synthetic")
    size = TOY if given.toy else FULL if given.full else Size()
    seeds = range(given.seeds)
    corpus = demo() if given.data == "demo" else corpus_of(given, "nips-authors", lambda: size.drawn(4, 0))
    probe = Size(size.n_docs, size.n_words, size.n_authors, size.K, 5)
    drawn = size.drawn(4, 0)
    n_runs = given.seeds * (2 * len(size.authors) + 5 + 10 * corpus.n_tokens / drawn.n_tokens)
    announce(given, corpus, lambda: curve(drawn, probe, BLOCKING, 0), n_runs * size.passes / 5)
    claims = blocking(size, seeds, given.out)
    claims += online(corpus, size, seeds, given.out)
    claims += priors(corpus, size, seeds, given.out)
    claims += times(size, seeds, given.out)
    report(given.out, claims)


if __name__ == "__main__":
    main()

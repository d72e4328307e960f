"""Mortensen, "The author-topic model" (2017), rerun: table 4.1 and figures 4.1 to 4.10.

    python examples/papers/thesis.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

The measure is the thesis's: the variational bound of the training documents, in nats a token, by `evaluate.bound` for
every method alike. Documents with 1, 2, 4 and 8 authors are drawn from a known author-topic model; `--data` is for
the figures on offline and online learning and on learned priors. In demo, an author is each name of the dotted path to
a docstring, such as `email`, `message`. Seconds are of one processor. A seed draws other documents; on `--data`, it is
another start.

Tables 4.2 and 4.3, vectorised code against loops in Python, have no counterpart here: all loops are compiled.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import bigtopic as bt

sys.path.insert(0, str(Path(__file__).parent))

from _claims import (
    LEAST_TOKENS,
    TEXT,
    Claim,
    Row,
    announce,
    arguments,
    corpus_of,
    figure,
    modules,
    report,
    write,
)

QUIET: dict[str, Any] = {"client": False, "n_threads": 1, "progress": False, "tol": 0.0}
UNIT = "nats a token"
BLOCKING, STANDARD = "author-vb", "author-mean-field"
ALPHA, ETA = "learn_author_topic_prior", "learn_topic_word_prior"
LEARNED = {"neither": ()} | {"alpha": (ALPHA,), "eta": (ETA,), "both": (ALPHA, ETA)}
FACTORS = (1, 4, 7)  # of the sizes of figures 4.6 to 4.10; the middle one is the mean of the others


@dataclass(frozen=True)
class Size:
    """Documents, words and authors that are drawn, and tokens of a document; topics; passes; authors of a document."""

    n_docs: int = 1000
    n_words: int = 1000
    n_authors: int = 300
    length: int = 60
    K: int = 10
    passes: int = 100
    authors: tuple[int, ...] = (1, 2, 4, 8)

    def drawn(self, authors_per_doc: int, seed: int) -> bt.Corpus:
        truth = bt.datasets.KnownAuthors(
            self.n_words, self.n_authors, self.K, authors_per_doc, mean_length=self.length, random_state=seed
        )
        return truth.corpus(self.n_docs)


TOY = Size(40, 50, 20, 20, 3, 5, (2, 4))
FULL = Size(10_000, 5000, 3000)


def curve(corpus: bt.Corpus, size: Size, method: str, seed: int, **how: Any) -> tuple[np.ndarray, float]:
    """The bound after each of `looks`, and seconds of learning without them."""
    bounds, paused = [], 0.0

    def look(event: Any) -> None:
        nonlocal paused
        if event.kind == "pass" and len(model.history_) in looks(size):
            begun = time.process_time()
            bounds.append(bt.evaluate.bound(model, corpus, client=False).value)
            paused += time.process_time() - begun

    settings = {**QUIET, "max_iter": size.passes, "random_state": seed, "callbacks": [look], **how}
    model = bt.AuthorTopicModel(size.K, method=method, **settings)
    begun = time.process_time()
    model.fit(corpus)
    return np.array(bounds), time.process_time() - begun - paused


def looks(size: Size) -> list[int]:
    """Passes after which the bound is taken."""
    return sorted({n for n in (1, 2, 5, 10, 20, 50) if n < size.passes} | {size.passes})


def blocking(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """Table 4.1, figures 4.1 and 4.2: author and topic of a token together, or apart; drawn documents, and the data."""
    claims, rows, panels = [], [], {}
    for n in (*size.authors, None):
        found: dict[str, list[Any]] = {BLOCKING: [], STANDARD: []}
        for seed in seeds:
            documents = corpus if n is None else size.drawn(n, seed)
            for method, runs in found.items():
                runs.append(curve(documents, size, method, seed))
        curves = {method: np.array([run[0] for run in runs]) for method, runs in found.items()}
        seconds = {method: np.array([run[1] for run in runs]) for method, runs in found.items()}
        row: Row = {"authors a document": "data" if n is None else n}
        rows.append(
            row
            | {f"{method}, bound": bounds[:, -1].mean() for method, bounds in curves.items()}
            | {f"{method}, seconds": own.mean() for method, own in seconds.items()}
        )
        where = "Figure 4.1, data" if n is None else f"Table 4.1, {n} authors"
        panels[where] = {method: (looks(size), own.mean(axis=0)) for method, own in curves.items()}
        gain = (curves[BLOCKING] - curves[STANDARD])[:, -1]
        if n is None:
            claims.append(Claim(where, "blocking and standard VB do not differ (0.05)", gain, UNIT, 0.05))
        elif n == 1:
            claims.append(
                Claim(where, "(ours) blocking and standard VB are the same (0.05)", gain, UNIT, 0.05)
            )
        else:
            claims.append(Claim(where, "blocking VB has the higher bound", gain, UNIT))
        slower = np.log(seconds[BLOCKING] / seconds[STANDARD])
        claims.append(Claim(where, "blocking VB is slower (text)", slower, "log ratio"))
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
    found = {
        method: [curve(corpus, size, method, seed, **how) for seed in seeds]
        for method, how in methods.items()
    }
    curves = {method: np.array([bounds for bounds, _ in runs]) for method, runs in found.items()}
    seconds = {method: np.array([own for _, own in runs]) for method, runs in found.items()}
    write(out, "figure-4-3", [
        {"passes": n} | {method: bounds[:, at].mean() for method, bounds in curves.items()}
        for at, n in enumerate(looks(size))
    ])  # fmt: skip
    panels = {"bound": {method: (looks(size), bounds.mean(axis=0)) for method, bounds in curves.items()}}
    write(out, "figure-4-4", [{"method": method, "seconds": own.mean()} for method, own in seconds.items()])
    figure(out, "figure-4-3", panels, ("passes", "bound, nats a token"))
    early = looks(size).index(min(5, size.passes))
    lead = curves["online-author-vb"] - curves[BLOCKING]
    local, plain = "online-author-vb-local", "online-author-vb"
    gained = (curves[local] - curves[plain])[:, early]
    return [
        Claim("Figure 4.3, pass 5", "online learning is ahead of batch learning", lead[:, early], UNIT),
        Claim("Figure 4.3, last pass", "(ours) batch learning has caught up", -lead[:, -1], UNIT),
        Claim("Figure 4.4, pass 5", "inner iterations gain a little for each pass", gained, UNIT),
        Claim(
            "Figure 4.4",
            "inner iterations take longer (text: six times)",
            np.log(seconds[local] / seconds[plain]),
            "log ratio",
        ),
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


def grown(size: Size, factor: int) -> dict[str, tuple[Size, int]]:
    """Sizes, and authors of a document, of which one is so many times as large as usual."""
    return {
        "documents": (replace(size, n_docs=factor * size.n_docs), 2),
        "authors of a document": (size, 2 * factor),
        "words of the vocabulary": (replace(size, n_words=factor * size.n_words), 2),
        "tokens of a document": (replace(size, length=factor * size.length), 2),
        "topics": (replace(size, K=factor * size.K), 2),
    }


def times(size: Size, seeds: range, out: Path) -> list[Claim]:
    """Figures 4.6 to 4.10: seconds of learning by one size at a time."""
    rows, claims, panels = [], [], {}
    for number, what in enumerate(grown(size, 1), start=6):
        seconds = np.array([[seconds_of(*grown(size, n)[what], seed) for seed in seeds] for n in FACTORS])
        first, middle, last = seconds
        rows.append({"figure": f"4.{number}", "what grows": what}
                    | {f"seconds, {n} times": own.mean() for n, own in zip(FACTORS, seconds, strict=True)})  # fmt: skip
        panels[what] = {BLOCKING: (FACTORS, seconds.mean(axis=1))}
        text = f"time is linear in the {what} (at {FACTORS[1]} times within a factor of 1.25 of the line)"
        bent = np.log(middle / ((first + last) / 2))
        claims.append(Claim(f"Figure 4.{number}", text, bent, "log ratio", math.log(1.25)))
    write(out, "figures-4-6-to-4-10", rows)
    figure(out, "figures-4-6-to-4-10", panels, ("times as large", "seconds"))
    return claims


def seconds_of(size: Size, authors: int, seed: int) -> float:
    """Processor seconds of learning, the least of two runs."""
    corpus, found = size.drawn(authors, seed), []
    for _ in range(2):
        model = bt.AuthorTopicModel(size.K, method=BLOCKING, max_iter=size.passes, random_state=seed, **QUIET)
        begun = time.process_time()
        model.fit(corpus)
        found.append(time.process_time() - begun)
    return min(found)


def recovery(size: Size, seeds: range, out: Path) -> list[Claim]:
    """What is predicted of held-out documents, by two authors each: their words, and who wrote them."""
    nats: dict[str, list[float]] = {BLOCKING: [], STANDARD: []}
    ranks: dict[str, list[float]] = {BLOCKING: [], STANDARD: []}
    popular = []
    for seed in seeds:
        train, test = size.drawn(2, seed).split(0.1, seed)
        for method in nats:
            model = bt.AuthorTopicModel(
                size.K, method=method, max_iter=size.passes, random_state=seed, **QUIET
            )
            model.fit(train)
            nats[method].append(math.log(model.author_perplexity(test)))
            found = bt.evaluate.rank_authors(model, test, client=False)
            ranks[method].append(found.value)
        popular.append(found.popularity.value)
    write(out, "held-out", [
        {"method": method, "nats a token given the authors": np.mean(nats[method]),
         "mean reciprocal rank of the first true author": np.mean(ranks[method]), "by popularity": np.mean(popular)}
        for method in nats
    ])  # fmt: skip
    where, better = "(ours) held-out documents", np.subtract(nats[STANDARD], nats[BLOCKING])
    return [
        Claim(where, "blocking VB predicts words better, given the authors", better, UNIT),
        Claim(
            where,
            "a true author ranks higher than by popularity",
            np.subtract(ranks[BLOCKING], popular),
            "of 1 / rank",
        ),
    ]


def demo(out: Path) -> bt.Corpus:
    """Docstrings; authors are the names of the path to them."""
    records = (
        {**record, "authors": sorted(set(record["id"].split(".")[:2]))} for record in bt.datasets.docstrings(modules())
    )  # fmt: skip
    return bt.ingest(records, out / "demo.zarr", **TEXT, min_doc_length=LEAST_TOKENS)


def main() -> None:
    given = arguments(__doc__)
    size = TOY if given.toy else FULL if given.full else Size()
    seeds = range(given.seeds)
    corpus = (
        demo(given.out)
        if given.data == "demo" and not given.toy
        else corpus_of(given, "nips-authors", lambda: size.drawn(4, 0))
    )
    drawn = size.drawn(4, 0)
    n_runs = given.seeds * (2 * len(size.authors) + 50 + 12 * corpus.n_tokens / drawn.n_tokens)
    announce(given, corpus, lambda: curve(drawn, size, BLOCKING, 0), n_runs)
    claims = blocking(corpus, size, seeds, given.out)
    claims += online(corpus, size, seeds, given.out)
    claims += priors(corpus, size, seeds, given.out)
    claims += times(size, seeds, given.out)
    claims += recovery(size, seeds, given.out)
    report(given.out, claims)


if __name__ == "__main__":
    main()

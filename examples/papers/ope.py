"""Than and Doan, "Dual online inference for latent Dirichlet allocation", rerun: figures 1 to 5.

    python examples/papers/ope.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

The score is the log probability of held-out tokens by document completion (70 % observed), with the fold-in that all
models share: it compares topics, not inference. NPMI is of ten words, on the training documents. Figures 1 and 2 are
also drawn for documents cut to eight tokens, which stand in for the paper's tweets. A seed is another split and start.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bigtopic as bt

sys.path.insert(0, str(Path(__file__).parent))

from _claims import Claim, announce, arguments, corpus_of, drawn, figure, report, write

QUIET: dict[str, Any] = {"client": False, "n_threads": 1, "progress": False, "tol": 0.0}
METHODS = ("ml-ope", "online-ope", "streaming-ope", "online-cgs", "online-cvb0", "online-vb", "streaming-vb")
FRANK_WOLFE = "online-fw"  # by hand: matches OPE
INFERENCE: dict[str, tuple[str, dict[str, Any]]] = {
    "OPE": ("ope", {"n_iter": 50}),
    "CGS": ("gibbs", {"burn_in": 25, "samples": 25}),
    "CVB0": ("cvb0", {"max_doc_update_iter": 50}),
    "VB": ("vb", {"max_doc_update_iter": 50, "mean_change_tol": 1e-4}),
}
SHORT = 8  # tokens of a short text
Splits = Sequence[tuple[bt.Corpus, bt.Corpus]]
FACTOR = 1000  # of two times, at most: the paper's largest, and what a score that is not reached counts


@dataclass(frozen=True)
class Size:
    """Topics, documents of a minibatch, passes and looks of each; grids of figure 3; documents, runs and iterations of
    figure 5."""

    K: int = 50
    batch_size: int = 100
    passes: int = 3
    looks: int = 4
    batches: tuple[int, ...] = (25, 100, 250, 500)
    iterations: tuple[int, ...] = (10, 20, 50, 100)
    decays: tuple[float, ...] = (0.6, 0.75, 0.9, 1.0)
    offsets: tuple[float, ...] = (1, 10, 100, 1000)
    n_docs: int = 100
    runs: int = 10


TOY = Size(3, 20, 2, 1, (10, 20), (5, 10), (0.6, 0.9), (1, 100), 5, 3)
FULL = Size(100, 5000, 2, 6, (1000, 5000, 10_000), (20, 50, 100), n_docs=100)


@dataclass(frozen=True)
class Curve:
    """Looks at a model while it learns: documents seen, seconds of learning, score and NPMI."""

    documents: np.ndarray
    seconds: np.ndarray
    score: np.ndarray
    npmi: np.ndarray

    def seconds_to(self, score: float) -> float:
        """Seconds until the score is reached; infinite if it is not."""
        reached = np.flatnonzero(self.score >= score)
        return float(self.seconds[reached[0]]) if len(reached) else np.inf


def learned(size: Size, method: str, train: bt.Corpus, seed: int, **how: Any) -> Any:
    """A model after `passes` passes, with the paper's priors 1 / K."""
    settings = {**QUIET, "batch_size": size.batch_size, "max_iter": size.passes, **how}
    priors = {"doc_topic_prior": 1 / size.K, "topic_word_prior": 1 / size.K}
    return bt.LDA(size.K, method=method, random_state=seed, **priors, **settings).fit(train)


def score(model: Any, test: bt.Corpus) -> float:
    """Held-out nats per token."""
    return float(bt.evaluate.log_predictive(model, test, ratio=0.7, client=False).value)


def curve(size: Size, method: str, train: bt.Corpus, test: bt.Corpus, seed: int) -> Curve:
    """The same run twice: looked at, and timed."""
    updates = -(-train.n_docs // size.batch_size)
    every = max(1, updates // size.looks)
    held_out = bt.evaluate.Watch(test, "log-predictive", every, ratio=0.7)
    coherent = bt.evaluate.Watch(train, "npmi", every)
    looked = learned(size, method, train, seed, callbacks=[held_out, coherent])
    rows = [row for row in looked.history_ if "log-predictive" in row.get("measures", ())]
    documents = np.array([row["n_docs"] for row in rows])
    begun = time.perf_counter()
    learned(size, method, train, seed)
    seconds = (time.perf_counter() - begun) * documents / (size.passes * train.n_docs)
    found = ([row["measures"][name] for row in rows] for name in ("log-predictive", "npmi"))
    return Curve(documents, seconds, *map(np.array, found))


def figures_1_and_2(splits: Splits, size: Size, out: Path, texts: str) -> list[Claim]:
    """Score and NPMI against seconds and documents; `texts` names the documents."""
    curves = {
        method: [curve(size, method, *split, seed) for seed, split in enumerate(splits)]
        for method in (*METHODS, FRANK_WOLFE)
    }
    last = {method: np.array([one.score[-1] for one in own]) for method, own in curves.items()}
    write(out, f"figures-1-and-2-{texts}", [
        {"method": method, "documents": n, "seconds": np.mean([one.seconds[i] for one in own]),
         "score": np.mean([one.score[i] for one in own]), "NPMI": np.mean([one.npmi[i] for one in own])}
        for method, own in curves.items() for i, n in enumerate(own[0].documents)
    ])  # fmt: skip
    for number, x in ((1, "seconds"), (2, "documents")):
        panels = {
            title: {
                method: (
                    np.mean([getattr(one, x) for one in own], axis=0),
                    np.mean([getattr(one, y) for one in own], axis=0),
                )
                for method, own in curves.items()
            }
            for title, y in (("nats a token", "score"), ("NPMI", "npmi"))
        }
        figure(out, f"figure-{number}-{texts}", panels, (x, "held-out score, and coherence"))
    others = [method for method in METHODS if method != "online-ope"]
    best = np.max([last[method] for method in others], axis=0)
    worst = np.min([last[method] for method in METHODS if method != "streaming-ope"], axis=0)
    where, unit = f"Figures 1 and 2, {texts} texts", "nats a token"
    claims = [
        Claim(where, "Online-OPE has the best score of the seven methods", last["online-ope"] - best, unit),
        Claim(where, "Streaming-OPE has the worst score", worst - last["streaming-ope"], unit),
        Claim(where, "(ours) Frank-Wolfe matches OPE within 0.02", last["online-ope"] - last[FRANK_WOLFE], unit, 0.02),
    ]  # fmt: skip
    for own in ("ml-ope", "online-ope"):
        for method in ("online-cgs", "online-cvb0", "online-vb"):
            goals = [one.score[-1] for one in curves[method]]
            gained = [
                np.clip(-np.log(one.seconds_to(goal) / other.seconds[-1]), -np.log(FACTOR), np.log(FACTOR))
                for one, other, goal in zip(curves[own], curves[method], goals, strict=True)
            ]
            claims.append(
                Claim(where, f"{own} reaches the last score of {method} in less time", gained, "log ratio")
            )
    ml, online = curves["ml-ope"], curves["online-ope"]
    first = [one.score[_end_of_pass(size, one)] for one in online]
    start = [one.score[0] for one in online]
    return [
        *claims,
        Claim(
            where,
            "most of the gain of Online-OPE comes in the first pass",
            2 * np.array(first) - start - last["online-ope"],
            unit,
        ),
        Claim(
            where,
            "ML-OPE rises steadily (falls by less than 0.005 between looks)",
            [max(0.0, float(-np.diff(one.score).min(initial=0.0))) for one in ml],
            unit,
            0.005,
        ),
        Claim(
            where,
            "NPMI rises less steadily than the score (share of looks at which it falls)",
            [np.mean(np.diff(one.npmi) < 0) - np.mean(np.diff(one.score) < 0) for one in online],
            "of looks",
        ),
    ]


def _end_of_pass(size: Size, one: Curve) -> int:
    """The last look of the first pass."""
    return int(np.searchsorted(one.documents, one.documents[-1] / size.passes, side="right")) - 1


def figure_3(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Sensitivity of ML-OPE to one setting at a time."""
    grids: dict[str, Sequence[Any]] = {
        "batch_size": size.batches,
        "n_iter": size.iterations,
        "learning_decay": size.decays,
        "learning_offset": size.offsets,
    }
    found: dict[str, np.ndarray] = {}
    for name, values in grids.items():
        found[name] = np.array([
            [score(learned(size, "ml-ope", train, seed, **_setting(name, value)), test) for value in values]
            for seed, (train, test) in enumerate(splits)
        ])  # fmt: skip
    write(out, "figure-3", [
        {"setting": name, "value": value, "score": found[name][:, i].mean()}
        for name, values in grids.items() for i, value in enumerate(values)
    ])  # fmt: skip
    curves = {name: {"ML-OPE": (grids[name], found[name].mean(axis=0))} for name in grids}
    figure(out, "figure-3", curves, ("value", "held-out nats a token"))
    where, unit = "Figure 3", "nats a token"
    return [
        Claim(where, "larger minibatches are better", found["batch_size"][:, -1] - found["batch_size"][:, 0], unit),
        Claim(where, "the number of iterations hardly matters (within 0.05)",
              np.ptp(found["n_iter"], axis=1), unit, 0.05),
        Claim(where, "kappa hardly matters (within 0.05)", np.ptp(found["learning_decay"], axis=1), unit, 0.05),
        Claim(where, "larger tau is worse", found["learning_offset"][:, 0] - found["learning_offset"][:, -1], unit),
    ]  # fmt: skip


def _setting(name: str, value: Any) -> dict[str, Any]:
    return {"options": {name: value}} if name == "n_iter" else {name: value}


def figure_4(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Seconds that a document takes to infer, with at most 50 iterations, on one thread."""
    seconds: dict[str, list[float]] = {name: [] for name in INFERENCE}
    for seed, (train, test) in enumerate(splits):
        model = learned(size, "online-ope", train, seed)
        for name, (inference, options) in INFERENCE.items():
            model.transform(test, inference=inference, options=options)
            begun = time.perf_counter()
            model.transform(test, inference=inference, options=options)
            seconds[name].append((time.perf_counter() - begun) / test.n_docs)
    write(out, "figure-4", [{"inference": name, "microseconds a document": 1e6 * np.mean(own)}
                            for name, own in seconds.items()])  # fmt: skip
    return [
        Claim("Figure 4", f"OPE infers faster than {name}", np.log(own) - np.log(seconds["OPE"]), "log ratio")
        for name, own in seconds.items()
        if name != "OPE"
    ]


def figure_5(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Standard deviation of OPE's objective over runs that draw other numbers; see `evaluate.ope_stability` for why the
    likelihood g1 and the objective f near the faces of the simplex are apart."""
    rows, small = [], {n: [] for n in size.iterations}
    for seed, (train, test) in enumerate(splits):
        model = learned(size, "ml-ope", train, seed)
        documents = test.run(0, size.n_docs)
        for n in size.iterations:
            found = bt.evaluate.ope_stability(model, documents, size.runs, n, client=False)
            spread, means = found.objective.std(axis=1, ddof=1), found.objective.mean(axis=1)
            small[n].append(np.mean(spread <= 0.01 * abs(means)) - 0.5)
            rows.append({"seed": seed, "T": n, "mean g1": found.means["log_likelihood"], "mean f": means.mean(),
                         "sd of g1": found.value, "sd of f": spread.mean()})  # fmt: skip
    write(out, "figure-5", rows)
    claim = "of most documents the objective varies by less than 1 %"
    return [Claim("Figure 5", f"T = {n}: {claim}", own, "of documents") for n, own in small.items()]


def shortened(corpus: bt.Corpus, seed: int = 0) -> bt.Corpus:
    """Documents of at most eight tokens, drawn from those of each document."""
    rng, counts = np.random.default_rng(seed), corpus.to_scipy().tocsr()
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        own = counts.data[start:stop].astype(np.int64)
        counts.data[start:stop] = rng.multivariate_hypergeometric(own, min(SHORT, own.sum()))
    counts.eliminate_zeros()
    return bt.from_matrix(counts[np.diff(counts.indptr) > 1], corpus.vocabulary, shuffle=False)


def main(given: argparse.Namespace) -> None:
    size = TOY if given.toy else FULL if given.full else Size()

    sizes = (80, 60, size.K, 20) if given.toy else (3000, 2000, size.K, 80)
    corpus = corpus_of(given, "nytimes" if given.full else "kos", lambda: drawn(*sizes))
    splits = [corpus.split(min(1000, corpus.n_docs // 5), seed) for seed in range(given.seeds)]
    fits = 5 * 2 * len(METHODS) + sum(map(len, (size.batches, size.iterations, size.decays, size.offsets)))
    announce(given, corpus, lambda: learned(size, "online-cgs", splits[0][0], 0), given.seeds * fits / 3)
    claims = figures_1_and_2(splits, size, given.out, "long")
    short = shortened(corpus)
    halves = [short.split(min(1000, short.n_docs // 5), seed) for seed in range(given.seeds)]
    claims += figures_1_and_2(halves, size, given.out, "short")
    claims += figure_3(splits, size, given.out)
    claims += figure_4(splits, size, given.out)
    claims += figure_5(splits, size, given.out)
    report(given.out, claims)


if __name__ == "__main__":
    main(arguments(__doc__))

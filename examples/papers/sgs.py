"""Gao et al., "Streaming Gibbs sampling for LDA model", rerun: figures 1 to 3.

    python examples/papers/sgs.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

80 % of the documents are learned from, in one pass; of each of the others, theta comes from one half of the tokens, and
perplexity is of the other half, exp(-mean log p(word | document)). All models share one fold-in. Figure 4, asynchronous
updates on a parameter server, is not here. A seed is another split and another start.
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

QUIET: dict[str, Any] = {"client": False, "n_threads": 1, "progress": False}
PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.03}
UNIT = "nats a token"

Splits = Sequence[tuple[bt.Corpus, bt.Corpus]]


@dataclass(frozen=True)
class Size:
    """Topics, documents of minibatches, decays, sweeps at most, documents of a minibatch of the stream."""

    K: int = 50
    batches: tuple[int, ...] = (50, 100, 200, 400)
    decays: tuple[float, ...] = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)
    sweeps: int = 100
    stream: int = 100


TOY = Size(3, (10, 30), (1.0, 0.7), 5, 20)
FULL = Size(50, (200, 400, 800, 1600, 3200), sweeps=400, stream=3200)


def learner(size: Size, method: str, batch_size: int, seed: int, decay: float = 1.0, **how: Any) -> bt.LDA:
    """A model that is not fitted; the decay is of SGS."""
    if method == "sgs":
        how["options"] = {"topic_words.decay": decay, "max_sweeps": size.sweeps}
    settings = {**QUIET, **PRIORS, "max_iter": 1, "batch_size": batch_size, **how}
    return bt.LDA(size.K, method=method, random_state=seed, **settings)


def score(model: Any, test: bt.Corpus) -> float:
    """Held-out nats per token, by halves."""
    return float(bt.evaluate.log_predictive(model, test, ratio=0.5, client=False).value)


def scores(size: Size, splits: Splits, method: str, batch_size: int, decay: float = 1.0) -> np.ndarray:
    """After one pass, for each seed."""
    models = (
        learner(size, method, batch_size, seed, decay).fit(train) for seed, (train, _) in enumerate(splits)
    )
    return np.array([score(model, test) for model, (_, test) in zip(models, splits, strict=True)])  # fmt: skip


def figures_1_and_2(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Perplexity against minibatch size, of SVB and SGS without decay; and of SGS against decay."""
    smallest, largest = size.batches[0], size.batches[-1]
    whole = np.array([
        score(bt.LDA(size.K, method="cgs", max_iter=size.sweeps, random_state=seed, **QUIET, **PRIORS).fit(train), test)
        for seed, (train, test) in enumerate(splits)
    ])  # fmt: skip
    svb = {n: scores(size, splits, "svb", n) for n in size.batches}
    sgs = {(n, decay): scores(size, splits, "sgs", n, decay) for n in size.batches for decay in size.decays}
    write(out, "figure-1", [
        {"minibatch": n, "SVB": _perplexity(svb[n]), "SGS": _perplexity(sgs[n, 1.0]), "CGS": _perplexity(whole)}
        for n in size.batches
    ])  # fmt: skip
    write(out, "figure-2", [
        {"minibatch": n} | {f"decay {decay}": _perplexity(sgs[n, decay]) for decay in size.decays}
        for n in size.batches
    ])  # fmt: skip
    lines = {
        "SVB": (size.batches, [_perplexity(svb[n]) for n in size.batches]),
        "SGS": (size.batches, [_perplexity(sgs[n, 1.0]) for n in size.batches]),
        "CGS": (size.batches, [_perplexity(whole)] * len(size.batches)),
    }
    figure(out, "figure-1", {"one pass": lines}, ("documents of a minibatch", "perplexity"))
    curves = {
        str(n): (size.decays, [_perplexity(sgs[n, decay]) for decay in size.decays]) for n in size.batches
    }
    figure(out, "figure-2", {"documents of a minibatch": curves}, ("decay", "perplexity"))
    low = min(size.decays, key=lambda decay: abs(decay - 0.7))
    best = {
        n: np.array(size.decays)[np.argmax([sgs[n, decay] for decay in size.decays], axis=0)]
        for n in size.batches
    }
    starts = scores(size, [splits[0]] * len(splits), "sgs", largest)
    gaps = {n: sgs[n, 1.0] - svb[n] for n in size.batches}
    helped = {n: sgs[n, low] - sgs[n, 1.0] for n in size.batches}
    return [
        *(Claim("Figure 1", f"SGS is better than SVB, minibatches of {n}", gaps[n], UNIT) for n in size.batches),
        Claim("Figure 1", "the gap is larger for small minibatches", gaps[smallest] - gaps[largest], UNIT),
        Claim("Figure 1", f"CGS is better than SGS, minibatches of {largest}", whole - sgs[largest, 1.0], UNIT),
        Claim("Section 4", "starts of one split differ by less than 0.05", abs(starts - starts.mean()), UNIT, 0.05),
        Claim("Figure 2", f"decay {low} hurts minibatches of {smallest}", -helped[smallest], UNIT),
        Claim("Figure 2", f"decay {low} helps minibatches of {largest}", helped[largest], UNIT),
        Claim("Figure 2", "the best decay is smaller for larger minibatches", best[smallest] - best[largest], ""),
    ]  # fmt: skip


def _perplexity(nats: np.ndarray) -> float:
    return float(np.exp(-nats.mean()))


def figure_2c(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Perplexity of each minibatch of a stream, before it is learned from."""
    learners = {"SVB": ("svb", 1.0), "SGS": ("sgs", 1.0), "SGS, decay 0.9": ("sgs", 0.9)}
    curves: dict[str, list[Any]] = {name: [] for name in learners}
    for seed, (train, _) in enumerate(splits):
        for name, (method, decay) in learners.items():
            model = learner(size, method, size.stream, seed, decay, total_samples=train.n_docs)
            curves[name].append(bt.evaluate.stream(model, train, size.stream, client=False))
    documents = curves["SGS"][0]["documents"]
    means = {name: np.mean([one["log-predictive"] for one in own], axis=0) for name, own in curves.items()}
    write(out, "figure-2c", [
        {"documents before": n} | {name: float(np.exp(-own[i])) for name, own in means.items()}
        for i, n in enumerate(documents)
    ])  # fmt: skip
    lines = {name: (documents, np.exp(-own)) for name, own in means.items()}
    figure(out, "figure-2c", {"stream": lines}, ("documents before", "perplexity of the minibatch"))
    pooled = {name: np.array([one.pooled().value for one in own]) for name, own in curves.items()}
    first = {name: np.array([one["log-predictive"][0] for one in own]) for name, own in curves.items()}
    return [
        Claim("Figure 2c", "SGS is better than SVB along the stream", pooled["SGS"] - pooled["SVB"], UNIT),
        Claim("Figure 2c", "decay 0.9 is better than none", pooled["SGS, decay 0.9"] - pooled["SGS"], UNIT),
        *(
            Claim("Figure 2c", f"{name}: a burst of perplexity at the beginning", pooled[name] - first[name], UNIT)
            for name in learners
        ),
    ]  # fmt: skip


def figure_3(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Sweeps and seconds until one minibatch has converged: until its perplexity is the least for ten sweeps."""
    rows, sweeps = [], {n: [] for n in size.batches}
    for n in size.batches:
        seconds = []
        for seed, (train, _) in enumerate(splits):
            events: list[Any] = []
            model = learner(size, "sgs", n, seed, callbacks=[events.append])
            begun = time.perf_counter()
            model.fit(train.run(0, n))
            seconds.append(time.perf_counter() - begun)
            sweeps[n].append(next(one for one in events if one.kind == "round").info["iterations"] / n)
        rows.append({"minibatch": n, "sweeps": np.mean(sweeps[n]), "seconds": np.mean(seconds)})
    write(out, "figure-3", rows)
    x = [row["minibatch"] for row in rows]
    lines = {"sweeps until converged": (x, [row["sweeps"] for row in rows])}
    figure(out, "figure-3", {"one minibatch": lines}, ("documents of the minibatch", "sweeps"))
    fewer = np.log(sweeps[size.batches[-1]]) - np.log(sweeps[size.batches[0]])
    return [Claim("Figure 3", "smaller minibatches converge in fewer sweeps", fewer, "log ratio")]


def main(given: argparse.Namespace) -> None:
    size = TOY if given.toy else FULL if given.full else Size()

    sizes = (80, 60, size.K, 20) if given.toy else (3000, 2000, size.K, 80)
    corpus = corpus_of(given, "nytimes" if given.full else "kos", lambda: drawn(*sizes))
    splits = [corpus.split(0.2, seed) for seed in range(given.seeds)]
    fits = len(size.batches) * (len(size.decays) + 1) + 5
    probe = learner(size, "sgs", size.batches[1], 0)
    announce(given, corpus, lambda: probe.fit(splits[0][0]), given.seeds * fits)
    claims = figures_1_and_2(splits, size, given.out)
    claims += figure_2c(splits, size, given.out)
    claims += figure_3(splits, size, given.out)
    report(given.out, claims)


if __name__ == "__main__":
    main(arguments(__doc__))

"""Gao et al., "Streaming Gibbs sampling for LDA model", rerun: figures 1 to 4.

    python examples/papers/sgs.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

80 % of the documents are learned from, in one pass; of each of the others, theta comes from one half of the tokens, and
perplexity is of the other half, exp(-mean log p(word | document)). As in the paper, theta is inferred by the method
itself; perplexity with the fold-in that all models share stands beside it. SVB starts each minibatch progressively, as
in the paper; plain SVB does not. Figure 4, asynchronous updates (algorithm 4), is of real worker processes
(`_asynchronous`); seconds are of one and two. A seed is another split and another start.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import bigtopic as bt

sys.path.insert(0, str(Path(__file__).parent))

from _asynchronous import Place, figures, measured, processes, times
from _claims import Claim, announce, arguments, corpus_of, drawn, figure, report, write

QUIET: dict[str, Any] = {"client": False, "n_threads": 1, "progress": False}
PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.03}
UNIT = "nats a token"
LEARNERS: dict[str, tuple[str, float]] = {  # along a stream: method, and decay of SGS
    "SVB": ("svb-progressive", 1.0),
    "plain SVB": ("svb", 1.0),
    "CDF": ("cdf", 1.0),
    "SGS": ("sgs", 1.0),
    "SGS, decay 0.9": ("sgs", 0.9),
    "SGS, decay 0.7": ("sgs", 0.7),
}
ON_WORKERS = {"DSGS": "sgs", "SVB": "svb-progressive"}
SHIFTS = 4  # models that a drifting stream comes from, one after the other

Splits = Sequence[tuple[bt.Corpus, bt.Corpus]]


@dataclass(frozen=True)
class Size:
    """Topics, documents of minibatches, decays, sweeps at most, documents of a minibatch of the stream; documents and
    words of the stream that drifts; sweeps at which figure 3 looks. Of figure 4: workers, documents of a minibatch,
    and documents of a minibatch and passes of the fits that are timed."""

    K: int = 50
    batches: tuple[int, ...] = (100, 200, 400, 800)
    decays: tuple[float, ...] = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)
    sweeps: int = 100
    stream: int = 200
    drift: tuple[int, int] = (8000, 1000)
    looks: tuple[int, ...] = (0, 1, 2, 5, 10, 20, 50, 100)
    workers: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    push: int = 50
    timed: tuple[int, int] = (400, 2)


TOY = Size(3, (10, 30), (1.0, 0.7), 5, 20, (160, 60), (0, 3), (1, 2), 5, (20, 1))
FULL = Size(
    50,
    (200, 400, 800, 1600, 3200),
    sweeps=400,
    stream=3200,
    drift=(256_000, 5000),
    push=3200,
    timed=(3200, 1),
)


def learner(
    size: Size, method: str, batch_size: int, seed: int, decay: float = 1.0, patience: int = 10, **how: Any
) -> bt.LDA:
    """A model that is not fitted; decay and patience are of SGS."""
    if method == "sgs":
        how["options"] = {"topic_words.decay": decay, "max_sweeps": size.sweeps, "patience": patience}
    settings = {**QUIET, **PRIORS, "max_iter": 1, "batch_size": batch_size, **how}
    return bt.LDA(size.K, method=method, random_state=seed, **settings)


def score(model: Any, test: bt.Corpus) -> tuple[float, float]:
    """Held-out nats per token, by halves: by the method's own and by the common inference."""
    found = bt.evaluate.log_predictive(model, test, ratio=0.5, inference="both", client=False)
    return found.own.value, found.value


def scores(size: Size, splits: Splits, method: str, batch_size: int, decay: float = 1.0) -> np.ndarray:
    """After one pass: own and common, for each seed, (2, n_seeds)."""
    models = (
        learner(size, method, batch_size, seed, decay).fit(train) for seed, (train, _) in enumerate(splits)
    )
    return np.transpose([score(model, test) for model, (_, test) in zip(models, splits, strict=True)])


def claim(where: str, text: str, found: np.ndarray, unit: str = UNIT, margin: float | None = None) -> Claim:
    """A claim that is judged by the methods' own inference; `found` (2, n_seeds)."""
    return Claim(where, text, found[0], unit, margin, found[1])


def perplexities(nats: np.ndarray) -> dict[str, float]:
    """Columns of a table."""
    own, common = np.exp(-nats.mean(axis=1))
    return {"own inference": own, "common inference": common}


def figures_1_and_2(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Perplexity against minibatch size, of SVB and SGS without decay; and of SGS against decay."""
    smallest, largest = size.batches[0], size.batches[-1]
    whole = np.transpose([
        score(bt.LDA(size.K, method="cgs", max_iter=size.sweeps, random_state=seed, **QUIET, **PRIORS).fit(train), test)
        for seed, (train, test) in enumerate(splits)
    ])  # fmt: skip
    svb = {n: scores(size, splits, "svb-progressive", n) for n in size.batches}
    plain = {n: scores(size, splits, "svb", n) for n in size.batches}
    sgs = {(n, decay): scores(size, splits, "sgs", n, decay) for n in size.batches for decay in size.decays}
    lines = {
        "SVB": svb,
        "plain SVB": plain,
        "SGS": {n: sgs[n, 1.0] for n in size.batches},
        "CGS": dict.fromkeys(size.batches, whole),
    }
    write(out, "figure-1", [
        {"minibatch": n, "method": name} | perplexities(own[n]) for n in size.batches for name, own in lines.items()
    ])  # fmt: skip
    write(
        out,
        "figure-2",
        [{"minibatch": n, "decay": decay} | perplexities(own) for (n, decay), own in sgs.items()],
    )
    panels = {
        by: {name: (size.batches, [perplexities(own[n])[by] for n in size.batches]) for name, own in lines.items()}
        for by in ("own inference", "common inference")
    }  # fmt: skip
    figure(out, "figure-1", panels, ("documents of a minibatch", "perplexity"))
    curves = {
        by: {str(n): (size.decays, [perplexities(sgs[n, decay])[by] for decay in size.decays]) for n in size.batches}
        for by in panels
    }  # fmt: skip
    figure(out, "figure-2", curves, ("decay", "perplexity"))
    low = min(size.decays, key=lambda decay: abs(decay - 0.7))
    best = {
        n: np.array(size.decays)[np.argmax([sgs[n, decay] for decay in size.decays], axis=0)]
        for n in size.batches
    }
    starts = scores(size, [splits[0]] * len(splits), "sgs", largest)
    gaps = {n: sgs[n, 1.0] - svb[n] for n in size.batches}
    helped = {n: sgs[n, low] - sgs[n, 1.0] for n in size.batches}
    spread = abs(starts - starts.mean(axis=1, keepdims=True))
    return [
        *(claim("Figure 1", f"SGS is better than SVB, minibatches of {n}", gaps[n]) for n in size.batches),
        *(
            claim("Figure 1", f"(ours) SGS is better than plain SVB, minibatches of {n}", sgs[n, 1.0] - plain[n])
            for n in size.batches
        ),
        claim("Figure 1", "the gap is larger for small minibatches", gaps[smallest] - gaps[largest]),
        claim("Figure 1", f"CGS is better than SGS, minibatches of {largest}", whole - sgs[largest, 1.0]),
        claim("Section 4", "starts of one split differ by less than 0.05", spread, margin=0.05),
        claim("Figure 2", f"decay {low} hurts minibatches of {smallest}", -helped[smallest]),
        claim("Figure 2", f"decay {low} helps minibatches of {largest}", helped[largest]),
        claim("Figure 2", f"CGS is better than SGS with decay {low}, minibatches of {largest}",
              whole - sgs[largest, low]),
        claim("Figure 2", "the best decay is smaller for larger minibatches", best[smallest] - best[largest], "decay"),
    ]  # fmt: skip


def streams(
    size: Size, corpora: Sequence[bt.Corpus], out: Path, name: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Nats of each minibatch before it is learned from: {learner: (2, n_seeds)} of all documents, and of the first."""
    batches: dict[str, np.ndarray] = {}  # (own and common, seeds, batches)
    pooled: dict[str, np.ndarray] = {}
    for learned, (method, decay) in LEARNERS.items():
        nats, whole = [], []
        for seed, corpus in enumerate(corpora):
            model = learner(size, method, size.stream, seed, decay, total_samples=corpus.n_docs)
            found = bt.evaluate.stream(model, corpus, size.stream, inference="both", client=False)
            results = [result["log-predictive"] for result in found.results]
            both = [[result.own for result in results], results]
            nats.append([[one.value for one in by] for by in both])
            whole.append(
                [np.average([one.value for one in by], weights=[one.n_tokens for one in by]) for by in both]
            )
        batches[learned], pooled[learned] = np.moveaxis(nats, 1, 0), np.transpose(whole)
    documents = found["documents"]
    write(out, name, [
        {"documents before": n, "method": learned} | perplexities(own[..., i])
        for i, n in enumerate(documents) for learned, own in batches.items()
    ])  # fmt: skip
    panels = {
        by: {learned: (documents, np.exp(-own[i].mean(axis=0))) for learned, own in batches.items()}
        for i, by in enumerate(("own inference", "common inference"))
    }
    figure(out, name, panels, ("documents before", "perplexity of the minibatch"))
    return pooled, {learned: own[..., 0] for learned, own in batches.items()}


def figure_2c(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Perplexity of each minibatch of a stream of shuffled documents, and of one that drifts."""
    pooled, first = streams(size, [train for train, _ in splits], out, "figure-2c")
    drifted, _ = streams(size, [drifting(size, seed) for seed in range(len(splits))], out, "drift")
    where, drift = "Figure 2c", "(ours) a stream that drifts"
    return [
        claim(where, "SGS is better than SVB along the stream", pooled["SGS"] - pooled["SVB"]),
        claim(where, "decay 0.9 is better than none", pooled["SGS, decay 0.9"] - pooled["SGS"]),
        *(
            claim(where, f"{name}: a burst of perplexity at the beginning", pooled[name] - first[name])
            for name in ("SVB", "SGS", "SGS, decay 0.9")
        ),
        claim(where, "(ours) plain SVB is better than CDF", pooled["plain SVB"] - pooled["CDF"]),
        claim(where, "(ours) the progressive start makes SVB worse", pooled["plain SVB"] - pooled["SVB"]),
        claim(drift, "decay 0.9 is better than none", drifted["SGS, decay 0.9"] - drifted["SGS"]),
        claim(drift, "decay 0.7 is better than 0.9", drifted["SGS, decay 0.7"] - drifted["SGS, decay 0.9"]),
    ]  # fmt: skip


def drifting(size: Size, seed: int) -> bt.Corpus:
    """Documents of known models with other topics each, one model after the other."""
    n_docs, n_words = size.drift
    models = (
        bt.datasets.KnownLDA(
            n_words, size.K, mean_length=60, zipf_exponent=1.0, random_state=SHIFTS * seed + i
        )
        for i in range(SHIFTS)
    )
    counts = [model.documents(n_docs // SHIFTS).counts for model in models]
    return bt.from_matrix(sparse.vstack(counts), shuffle=False)


def figure_3(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Perplexity of one minibatch by sweeps; sweeps and seconds until it has not improved for ten sweeps."""
    rows, looks = [], []
    sweeps: dict[int, list[float]] = {n: [] for n in size.batches}
    seconds: dict[int, list[float]] = {n: [] for n in size.batches}
    lines = {}
    for n in size.batches:
        nats = []
        for seed, (train, _) in enumerate(splits):
            minibatch = train.run(0, n, order="stored")
            found = swept(size, minibatch, seed)
            sweeps[n].append(found[0])
            seconds[n].append(found[1])
            nats.append(
                [swept(replace(size, sweeps=most), minibatch, seed, most + 1)[2] for most in size.looks]
            )
        means = np.exp(-np.mean(nats, axis=0))
        looks += [{"minibatch": n, "sweeps": 1 + most, "perplexity": value}
                  for most, value in zip(size.looks, means, strict=True)]  # fmt: skip
        lines[str(n)] = ([1 + most for most in size.looks], means)
        rows.append({"minibatch": n, "sweeps": np.mean(sweeps[n]), "seconds": np.mean(seconds[n])})
    write(out, "figure-3a", looks)
    write(out, "figure-3b", rows)
    figure(out, "figure-3a", {"documents of a minibatch": lines}, ("sweeps", "perplexity of the minibatch"))
    x = [row["minibatch"] for row in rows]
    panels = {name: {"SGS": (x, [row[name] for row in rows])} for name in ("sweeps", "seconds")}
    figure(out, "figure-3b", panels, ("documents of a minibatch", "until it has converged"))
    smallest, largest = size.batches[0], size.batches[-1]
    fewer, sooner = (np.log(own[largest]) - np.log(own[smallest]) for own in (sweeps, seconds))
    return [
        Claim("Figure 3", "smaller minibatches converge in fewer sweeps", fewer, "log ratio"),
        Claim("Figure 3", "smaller minibatches converge sooner", sooner, "log ratio"),
    ]


def swept(size: Size, minibatch: bt.Corpus, seed: int, patience: int = 10) -> tuple[float, float, float]:
    """Sweeps of one minibatch, processor seconds, and nats per token of the minibatch after the last."""
    events: list[Any] = []
    model = learner(size, "sgs", minibatch.n_docs, seed, patience=patience, callbacks=[events.append])
    begun = time.process_time()
    model.fit(minibatch)
    seconds = time.process_time() - begun
    info = next(event for event in events if event.kind == "round").info
    return info["iterations"] / minibatch.n_docs, seconds, info["log_likelihood"] / minibatch.n_tokens


def figure_4(splits: Splits, size: Size, out: Path, place: Place) -> list[Claim]:
    """Perplexity of asynchronous updates by workers; staleness, bytes, and seconds of one and two workers."""
    nats: dict[tuple[str, int], np.ndarray] = {}
    rows, seconds = [], []
    for n in size.workers:
        for name, method in ON_WORKERS.items():
            how = {"asynchronous": True, **place.settings(n)}
            models = [learner(size, method, size.push, seed, **how) for seed in range(len(splits))]
            fits = [measured(model, train) for model, (train, _) in zip(models, splits, strict=True)]
            nats[name, n] = np.transpose(
                [score(model, test) for model, (_, test) in zip(models, splits, strict=True)]
            )
            rows.append(
                {"workers": n, "as": place.kind(n), "method": name}
                | perplexities(nats[name, n])
                | figures(fits)
            )
            if n <= 2:
                batch_size, how["max_iter"] = size.timed
                models = [learner(size, method, batch_size, seed, **how) for seed in range(len(splits))]
                fits = [measured(model, train) for model, (train, _) in zip(models, splits, strict=True)]
                seconds.append({"workers": n, "method": name, "minibatch": batch_size} | times(fits))
    write(out, "figure-4", rows)
    write(out, "figure-4-seconds", seconds)
    panels = {
        by: {name: (size.workers, [perplexities(nats[name, n])[by] for n in size.workers]) for name in ON_WORKERS}
        for by in ("own inference", "common inference")
    }  # fmt: skip
    figure(out, "figure-4", panels, ("workers", "perplexity"))
    where, most = "Figure 4", size.workers[-1]
    better = {n: nats["DSGS", n] - nats["SVB", n] for n in size.workers}
    lost = {name: nats[name, 1] - nats[name, most] for name in ON_WORKERS}
    return [
        *(claim(where, f"DSGS is better than distributed SVB, workers: {n}", own) for n, own in better.items()),
        claim(where, f"{most} workers cost DSGS little (0.05)", lost["DSGS"], margin=0.05),
        claim(where, f"(ours) {most} workers cost SVB little (0.05)", lost["SVB"], margin=0.05),
    ]  # fmt: skip


def main(given: argparse.Namespace) -> None:
    size = TOY if given.toy else FULL if given.full else Size()

    sizes = (80, 60, size.K, 20) if given.toy else (3000, 2000, size.K, 80)
    corpus = corpus_of(given, "nytimes" if given.full else "kos", lambda: drawn(*sizes), large=True)
    splits = [corpus.split(0.2, seed) for seed in range(given.seeds)]
    fits = len(size.batches) * (len(size.decays) + 4) + 2 * len(LEARNERS)
    probe = learner(size, "sgs", size.batches[1], 0)
    announce(given, corpus, lambda: probe.fit(splits[0][0]), given.seeds * fits)
    claims = figures_1_and_2(splits, size, given.out)
    claims += figure_2c(splits, size, given.out)
    claims += figure_3(splits, size, given.out)
    with nullcontext(Place()) if given.toy else processes() as place:
        claims += figure_4(splits, size, given.out, place)
    report(given.out, claims)


if __name__ == "__main__":
    main(arguments(__doc__))

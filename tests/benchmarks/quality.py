"""Held-out score and time of the default method against scikit-learn and gensim, on the same tokens.

Every model is trained on the same documents and scored by one evaluator (document completion) on the same held-out
tokens; differences are paired by seed. Times are of `fit` alone, one model at a time, after one warm-up fit.

    python -m tests.benchmarks quality --data FOLDER [--corpora ap,bbc,demo] [--topics 50] [--seeds 5]
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import corpora
import numpy as np
from peers import PEERS

WIDTHS = (12, 24, 10, 18, 9)
HELD_OUT = {"ap": 450, "bbc": 600, "dblp": 10_000, "demo": 2000}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with ap/, bbc/ and dblp/")
    parser.add_argument("--corpora", default="ap,bbc,demo")
    parser.add_argument("--peers", default="scikit-learn,gensim")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    for name in given.corpora.split(","):
        compare(
            name,
            given.data,
            given.folder,
            [p for p in given.peers.split(",") if p],
            given.topics,
            given.seeds,
        )


def compare(name: str, data: Path, folder: Path, peers: list[str], n_components: int, n_seeds: int) -> None:
    """One corpus: all models, all seeds, and what they say."""
    from bigtopic.estimators.lda import LDA
    from bigtopic.evaluation import coherence

    corpus = corpora.load(name, data, folder)
    LDA(n_components, max_time=1.0, progress=False).fit(corpus)
    scores: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    npmi: dict[str, list[float]] = {}
    for seed in range(n_seeds):
        train, test = corpus.split(test_size=HELD_OUT[name], seed=seed)
        counts = train.to_scipy()
        models = {
            "bigtopic": lambda s=seed, t=train: LDA(n_components, random_state=s, progress=False).fit(t)
        }
        for peer in peers:
            models[peer] = lambda s=seed, c=counts, p=peer: PEERS[p](c, n_components, s)
        for label, fit in models.items():
            begun = time.perf_counter()
            model = fit()
            seconds.setdefault(label, []).append(time.perf_counter() - begun)
            result = score(model, test, train, seed)
            scores.setdefault(label, []).append(result.value)
            npmi.setdefault(label, []).append(coherence(model, train, vocabulary=train.vocabulary).value)
            scores.setdefault("unigram", [])
        scores["unigram"].append(result.unigram)
    print(f"\n{name}: {corpus.n_docs:,} documents, {corpus.n_words:,} words, {corpus.n_tokens:,.0f} tokens; "
          f"K = {n_components}, {n_seeds} seeds, {result.n_tokens:,.0f} held-out tokens")  # fmt: skip
    report(scores, seconds, npmi)


def score(model: Any, test: Any, train: Any, seed: int) -> Any:
    """Nats per token on the held-out half of the test documents' tokens."""
    from bigtopic.evaluation import log_predictive

    return log_predictive(model, test, seed=seed, train=train, vocabulary=train.vocabulary)


def report(
    scores: dict[str, list[float]], seconds: dict[str, list[float]], npmi: dict[str, list[float]]
) -> None:
    """A table: score, difference to bigtopic with its paired error, seconds, share of their time, mean NPMI."""
    ours = np.asarray(scores["bigtopic"])
    heads = ["nats/token", "bigtopic is better by", "seconds", "our share of it", "NPMI"]
    print(" " * 16 + "".join(head.rjust(width) for head, width in zip(heads, WIDTHS, strict=True)))
    for label, values in scores.items():
        difference = ours - np.asarray(values)
        error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else float("nan")
        cells = [f"{np.mean(values):.4f}", f"{difference.mean():.4f} ± {error:.4f}"]
        if label in seconds:
            share = np.median(seconds["bigtopic"]) / np.median(seconds[label])
            cells += [f"{np.median(seconds[label]):.2f}", f"1/{1 / share:.0f}", f"{np.mean(npmi[label]):.3f}"]
        print(label.ljust(16) + "".join(c.rjust(w) for c, w in zip(cells, WIDTHS, strict=False)), flush=True)


if __name__ == "__main__":
    main()

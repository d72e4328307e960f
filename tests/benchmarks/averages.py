"""The mean of the topics over the second half of a run, against the latest topics: held-out scores.

A run with `average` moves its topics as one without it, to the bit, so both scores are of the same updates.

    python -m tests.benchmarks averages
    python -m tests.benchmarks averages --corpora ap --data FOLDER --methods cgs --seeds 5
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import corpora
import numpy as np
import results

HEAD = ("corpus", "method", "passes", "latest topics", "their mean", "the mean is better by")
PASSES = {"cgs": 200, "lds": 40, "g-oem": 5, "online-cvb0": 10}
SHARE = 0.5  # of the updates, at their end


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    corpora.add_options(parser, "demo")
    parser.add_argument("--methods", default=",".join(PASSES))
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[tuple[str, ...]] = [HEAD]
    figures = []
    for name in given.corpora.split(","):
        corpus = corpora.load(name, given.data, given.folder)
        for method in given.methods.split(","):
            found = [scores(name, corpus, method, given.topics, seed) for seed in range(given.seeds)]
            rows.append((name, method, str(PASSES[method]), *cells(np.array(found))))
            figures.append({"corpus": name, "method": method, "passes": PASSES[method], "scores": found})
            print(" | ".join(rows[-1]), flush=True)
    caption = (
        f"{given.topics} topics; nats per held-out token, means of {given.seeds} seeds and standard error of the "
        "paired differences"
    )
    results.report(given, "averages", caption, rows, figures)


def scores(name: str, corpus: Any, method: str, n_components: int, seed: int) -> tuple[float, float]:
    """Held-out nats per token of the latest topics and of their mean."""
    from bigtopic.estimators.lda import LDA
    from bigtopic.evaluation import log_predictive

    train, test = corpora.split(name, corpus, seed)
    here = {"client": False, "n_threads": 2, "progress": False, "random_state": seed}
    settings = {"method": method, "max_iter": PASSES[method], **here}
    models = (LDA(n_components, average=average, **settings).fit(train) for average in (None, SHARE))
    latest, mean = (log_predictive(model, test, random_state=seed).value for model in models)
    return latest, mean


def cells(found: np.ndarray) -> tuple[str, str, str]:
    """Of a method; `found` is (n_seeds, 2)."""
    gain = found[:, 1] - found[:, 0]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    return f"{found[:, 0].mean():.4f}", f"{found[:, 1].mean():.4f}", f"{gain.mean():.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()

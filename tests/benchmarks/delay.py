"""What delayed updates cost in score, and gain in time: the default method with a delay of 1 and of 0.

python -m tests.benchmarks delay --data FOLDER [--corpora ap,bbc,demo] [--topics 100] [--seeds 3]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import corpora
import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with ap/, bbc/ and dblp/")
    parser.add_argument("--corpora", default="ap,bbc,demo")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    for name in given.corpora.split(","):
        compare(name, given.data, given.folder, given.topics, given.seeds)


def compare(name: str, data: Path, folder: Path, n_components: int, n_seeds: int) -> None:
    """One corpus, after one pass and after the default number of passes."""
    from bigtopic.estimators.lda import LDA
    from bigtopic.evaluation import log_predictive
    from bigtopic.methods import get

    corpus = corpora.load(name, data, folder)
    LDA(n_components, max_iter=1, client=False, progress=False).fit(corpus)
    for max_iter in (1, None):
        scores: dict[int, list[float]] = {0: [], 1: []}
        seconds: dict[int, list[float]] = {0: [], 1: []}
        for seed in range(n_seeds):
            train, test = corpora.split(name, corpus, seed)
            for delay in scores:
                method = replace(get(None), delay=delay)
                model = LDA(
                    n_components,
                    method=method,
                    max_iter=max_iter,
                    random_state=seed,
                    client=False,
                    progress=False,
                )
                begun = time.perf_counter()
                model.fit(train)
                seconds[delay].append(time.perf_counter() - begun)
                result = log_predictive(
                    model, test, random_state=seed, train=train, vocabulary=train.vocabulary
                )
                scores[delay].append(result.value)
        cells = [
            f"delay {delay}: {np.mean(scores[delay]):.4f} in {np.median(seconds[delay]):.3f} s"
            for delay in scores
        ]
        print(f"{name:6s} {'one pass' if max_iter else 'default'}:  " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()

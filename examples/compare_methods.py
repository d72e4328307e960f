"""Every learning method on the same documents: held-out score, paired difference to the default, and time.

    python examples/compare_methods.py [package ...]

The documents are the documentation strings of some packages of this machine (by default of the standard library). Each
method has its own default priors, on which scores depend, too. Seconds are of learning: functions are compiled before.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import bigtopic as bt

PACKAGES = ["asyncio", "email", "http", "logging", "unittest", "xml"]
N_TOPICS = 15
WARM_UP = 20  # documents


def main(packages: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = bt.ingest(
            bt.datasets.docstrings(packages), Path(folder) / "corpus.zarr", stop_words="english", min_df=3
        )
        train, test = corpus.split(test_size=0.2, random_state=0)
        print(f"{len(train):,} documents to learn from, {len(test):,} held out, {corpus.n_words:,} words\n")
        default = bt.evaluate.log_predictive(bt.LDA(N_TOPICS, random_state=0).fit(train), test)

        rows = [row for row in bt.methods() if row["family"] != "dual"]  # topics of rows and columns
        width = max(len(row["method"]) for row in rows)
        print(f"{'method':<{width}} {'nats per token':>15} {'to the default':>20} {'seconds':>9}")
        for row in rows:
            model, seconds = learned(row, train)
            score = bt.evaluate.log_predictive(model, test)
            difference, error = score.minus(default)
            print(
                f"{row['method']:<{width}} {score.value:15.3f} {difference:+12.3f} ± {error:.3f} {seconds:9.2f}"
            )
        print(f"{'(no topics)':<{width}} {default.unigram:15.3f}")


def learned(row: dict[str, Any], train: bt.Corpus) -> tuple[bt.LDA, float]:
    """A model of the documents by the method of a row, and the seconds that it learned."""
    # The papers' minibatches of 5000 documents are more than this corpus has.
    small = {} if row["batch_size"] == "all" else {"batch_size": 64, "max_iter": 5}
    model = bt.LDA(N_TOPICS, method=row["method"], random_state=0, **small)
    model.fit(train.run(0, WARM_UP))
    begun = time.perf_counter()
    model.fit(train)
    return model, time.perf_counter() - begun


if __name__ == "__main__":
    main(sys.argv[1:] or PACKAGES)

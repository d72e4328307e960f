"""Starts of dual topic models, compared: `python docs/dual_starts.py` prints the table of docs/dual.md in minutes.

Records are drawn from known dual topic models. Figures are the perplexity of held-out records, p(row, column), divided
by that under the true model; means over seeds, and the standard error of the paired difference after the last pass.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse

import bigtopic as bt

PASSES = (2, 5, 20, 100)
STARTS = (None, "joint")
METHODS = ("dual-cgs", "dual-ilr", "dual-mf")
DATA = {
    "3 x 4": ((3, 4), 60, 50, 5_000),
    "10 x 10": ((10, 10), 300, 200, 40_000),
}  # topics, rows, columns, records


class Truth:
    """A dual topic model, and records drawn from it."""

    def __init__(self, shape: tuple[int, int], n_rows: int, n_columns: int, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        rows = rng.dirichlet(np.full(n_rows, 0.1), shape[0])
        columns = rng.dirichlet(np.full(n_columns, 0.1), shape[1])
        joint = rng.dirichlet(np.full(shape[0] * shape[1], 0.3)).reshape(shape)
        self.pairs = rows.T @ joint @ columns
        drawn = [rng.multinomial(size, self.pairs.ravel()).reshape(self.pairs.shape) for size in (n, n // 4)]
        self.train, self.test = sparse.csr_array(drawn[0]), sparse.coo_array(drawn[1])
        self.nats = self.loss(self.pairs[self.test.coords])

    def loss(self, probabilities: np.ndarray) -> float:
        """Nats per held-out record."""
        return -float(self.test.data @ np.log(probabilities)) / float(self.test.data.sum())

    def ratio(self, model: Any) -> float:
        """Of the perplexities of a model and of the truth."""
        return float(np.exp(self.loss(model.joint_probability(*self.test.coords)) - self.nats))


def ratios(truth: Truth, shape: tuple[int, int], method: str, start: str | None, seed: int) -> list[float]:
    """After each number of passes."""
    found = []

    def look(event: Any) -> None:
        if event.kind == "pass" and len(model.history_) in PASSES:
            found.append(truth.ratio(model))

    settings = {"max_iter": PASSES[-1], "tol": 0.0, "random_state": seed, "progress": False, "client": False}
    model = bt.DualTopicModel(*shape, method=method, init=start, callbacks=[look], n_threads=1, **settings)
    model.fit(truth.train)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    n_seeds = parser.parse_args().seeds
    print("| topics | method | start |", " | ".join(f"{n} passes" for n in PASSES), "| joint - default |")
    print("|---|---|---|" + "---|" * (len(PASSES) + 1))
    for name, (shape, *sizes) in DATA.items():
        for method in METHODS:
            # five runs on each corpus
            truths = [Truth(shape, *sizes, seed // 5) for seed in range(n_seeds)]
            found = [
                np.array([ratios(truth, shape, method, start, seed) for seed, truth in enumerate(truths)])
                for start in STARTS
            ]
            change = found[1][:, -1] - found[0][:, -1]
            said = f"{change.mean():+.4f} ± {change.std(ddof=1) / np.sqrt(n_seeds):.4f}"
            for start, values, end in zip(("default", "joint"), found, ("", said), strict=True):
                means = " | ".join(f"{value:.3f}" for value in values.mean(axis=0))
                print(f"| {name} | {method} | {start} | {means} | {end} |", flush=True)


if __name__ == "__main__":
    main()

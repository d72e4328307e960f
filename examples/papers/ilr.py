"""Rugeles et al., "Infinite latent state replication", rerun: figures 1 and 2, tables 4 and 5.

    python examples/papers/ilr.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

40 % of the records of each document are held out. LDA: theta from the training records of the document, by the fold-in
that all models share, and exp(-mean log p(word | document)) over the held-out records. The dual model: p(row, column)
of records drawn from a known model, whatever --data says. Three columns stand where the paper has two: collapsed Gibbs
sampling (CGS) read from its last labels, CGS averaged over the last half of its passes, and infinite latent state
replication (ILR). Beside them are two references: uniform topics, and the words' shares of the training records.

The paper's R = 1, 4, 16 and 64 replicas are not here: `cgs` has one state for each token, `ilr` the limit.
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

from _claims import Claim, announce, arguments, corpus_of, drawn, figure, report, write

HELD_OUT = 0.4
QUIET: dict[str, Any] = {"client": False, "progress": False, "tol": 0.0}
PRIORS = {"doc_topic_prior": 0.5, "topic_word_prior": 0.5}
METHODS = {"CGS": "cgs", "ILR": "ilr:ILR"}
AVERAGED = "CGS averaged"
ALL = ("CGS", AVERAGED, "ILR")


@dataclass(frozen=True)
class Size:
    """How much is computed: topics of figure 1, passes, shapes of figure 2, records there, topics of tables 4 and 5,
    top words of table 4, priors of table 5 and passes there."""

    topics: tuple[int, ...] = (5, 10, 20, 50)
    passes: int = 100
    shapes: tuple[tuple[int, int], ...] = ((10, 10), (10, 15), (15, 10), (15, 15))
    records: int = 20_000
    K: int = 25
    n_top: tuple[int, ...] = (10, 20, 50)
    priors: tuple[float, ...] = (0.01, 0.1, 0.5)
    grid_passes: int = 60


TOY = Size((3,), 3, ((2, 3),), 600, 3, (3,), (0.5,), 2)
FULL = Size(records=445_094, priors=(0.01, 0.05, 0.1, 0.25, 0.5), grid_passes=500)


def looks(passes: int) -> list[int]:
    """Passes after which perplexity is measured."""
    return sorted({n for n in (1, 2, 5, 10, 20, 30, 50, 70, 100, 200, 500) if n < passes} | {passes})


def loss(model: Any, train: bt.Corpus, test: Any) -> float:
    """Nats per held-out record: theta by fold-in of the training records, in the source's order as `test` is."""
    theta, topics, total = model.transform(train), model.get_topics(), 0.0
    for first in range(0, test.shape[0], 1000):
        block = test[first : first + 1000].tocoo()
        documents, words = block.coords
        own = np.einsum("ij,ij->i", theta[first + documents], topics[:, words].T)
        total -= float(block.data @ np.log(own))
    return total / float(test.sum())


def fitted(
    K: int, method: str, train: bt.Corpus, seed: int, passes: int, test: Any = None, **how: Any
) -> tuple[Any, ...]:
    """A model, its curve of nats per held-out record, and seconds of learning without the looks."""
    curve, paused = [], 0.0

    def look(event: Any) -> None:
        nonlocal paused
        if event.kind == "pass" and len(model.history_) in looks(passes):
            begun = time.perf_counter()
            curve.append(loss(model, train, test))
            paused += time.perf_counter() - begun

    settings = {**QUIET, **PRIORS, **how, "callbacks": [] if test is None else [look]}
    model = bt.LDA(K, method=method, max_iter=passes, random_state=seed, **settings)
    begun = time.perf_counter()
    model.fit(train)
    return model, np.array(curve), time.perf_counter() - begun - paused


def references(train: bt.Corpus, test: Any) -> dict[str, float]:
    """Perplexity of uniform topics, and of the words' shares of the training records, each counted once more."""
    tokens = np.asarray(train.to_scipy().sum(axis=0)).ravel() + 1.0
    held_out = np.asarray(test.sum(axis=0)).ravel()
    nats = -float(held_out @ np.log(tokens / tokens.sum())) / float(held_out.sum())
    return {"uniform": float(len(tokens)), "unigram": math.exp(nats)}


def figure_1(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """LDA: perplexity of held-out records by pass."""
    claims, rows, panels = [], [], {}
    for K in size.topics:
        found: dict[str, list[Any]] = {name: [] for name in ALL}
        curves: dict[str, list[Any]] = {name: [] for name in METHODS}
        seconds: dict[str, list[float]] = {name: [] for name in METHODS}
        unigrams = []
        for seed in seeds:
            train, held_out = bt.evaluate.split_records(corpus, HELD_OUT, seed)
            test = held_out.to_scipy()
            unigrams.append(references(train, test))
            for name, method in METHODS.items():
                _, curve, own = fitted(K, method, train, seed, size.passes, test)
                curves[name].append(curve)
                seconds[name].append(own)
                found[name].append(curve[-1])
            averaged, *_ = fitted(K, "cgs", train, seed, size.passes, average=0.5)
            found[AVERAGED].append(loss(averaged, train, test))
        nats = {name: np.array(values) for name, values in found.items()}
        means = {name: math.exp(values.mean()) for name, values in nats.items()}
        known = {name: np.mean([one[name] for one in unigrams]) for name in ("uniform", "unigram")}
        times = {f"{name} seconds": np.mean(values) for name, values in seconds.items()}
        rows.append({"K": K, **means, **known, **times})
        x = looks(size.passes)
        panels[f"K = {K}"] = {name: (x, np.exp(np.mean(values, axis=0))) for name, values in curves.items()}
        where, unit = f"Figure 1, K = {K}", "nats a record"
        rise = [max(0.0, float(np.diff(curve).max(initial=0.0))) for curve in curves["ILR"]]
        ratio = np.log(seconds["ILR"]) - np.log(seconds["CGS"])
        claims += [
            Claim(where, "ILR has a lower perplexity than CGS", nats["CGS"] - nats["ILR"], unit),
            Claim(where, "(ours) ILR is below averaged CGS", nats[AVERAGED] - nats["ILR"], unit),
            Claim(where, "perplexity of ILR falls until the end (within 0.005)", rise, unit, 0.005),
            Claim(where, "ILR needs almost the time of CGS (factor below 1.5)", ratio, "log ratio", math.log(1.5)),
        ]  # fmt: skip
    write(out, "figure-1", rows)
    figure(out, "figure-1", panels, ("passes", "perplexity of held-out records"))
    return claims


def figure_2(size: Size, seeds: range, out: Path) -> list[Claim]:
    """The dual topic model: perplexity of held-out records, p(row, column)."""
    claims, rows, panels = [], [], {}
    n_rows, n_columns = (1223, 1214) if size.records > 100_000 else (200, 150)
    for shape in size.shapes:
        curves: dict[str, list[Any]] = {"CGS": [], "ILR": []}
        averaged, truths, conditional = [], [], {"CGS": [], "ILR": []}
        for seed in seeds:
            truth = bt.datasets.KnownDual(n_rows, n_columns, *shape, random_state=seed)
            records = bt.from_matrix(truth.records(size.records, seed), shuffle=False)
            train, test = bt.evaluate.split_records(records, HELD_OUT, seed)
            counts = test.to_scipy()
            cells = counts.tocoo()
            nats = -cells.data @ np.log(truth.joint_probability(*cells.coords))
            truths.append(nats / cells.data.sum())
            for name, method in (("CGS", "dual-cgs"), ("ILR", "dual-ilr")):
                curve, score = dual_curve(shape, method, train, test, seed, size.passes)
                curves[name].append(curve)
                conditional[name].append(score)
            averaged.append(dual_curve(shape, "dual-cgs", train, test, seed, size.passes, average=0.5)[0][-1])
        last = {name: np.array([curve[-1] for curve in values]) for name, values in curves.items()}
        last[AVERAGED] = np.array(averaged)
        rows.append(
            {"topics": f"{shape[0]} x {shape[1]}"}
            | {f"{name}, p(row, column)": math.exp(last[name].mean()) for name in ALL}
            | {"truth": math.exp(np.mean(truths)), "uniform": float(n_rows * n_columns)}
            | {
                f"{name}, p(column given row)": math.exp(np.mean(values))
                for name, values in conditional.items()
            }
        )
        x = looks(size.passes)
        panels[rows[-1]["topics"]] = {
            name: (x, np.exp(np.mean(values, axis=0))) for name, values in curves.items()
        }
        where, unit = f"Figure 2, {shape[0]} x {shape[1]}", "nats a record"
        claims += [
            Claim(where, "dual ILR has a lower perplexity than dual CGS", last["CGS"] - last["ILR"], unit),
            Claim(where, "(ours) dual ILR is below averaged CGS", last[AVERAGED] - last["ILR"], unit),
        ]  # fmt: skip
    write(out, "figure-2", rows)
    figure(out, "figure-2", panels, ("passes", "perplexity of held-out records"))
    return claims


def dual_curve(
    shape: tuple[int, int], method: str, train: Any, test: Any, seed: int, passes: int, **how: Any
) -> tuple[np.ndarray, float]:
    """Nats per held-out record, joint, at each look (or at the end of an average), and at last given its row."""
    curve = []

    def look(event: Any) -> None:
        if event.kind == "pass" and len(model.history_) in looks(passes):
            curve.append(-bt.evaluate.log_records(model, test, client=False).joint)

    settings = {**QUIET, "callbacks": [] if how else [look], **how}
    priors = {"row_topic_prior": 0.5, "column_topic_prior": 0.5, "joint_prior": 0.5}
    model = bt.DualTopicModel(*shape, method=method, max_iter=passes, random_state=seed, **priors, **settings)
    model.fit(train)
    score = bt.evaluate.log_records(model, test, client=False)
    return np.array(curve or [-score.joint]), -score.value


def table_4(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """Coherence on the training documents, by the measures of the paper that are there."""
    measures = [name for name in ("lcp", "pmi", "npmi") if name in bt.evaluate.measures.names()]
    values: dict[tuple[str, int, str], list[float]] = {}
    for seed in seeds:
        for name, method in METHODS.items():
            model, *_ = fitted(size.K, method, corpus, seed, size.passes)
            for n_top in size.n_top:
                for measure in measures:
                    score = bt.evaluate.coherence(model, corpus, measure, n_top, client=False).value
                    values.setdefault((name, n_top, measure), []).append(score)
    write(out, "table-4", [
        {"method": name, "top words": n_top}
        | {measure: np.mean(values[name, n_top, measure]) for measure in measures}
        for n_top in size.n_top for name in METHODS
    ])  # fmt: skip
    return [
        Claim(
            f"Table 4, top {n_top} words",
            f"ILR has more coherent topics than CGS by {measure}",
            np.subtract(values["ILR", n_top, measure], values["CGS", n_top, measure]),
            measure,
        )
        for n_top in size.n_top
        for measure in measures
    ]


def table_5(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """Sensitivity to the priors: perplexity over a grid, and its range."""
    grid = [(alpha, eta) for alpha in size.priors for eta in size.priors]
    nats = {name: np.empty((len(grid), len(seeds))) for name in METHODS}
    for column, seed in enumerate(seeds):
        train, held_out = bt.evaluate.split_records(corpus, HELD_OUT, seed)
        test = held_out.to_scipy()
        for row, (alpha, eta) in enumerate(grid):
            for name, method in METHODS.items():
                priors = {"doc_topic_prior": alpha, "topic_word_prior": eta}
                model, *_ = fitted(size.K, method, train, seed, size.grid_passes, **priors)
                nats[name][row, column] = loss(model, train, test)
    write(out, "table-5", [
        {"alpha": alpha} | {
            f"eta {eta}": " / ".join(f"{np.exp(nats[name][grid.index((alpha, eta))].mean()):.1f}" for name in METHODS)
            for eta in size.priors
        }
        for alpha in size.priors
    ])  # fmt: skip
    spread = {name: np.ptp(values, axis=0) for name, values in nats.items()}
    better = (nats["CGS"] - nats["ILR"]).mean(axis=0)
    return [
        Claim("Table 5", "ILR depends less on the priors (range)", spread["CGS"] - spread["ILR"], "nats a record"),
        Claim("Table 5", "ILR has a lower perplexity (mean of the grid)", better, "nats a record"),
    ]  # fmt: skip


def main() -> None:
    given = arguments(__doc__)
    size = TOY if given.toy else FULL if given.full else Size()
    seeds = range(given.seeds)

    sizes = (30, 60, size.K, 15) if given.toy else (1000, 800, size.K, 60)
    corpus = corpus_of(given, "nips-1987-2015" if given.full else "kos", lambda: drawn(*sizes))
    passes = (
        size.passes * (3 * sum(size.topics) + 2 * size.K)
        + 2 * size.grid_passes * len(size.priors) ** 2 * size.K
    )
    announce(given, corpus, lambda: fitted(10, "cgs", corpus, 0, 5), passes * given.seeds / 50 + 60)
    claims = figure_1(corpus, size, seeds, given.out)
    claims += figure_2(size, seeds, given.out)
    claims += table_4(corpus, size, seeds, given.out)
    claims += table_5(corpus, size, seeds, given.out)
    report(given.out, claims)


if __name__ == "__main__":
    main()

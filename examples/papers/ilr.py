"""Rugeles et al., "Infinite latent state replication", rerun: figures 1 and 2, tables 4 and 5, and R replicas.

    python examples/papers/ilr.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

40 % of the records of each document are held out. LDA: exp(-mean log p(word | document)) over them, with theta from
the training records of the document, once by the fold-in that all models share, and once from the training state, the
labels or responsibilities of these records. The dual model: p(row, column) of records drawn from a known model,
whatever --data says. Three columns stand where the paper has two: collapsed Gibbs sampling (CGS) read from its last
labels, a single sample; CGS with its distributions averaged over the last half of its passes, though the training state
is that of the last labels; and infinite latent state replication (ILR). Between CGS and its limit ILR are samplers with
R labels of each token, each worth 1 / R of it: all are removed at once, and R are drawn from one conditional (equation
4.5, of which the last line lacks the 1 / R). Beside them are two references: uniform words, and the words' shares of
the training records or the true model.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bigtopic as bt

sys.path.insert(0, str(Path(__file__).parent))

from _claims import Claim, announce, arguments, corpus_of, drawn, figure, report, write
from _records import (
    THETA,
    Task,
    learned,
    looks,
    of_documents,
    of_pairs,
    references_of_documents,
    references_of_pairs,
)

AVERAGED = "CGS averaged"
UNIT = "nats a record"
MEASURES = ("lcp", "pmi", "npmi")
AXES = ("passes", "perplexity of held-out records")


@dataclass(frozen=True)
class Size:
    """How much is computed: topics of figure 1, passes, shapes of figure 2, records there, topics of tables 4 and 5,
    top words of table 4, priors of table 5 and passes there; R, and the topics of LDA with R labels."""

    topics: tuple[int, ...] = (5, 10, 20, 50)
    passes: int = 100
    shapes: tuple[tuple[int, int], ...] = ((10, 10), (10, 15), (15, 10), (15, 15))
    records: int = 20_000
    K: int = 25
    n_top: tuple[int, ...] = (10, 20, 50)
    priors: tuple[float, ...] = (0.01, 0.1, 0.5)
    grid_passes: int = 60
    replicas: tuple[int, ...] = (1, 4, 16, 64)
    K_replicas: int = 20


TOY = Size((3,), 3, ((2, 3),), 600, 3, (3,), (0.5,), 2, (1, 3), 3)
FULL = Size(records=445_094, priors=(0.01, 0.05, 0.1, 0.25, 0.5), grid_passes=500)


class Compared(NamedTuple):
    """Of each kind, one for each seed: nats of single samples by pass, (seeds, looks, 2), and of averaged ones at the
    end, (seeds, 2); seconds of processors of the single ones, (seeds,)."""

    curves: dict[str, np.ndarray]
    averaged: dict[str, np.ndarray]
    seconds: dict[str, np.ndarray]

    def single(self, i: int) -> dict[str, np.ndarray]:
        """Nats at the end by the score `i`, (seeds,)."""
        return {kind: own[:, -1, i] for kind, own in self.curves.items()}

    def lines(self, i: int, passes: int) -> dict[str, Any]:
        """Curves of a figure."""
        return {kind: (looks(passes), np.exp(own[:, :, i].mean(axis=0))) for kind, own in self.curves.items()}

    def longer(self, one: str, other: str) -> np.ndarray:
        """Log ratio of the seconds of one kind to those of another, (seeds,)."""
        return np.log(self.seconds[one]) - np.log(self.seconds[other])


def compared(task: Task, kinds: dict[str, tuple[Any, dict[str, Any]]], seeds: range, passes: int) -> Compared:
    """Learn and score.

    kinds : {name: (method, settings)}
    """
    found = Compared({}, {}, {})
    for kind, (method, how) in kinds.items():
        curves, averaged, seconds = [], [], []
        task.model(method, 0, 2, **how).fit(task.data(0)[0])  # compiled code is loaded
        for seed in seeds:
            train, score = task.data(seed)
            curve, own = learned(task.model(method, seed, passes, **how), train, score)
            curves.append(curve)
            seconds.append(own)
            averaged.append(score(task.model(method, seed, passes, average=0.5, **how).fit(train)))
        found.curves[kind], found.averaged[kind] = np.array(curves), np.array(averaged)
        found.seconds[kind] = np.array(seconds)
    return found


def two(task: Task) -> dict[str, tuple[Any, dict[str, Any]]]:
    return {name: (method, {}) for name, method in task.methods.items()}


def perplexities(found: Compared, i: int) -> dict[str, float]:
    """The three columns of a figure's table, by the score `i`."""
    single = found.single(i)
    nats = {"CGS": single["CGS"], AVERAGED: found.averaged["CGS"][:, i], "ILR": single["ILR"]}
    return {name: perplexity(own) for name, own in nats.items()}


def perplexity(nats: np.ndarray) -> float:
    return math.exp(nats.mean())


def means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Of perplexities by name."""
    return {name: perplexity(np.log([row[name] for row in rows])) for name in rows[0]}


def of_a_figure(found: Compared, where: str, i: int) -> list[Claim]:
    """What the paper says of both figures, by the score `i`."""
    nats, averaged = found.single(i), found.averaged["CGS"][:, i]
    rise = np.diff(found.curves["ILR"][:, :, i], axis=1).max(axis=1, initial=0.0)
    return [
        Claim(where, "ILR has a lower perplexity than CGS", nats["CGS"] - nats["ILR"], UNIT),
        Claim(where, "(ours) ILR is below averaged CGS", averaged - nats["ILR"], UNIT),
        Claim(where, "perplexity of ILR falls until the end (within 0.005)", rise, UNIT, 0.005),
    ]


def same_time(found: Compared, where: str) -> Claim:
    text = "ILR and CGS need almost the same time (factor below 1.5)"
    return Claim(where, text, found.longer("ILR", "CGS"), "log ratio", math.log(1.5))


def figure_1(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """LDA: perplexity of held-out records by pass."""
    claims, rows = [], []
    panels: dict[str, dict[str, Any]] = {theta: {} for theta in THETA}
    known = means([references_of_documents(corpus, seed) for seed in seeds])
    for K in size.topics:
        task, where = of_documents(corpus, K), f"Figure 1, K = {K}"
        found = compared(task, two(task), seeds, size.passes)
        seconds = {f"{name} seconds": own.mean() for name, own in found.seconds.items()}
        for i, theta in enumerate(THETA):
            rows.append({"K": K, "theta": theta, **perplexities(found, i), **known, **seconds})
            panels[theta][f"K = {K}"] = found.lines(i, size.passes)
            claims += of_a_figure(found, f"{where}, {theta}", i)
        claims.append(same_time(found, where))
    write(out, "figure-1", rows)
    for theta, own in panels.items():
        figure(out, f"figure-1-{theta.replace(' ', '-')}", own, AXES)
    return claims


def figure_2(size: Size, seeds: range, out: Path) -> list[Claim]:
    """The dual topic model: perplexity of held-out records, p(row, column)."""
    claims, rows, panels = [], [], {}
    for shape in size.shapes:
        task, title = of_pairs(size.records, shape), f"{shape[0]} x {shape[1]}"
        found = compared(task, two(task), seeds, size.passes)
        known = means([references_of_pairs(size.records, shape, seed) for seed in seeds])
        columns = {
            f"{name}, {score}": own
            for i, score in enumerate(task.scores)
            for name, own in perplexities(found, i).items()
        }
        rows.append({"topics": title, **columns, **known})
        panels[title] = found.lines(0, size.passes)
        claims += [*of_a_figure(found, f"Figure 2, {title}", 0), same_time(found, f"Figure 2, {title}")]
    write(out, "figure-2", rows)
    figure(out, "figure-2", panels, AXES)
    return claims


def replicas(name: str, task: Task, size: Size, seeds: range, out: Path) -> list[Claim]:
    """R labels of each token next to the limit, ILR: perplexity of single and averaged samples."""
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        f"R = {R}": (task.sampler, {"options": {"replicas": R}}) for R in size.replicas
    }
    labels = list(kinds)
    found = compared(task, {**kinds, "ILR": (task.limit, {})}, seeds, size.passes)
    write(out, f"replicas-{name}", [
        {"labels": kind}
        | {f"single, {score}": perplexity(own[:, -1, i]) for i, score in enumerate(task.scores)}
        | {f"averaged, {score}": perplexity(found.averaged[kind][:, i]) for i, score in enumerate(task.scores)}
        | {"seconds": found.seconds[kind].mean()}
        for kind, own in found.curves.items()
    ])  # fmt: skip
    panels = {score: found.lines(i, size.passes) for i, score in enumerate(task.scores)}
    figure(out, f"replicas-{name}", panels, AXES)
    one, most, where, claims = labels[0], labels[-1], f"Replicas, {name}", []
    for i, score in enumerate(task.judged):
        of, nats, averaged = f"{where}, {score}", found.single(i), found.averaged[one][:, i]
        claims += [
            Claim(of, f"{more} has a lower perplexity than {fewer}", nats[fewer] - nats[more], UNIT)
            for fewer, more in pairwise(labels)
        ]
        claims += [
            Claim(of, f"{most} comes within 0.02 of ILR", nats[most] - nats["ILR"], UNIT, 0.02),
            Claim(
                of, f"(ours) {one}, averaged, comes within 0.02 of ILR", averaged - nats["ILR"], UNIT, 0.02
            ),
        ]
    text = f"(ours) ILR needs less time than {most}"
    return [*claims, Claim(where, text, found.longer(most, "ILR"), "log ratio")]


def table_4(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """Coherence on the documents that were learned from and on others, and perplexity of the same models."""
    values: dict[tuple[str, int, str], list[float]] = {}
    nats: dict[str, list[Any]] = {}
    for seed in seeds:
        known, others = corpus.split(0.2, seed)
        task = of_documents(known, size.K)
        train, score = task.data(seed)
        for name, method in task.methods.items():
            model = task.model(method, seed, size.passes).fit(train)
            nats.setdefault(name, []).append(score(model))
            for n_top in size.n_top:
                for measure in MEASURES:
                    for on, documents in ((measure, known), (f"{measure}, other documents", others)):
                        found = bt.evaluate.coherence(model, documents, measure, n_top, client=False).value
                        values.setdefault((name, n_top, on), []).append(found)
    columns = list(dict.fromkeys(on for _, _, on in values))
    write(out, "table-4", [
        {"method": name, "top words": n_top}
        | {on: np.mean(values[name, n_top, on]) for on in columns}
        | {f"perplexity, {theta}": perplexity(np.array(own)[:, i]) for i, theta in enumerate(THETA)}
        for n_top in size.n_top for name, own in nats.items()
    ])  # fmt: skip
    return [
        Claim(
            f"Table 4, top {n_top} words",
            f"ILR has more coherent topics than CGS by {on}",
            np.subtract(values["ILR", n_top, on], values["CGS", n_top, on]),
            on.partition(",")[0],
        )
        for n_top in size.n_top
        for on in columns
    ]


def table_5(corpus: bt.Corpus, size: Size, seeds: range, out: Path) -> list[Claim]:
    """Sensitivity to the priors: perplexity over a grid, and its range."""
    task, grid = of_documents(corpus, size.K), [(alpha, eta) for alpha in size.priors for eta in size.priors]
    nats = {name: np.empty((len(grid), len(seeds), len(THETA))) for name in task.methods}
    for column, seed in enumerate(seeds):
        train, score = task.data(seed)
        for row, (alpha, eta) in enumerate(grid):
            for name, method in task.methods.items():
                priors = {"doc_topic_prior": alpha, "topic_word_prior": eta}
                model = task.model(method, seed, size.grid_passes, **priors).fit(train)
                nats[name][row, column] = score(model)
    write(out, "table-5", [
        {"theta": theta, "alpha": alpha} | {
            f"eta {eta}": " / ".join(
                f"{perplexity(own[grid.index((alpha, eta)), :, i]):.1f}" for own in nats.values()
            )
            for eta in size.priors
        }
        for i, theta in enumerate(THETA) for alpha in size.priors
    ])  # fmt: skip
    spread = {name: np.ptp(own, axis=0) for name, own in nats.items()}
    narrower, lower = spread["CGS"] - spread["ILR"], (nats["CGS"] - nats["ILR"]).mean(axis=0)
    return [
        claim
        for i, theta in enumerate(THETA)
        for claim in (
            Claim(f"Table 5, {theta}", "ILR depends less on the priors (range)", narrower[:, i], UNIT),
            Claim(f"Table 5, {theta}", "ILR has a lower perplexity (mean of the grid)", lower[:, i], UNIT),
        )
    ]


def main() -> None:
    given = arguments(__doc__)
    size = TOY if given.toy else FULL if given.full else Size()
    seeds = range(given.seeds)

    sizes = (30, 60, size.K, 15) if given.toy else (1000, 800, size.K, 60)
    corpus = corpus_of(given, "nips-1987-2015" if given.full else "kos", lambda: drawn(*sizes))
    of_R = of_documents(corpus, size.K_replicas)
    probe, (train, _) = of_R.model("cgs", 0, 20), of_R.data(0)
    work = (
        size.passes * (5 * sum(size.topics) + 3 * size.K + size.K_replicas * (10 + sum(size.replicas) / 8))
        + 2 * size.grid_passes * len(size.priors) ** 2 * size.K
    )
    announce(given, corpus, lambda: probe.fit(train), work * given.seeds / (20 * size.K_replicas) + 60)
    claims = figure_1(corpus, size, seeds, given.out)
    claims += figure_2(size, seeds, given.out)
    claims += replicas("LDA", of_R, size, seeds, given.out)
    claims += replicas("dual", of_pairs(size.records, size.shapes[0]), size, seeds, given.out)
    claims += table_4(corpus, size, seeds, given.out)
    claims += table_5(corpus, size, seeds, given.out)
    report(given.out, claims)


if __name__ == "__main__":
    main()

"""Than and Doan, "Dual online inference for latent Dirichlet allocation", rerun: figures 1 to 5.

    python examples/papers/ope.py [--data fetched|demo|synthetic|PATH] [--full | --toy] [--out results]

The score is the log probability of held-out tokens by document completion (70 % observed), with each method's own
inference, as in the paper. The score with the fold-in that all models share, which compares topics and not inference,
stands beside it. NPMI is of ten words, on the training documents. Figures 1 and 2 are also drawn for documents cut to
eight tokens, which stand in for the paper's tweets. Seconds are of one processor. A seed is another split and start.
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
METHODS = {
    "ML-OPE": "ml-ope",
    "Online-OPE": "online-ope",
    "Streaming-OPE": "streaming-ope",
    "Online-CGS": "online-cgs",
    "Online-CVB0": "scvb0",
    "Online-VB": "online-vb",
    "Streaming-VB": "streaming-vb",
}
BESIDE = {"Online-FW": "online-fw"}  # Frank-Wolfe, which the paper does not run
INFERENCE: dict[str, tuple[str, dict[str, Any]]] = {
    "OPE": ("ope", {"n_iter": 50}),
    "CGS": ("gibbs", {"burn_in": 25, "samples": 25}),
    "CVB0": ("cvb0", {"max_doc_update_iter": 50}),
    "VB": ("vb", {"max_doc_update_iter": 50, "mean_change_tol": 1e-4}),
}
SHORT = 8  # tokens of a short text
FACTOR = 1000  # of two times, at most: the paper's largest, and what a score that is not reached counts
UNIT = "nats a token"
Splits = Sequence[tuple[bt.Corpus, bt.Corpus]]


@dataclass(frozen=True)
class Size:
    """Topics, documents of a minibatch, passes and looks of each; grids of figure 3; documents, runs and iterations of
    figure 5."""

    K: int = 50
    batch_size: int = 200
    passes: int = 5
    looks: int = 4
    batches: tuple[int, ...] = (50, 200, 500, 1000)
    iterations: tuple[int, ...] = (10, 20, 50, 100)
    decays: tuple[float, ...] = (0.6, 0.75, 0.9, 1.0)
    offsets: tuple[float, ...] = (1, 10, 100, 1000)
    n_docs: int = 100
    runs: int = 10


TOY = Size(3, 20, 2, 1, (10, 20), (20, 25), (0.6, 0.9), (1, 100), 5, 3)
FULL = Size(100, 5000, 2, 6, (1000, 5000, 10_000), (20, 50, 100), n_docs=100)


@dataclass(frozen=True)
class Curve:
    """Looks at a model while it learns: documents seen, seconds of learning, score by the method's own and by the
    common inference, and NPMI."""

    documents: np.ndarray
    seconds: np.ndarray
    own: np.ndarray
    common: np.ndarray
    npmi: np.ndarray

    def seconds_to(self, score: float, by: str) -> float:
        """Seconds until the score is reached; infinite if it is not."""
        reached = np.flatnonzero(getattr(self, by) >= score)
        return float(self.seconds[reached[0]]) if len(reached) else np.inf


Curves = dict[str, list[Curve]]


def learned(size: Size, method: str, train: bt.Corpus, seed: int, **how: Any) -> Any:
    """A model after `passes` passes, with the paper's priors 1 / K."""
    settings = {**QUIET, "batch_size": size.batch_size, "max_iter": size.passes, **how}
    priors = {"doc_topic_prior": 1 / size.K, "topic_word_prior": 1 / size.K}
    return bt.LDA(size.K, method=method, random_state=seed, **priors, **settings).fit(train)


def scores(model: Any, test: bt.Corpus) -> tuple[float, float]:
    """Held-out nats per token, by the method's own and by the common inference."""
    found = bt.evaluate.log_predictive(model, test, ratio=0.7, inference="both", client=False)
    return found.own.value, found.value


def curve(size: Size, method: str, train: bt.Corpus, test: bt.Corpus, seed: int) -> Curve:
    """The same run twice: looked at, and timed."""
    updates = -(-train.n_docs // size.batch_size)
    every = max(1, updates // size.looks)
    held_out = bt.evaluate.Watch(test, "log-predictive", every, ratio=0.7, inference="both")
    coherent = bt.evaluate.Watch(train, "npmi", every)
    looked = learned(size, method, train, seed, callbacks=[held_out, coherent])
    rows = [row for row in looked.history_ if "log-predictive" in row.get("measures", ())]
    documents = np.array([row["n_docs"] for row in rows])
    begun = time.process_time()
    learned(size, method, train, seed)
    seconds = (time.process_time() - begun) * documents / (size.passes * train.n_docs)
    names = "log-predictive own", "log-predictive", "npmi"
    found = ([row["measures"][name] for row in rows] for name in names)
    return Curve(documents, seconds, *map(np.array, found))


def figures_1_and_2(splits: Splits, size: Size, out: Path, texts: str) -> tuple[list[Claim], Curves]:
    """Score and NPMI against seconds and documents; `texts` names the documents."""
    curves = {
        name: [curve(size, method, *split, seed) for seed, split in enumerate(splits)]
        for name, method in (METHODS | BESIDE).items()
    }
    write(out, f"figures-1-and-2-{texts}", [
        {"method": name, "documents": n, "seconds": _mean(own, "seconds")[i],
         "own inference": _mean(own, "own")[i], "common inference": _mean(own, "common")[i],
         "NPMI": _mean(own, "npmi")[i]}
        for name, own in curves.items() for i, n in enumerate(own[0].documents)
    ])  # fmt: skip
    for number, x in ((1, "seconds"), (2, "documents")):
        panels = {
            title: {name: (_mean(own, x), _mean(own, y)) for name, own in curves.items()}
            for title, y in ((f"{UNIT}, own inference", "own"), (f"{UNIT}, common", "common"), ("NPMI", "npmi"))
        }  # fmt: skip
        figure(out, f"figure-{number}-{texts}", panels, (x, "held-out score, and coherence"))
    where = f"Figures 1 and 2, {texts} texts"
    common = _differences(curves, size, "common")
    claims = [
        Claim(where, text, own, unit, margin, common[text][0])
        for text, (own, unit, margin) in _differences(curves, size, "own").items()
    ]
    return claims + _claims_of_coherence(curves, where), curves


def _mean(curves: Sequence[Curve], name: str) -> np.ndarray:
    return np.mean([getattr(one, name) for one in curves], axis=0)


def _differences(curves: Curves, size: Size, by: str) -> dict[str, tuple[Any, str, float | None]]:
    """{claim: (a difference for each seed, its unit, margin)}, by one of the two inferences."""
    values = {name: [getattr(one, by) for one in own] for name, own in curves.items()}
    last = {name: np.array([one[-1] for one in own]) for name, own in values.items()}
    first = np.array([value[0] for value in values["Online-OPE"]])
    pass_1 = [
        value[_end_of_pass(size, one)]
        for value, one in zip(values["Online-OPE"], curves["Online-OPE"], strict=True)
    ]
    best = np.max([last[name] for name in METHODS if name != "Online-OPE"], axis=0)
    worst = np.min([last[name] for name in METHODS if name != "Streaming-OPE"], axis=0)
    falls = [max(0.0, float(-np.diff(value).min(initial=0.0))) for value in values["ML-OPE"]]
    gained = 2 * np.array(pass_1) - first - last["Online-OPE"]
    found: dict[str, tuple[Any, str, float | None]] = {
        "Online-OPE has the best score of the seven methods": (last["Online-OPE"] - best, UNIT, None),
        "Streaming-OPE has the worst score": (worst - last["Streaming-OPE"], UNIT, None),
        "(ours) Frank-Wolfe matches OPE within 0.02": (last["Online-OPE"] - last["Online-FW"], UNIT, 0.02),
        "most of the gain of Online-OPE comes in the first pass": (gained, UNIT, None),
        "ML-OPE rises steadily (falls by less than 0.005 between looks)": (falls, UNIT, 0.005),
    }
    for mine in ("ML-OPE", "Online-OPE"):
        for other in ("Online-CGS", "Online-CVB0", "Online-VB"):
            text = f"{mine} reaches the last score of {other} in less time"
            pairs = zip(curves[mine], curves[other], last[other], strict=True)
            times = [one.seconds_to(goal, by) / theirs.seconds[-1] for one, theirs, goal in pairs]
            found[text] = (np.clip(-np.log(times), -np.log(FACTOR), np.log(FACTOR)), "log ratio", None)
    return found


def _end_of_pass(size: Size, one: Curve) -> int:
    """The last look of the first pass."""
    return int(np.searchsorted(one.documents, one.documents[-1] / size.passes, side="right")) - 1


def _claims_of_coherence(curves: Curves, where: str) -> list[Claim]:
    last = {name: np.array([one.npmi[-1] for one in own]) for name, own in curves.items()}
    worst = np.min([last[name] for name in METHODS if name != "Streaming-OPE"], axis=0)
    falls = [np.mean(np.diff(one.npmi) < 0) - np.mean(np.diff(one.own) < 0) for one in curves["Online-OPE"]]
    return [
        Claim(where, "(ours) Streaming-OPE has the worst NPMI", worst - last["Streaming-OPE"], "NPMI"),
        Claim(where, "NPMI rises less steadily than the score (share of looks at which it falls)", falls, "of looks"),
    ]  # fmt: skip


def figure_3(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Sensitivity of ML-OPE to one setting at a time."""
    grids: dict[str, Sequence[Any]] = {
        "batch_size": size.batches,
        "n_iter": size.iterations,
        "learning_decay": size.decays,
        "learning_offset": size.offsets,
    }
    found: dict[str, np.ndarray] = {}  # (own and common, seeds, values)
    for name, values in grids.items():
        runs = [
            [scores(learned(size, "ml-ope", train, seed, **_setting(name, value)), test) for value in values]
            for seed, (train, test) in enumerate(splits)
        ]
        found[name] = np.moveaxis(np.array(runs), -1, 0)
    write(out, "figure-3", [
        {"setting": name, "value": value, "own inference": found[name][0, :, i].mean(),
         "common inference": found[name][1, :, i].mean()}
        for name, values in grids.items() for i, value in enumerate(values)
    ])  # fmt: skip
    curves = {name: {"ML-OPE": (grids[name], found[name][0].mean(axis=0))} for name in grids}
    figure(out, "figure-3", curves, ("value", "held-out nats a token"))
    few = size.iterations.index(20)  # the paper's least
    larger, smaller = np.diff(found["batch_size"]), -np.diff(found["learning_offset"])
    return [
        _claim("larger minibatches are better", larger.sum(axis=-1)),
        _claim("larger minibatches are better at each step of the grid", larger.min(axis=-1)),
        _claim("the number of iterations hardly matters, from 20 on (within 0.05)",
               np.ptp(found["n_iter"][..., few:], axis=-1), 0.05),
        _claim("kappa hardly matters (within 0.05)", np.ptp(found["learning_decay"], axis=-1), 0.05),
        _claim("larger tau is worse", smaller.sum(axis=-1)),
        _claim("larger tau is worse at each step of the grid", smaller.min(axis=-1)),
    ]  # fmt: skip


def _claim(text: str, differences: np.ndarray, margin: float | None = None) -> Claim:
    """A claim on figure 3; differences (own and common, seeds)."""
    return Claim("Figure 3", text, differences[0], UNIT, margin, differences[1])


def _setting(name: str, value: Any) -> dict[str, Any]:
    return {"options": {name: value}} if name == "n_iter" else {name: value}


def figure_4(splits: Splits, size: Size, out: Path) -> list[Claim]:
    """Seconds that a document takes to infer, with at most 50 iterations, on one thread."""
    seconds: dict[str, list[float]] = {name: [] for name in INFERENCE}
    for seed, (train, test) in enumerate(splits):
        model = learned(size, "online-ope", train, seed)
        for name, (inference, options) in INFERENCE.items():
            model.transform(test, inference=inference, options=options)
            begun = time.process_time()
            model.transform(test, inference=inference, options=options)
            seconds[name].append((time.process_time() - begun) / test.n_docs)
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
    corpus = corpus_of(given, "nytimes" if given.full else "kos", lambda: drawn(*sizes), large=True)
    splits = [corpus.split(min(1000, corpus.n_docs // 5), seed) for seed in range(given.seeds)]
    fits = 4 * len(METHODS) + sum(map(len, (size.batches, size.iterations, size.decays, size.offsets)))
    announce(given, corpus, lambda: learned(size, "online-cgs", splits[0][0], 0), given.seeds * fits / 2)
    claims, long = figures_1_and_2(splits, size, given.out, "long")
    short_texts = shortened(corpus)
    halves = [short_texts.split(min(1000, short_texts.n_docs // 5), seed) for seed in range(given.seeds)]
    own, short = figures_1_and_2(halves, size, given.out, "short")
    npmi = [[one.npmi[-1] for one in curves["Online-OPE"]] for curves in (long, short)]
    claims += [*own, Claim("Figures 1 and 2", "NPMI is lower on short texts", np.subtract(*npmi), "NPMI")]
    claims += figure_3(splits, size, given.out)
    claims += figure_4(splits, size, given.out)
    claims += figure_5(splits, size, given.out)
    report(given.out, claims)


if __name__ == "__main__":
    main(arguments(__doc__))

"""Third-party oracles: bounds and scores of the same algorithms in other packages, and the speed of Gibbs sampling.

bounds: batch variational Bayes, ours and scikit-learn's, from the same start, with the same priors, passes and inner
stop. scores: collapsed Gibbs sampling, ours and tomotopy's, each on one thread, with the same documents and fixed
priors; one evaluator scores the topics of the last sample and the mean of samples some sweeps apart. speed: sweeps of
both samplers on two threads, in turn; documents are in each system's own form and have labels.

    python -m tests.benchmarks oracles --data FOLDER
    python -m tests.benchmarks oracles --corpora demo --parts scores --sweeps 20 --seeds 1
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import results
from curves import Heat
from peers import PEERS, Task, tomotopy_model, tomotopy_topics
from timing import Timer

sys.path.insert(0, str(Path(__file__).parents[1]))

PRIORS = ("doc_topic_prior", "topic_word_prior")
AGREES = 1e-3  # relative difference of bounds
INNER = {"max_doc_update_iter": 100, "mean_change_tol": 1e-3}  # scikit-learn's
N_SAMPLES, APART = 10, 10  # samples of a mean, and sweeps from one to the next
LAST, MEAN = "the last sample", "the mean of samples"
WARM, TIMED = 50, 10  # sweeps before those that are timed, because the first are slower; and of a timed run
BOUNDS = ("corpus", "passes", "bigtopic, nats per token", "scikit-learn", "relative difference", "verdict")
SCORES = ("corpus", "system", "topics of", "nats per held-out token", "better than tomotopy's last by",
          "verdict")  # fmt: skip
SPEED = ("corpus", "topics", "bigtopic, tokens a second", "tomotopy", "bigtopic is times faster")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    corpora.add_options(parser, "ap,bbc,demo")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--topics", default="100,1000", help="of speed; the others have the first number")
    parser.add_argument("--documents", type=int, default=500, help="of bounds")
    parser.add_argument("--passes", type=int, default=50, help="of bounds")
    parser.add_argument("--sweeps", type=int, default=500, help="of scores")
    parser.add_argument("--seeds", type=int, default=5, help="of scores")
    parser.add_argument("--runs", type=int, default=7, help="of speed that count")
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in given.parts.split(","):
        if part not in PARTS:
            raise SystemExit(f"--parts: no {part!r}; there are {', '.join(PARTS)}")
        peer, compare = PARTS[part]
        missing = PEERS[peer].missing()
        if missing:
            print(f"{part} is left out: {missing}")
        else:
            compare(given, [int(n) for n in given.topics.split(",")])


def bounds(given: argparse.Namespace, topics: list[int]) -> None:
    """Batch variational Bayes: the same bound after the same passes."""
    rows: list[tuple[str, ...]] = [BOUNDS]
    figures = []
    for name in given.corpora.split(","):
        counts = corpora.load(name, given.data, given.folder).to_scipy("stored")[: given.documents]
        for passes, ours, theirs in bounds_of(counts.astype(np.float64), topics[0], given.passes):
            difference = abs(ours - theirs) / abs(theirs)
            same = "the same" if difference <= AGREES else "differs"
            rows.append((name, str(passes), f"{ours:.6f}", f"{theirs:.6f}", f"{difference:.1e}", same))
            figures.append({"corpus": name, "passes": passes, "bigtopic": ours, "scikit-learn": theirs})
    caption = (
        f"The first {given.documents:,} documents of each corpus, {topics[0]} topics, priors 1 / topics; the same up "
        f"to a relative difference of {AGREES:g}."
    )
    results.report(given, "oracles-bounds", caption, rows, figures)


def bounds_of(counts: Any, n_components: int, most: int) -> list[tuple[int, float, float]]:
    """(passes, our bound, scikit-learn's) in nats per token, from the start to `most` passes."""
    from reference.scikit_learn import batch_vb

    from bigtopic.estimators.lda import LDA

    n_words, n_tokens = counts.shape[1], counts.sum()
    same = {**dict.fromkeys(PRIORS, 1 / n_components), **INNER}
    told = {"tol": 0.0, "options": {"bound": True}, "client": False, "n_threads": 2, "progress": False}
    topics = np.random.default_rng(0).dirichlet(np.full(n_words, 100.0), n_components)
    model = LDA(n_components, method="vb", max_iter=most + 1, init=topics, **same, **told).fit(counts)
    ours = [row["bound"] for row in model.history_]  # that of a pass is of the topics with which it began
    start = 1 / n_components + topics * n_tokens / n_components
    found = []
    for passes in sorted({0, 1, min(10, most), most}):
        theirs = batch_vb(counts, start, passes, **same).score(counts) / n_tokens
        found.append((passes, ours[passes], float(theirs)))
    return found


def scores(given: argparse.Namespace, topics: list[int]) -> None:
    """Collapsed Gibbs sampling: topics that predict held-out tokens as well."""
    rows: list[tuple[str, ...]] = [SCORES]
    figures = []
    for name in given.corpora.split(","):
        corpus = corpora.load(name, given.data, given.folder)
        found = []
        for seed in range(given.seeds):
            found.append(scores_of(heat_of(name, corpus, topics[0], seed), given.sweeps))
            shown = (f"{system}, {which} {score:.4f}" for (system, which), score in found[-1].items())
            print(f"{name}, seed {seed}: {'; '.join(shown)}", flush=True)
        rows += [(name, *cells(found, label)) for label in found[0]]
        figures.append({"corpus": name, "scores": [{" ".join(k): v for k, v in f.items()} for f in found]})
    prior, of_words = priors(topics[0])
    caption = (
        f"{topics[0]} topics, priors {prior:g} and {of_words:g}, {given.sweeps} sweeps, {given.seeds} seeds; the mean "
        f"is of {len(sampled(given.sweeps))} samples, {APART} sweeps apart. Means over seeds and their standard "
        "errors, of differences paired by seed."
    )
    results.report(given, "oracles-scores", caption, rows, figures)


def scores_of(heat: Heat, sweeps: int) -> dict[tuple[str, str], float]:
    """{(system, which topics): held-out nats per token} of one seed."""
    found = {}
    for system, samples in (("tomotopy", peer_samples), ("bigtopic", own_samples)):
        topics = samples(heat, sweeps)
        found[system, LAST] = heat.judge(topics[-1]).value
        found[system, MEAN] = heat.judge(np.mean(topics, axis=0)).value
    return found


def sampled(sweeps: int) -> list[int]:
    """The sweeps after which samples are taken, the last of them included."""
    return list(range(sweeps, max(0, sweeps - N_SAMPLES * APART), -APART))[::-1]


def own_samples(heat: Heat, sweeps: int) -> list[np.ndarray]:
    """p(word | topic) of each sample, on one thread."""
    found, ends = [], sampled(sweeps)

    def look(event: Any) -> None:
        if event.kind == "pass" and event.pass_number in ends:
            found.append(model.get_topics())

    model = heat.model(method="cgs", max_iter=sweeps, callbacks=[look]).set_params(n_threads=1)
    model.fit(heat.train)
    return found


def peer_samples(heat: Heat, sweeps: int) -> list[np.ndarray]:
    """The same of tomotopy."""
    model, found = tomotopy_model(heat.task), []
    for n in np.diff([0, *sampled(sweeps)]):
        model.train(int(n), workers=1)
        topics = tomotopy_topics(model, heat.task)
        found.append(topics / topics.sum(axis=1, keepdims=True))
    return found


def cells(found: list[dict[tuple[str, str], float]], label: tuple[str, str]) -> tuple[str, ...]:
    """A system's scores; ours next to those of tomotopy's last sample."""
    system, which = label
    values = np.array([f[label] for f in found])
    if system == "tomotopy":
        return system, which, with_error(values), "", ""
    by = values - [f["tomotopy", LAST] for f in found]
    return system, which, with_error(values), with_error(by), verdict(by, which)


def verdict(by: np.ndarray, which: str) -> str:
    """A mean of samples must be no worse, a sample within two standard errors or better."""
    if which == MEAN:
        return "no worse" if by.mean() >= 0 else "worse"
    if len(by) < 2:
        return "–"
    near = by.mean() >= -2 * error(by)
    return "within two standard errors or better" if near else "worse by more than two standard errors"


def error(values: np.ndarray) -> float:
    """The standard error of their mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def with_error(values: np.ndarray) -> str:
    """Their mean, with its standard error where there are several."""
    return f"{values.mean():.4f}" + (f" ± {error(values):.4f}" if len(values) > 1 else "")


def speed(given: argparse.Namespace, topics: list[int]) -> None:
    """Collapsed Gibbs sampling: tokens a second on two threads."""
    rows: list[tuple[str, ...]] = [SPEED]
    figures, timer = [], Timer(2)
    for name in given.corpora.split(","):
        corpus = corpora.load(name, given.data, given.folder)
        for n_components in topics:
            own = heat_of(name, corpus, n_components, 0)
            sweeps = {"bigtopic": own_sweeps(own), "tomotopy": peer_sweeps(own.task)}
            times = timer.alternate(sweeps, given.runs)
            rates = {system: TIMED * own.train.n_tokens / t.seconds for system, t in times.items()}
            share = results.with_spread(np.median(rates["bigtopic"]) / rates["tomotopy"])
            rows.append((name, str(n_components), *map(results.with_spread, rates.values()), share))
            found = {system: rate.tolist() for system, rate in rates.items()}
            figures.append({"corpus": name, "topics": n_components, **found})
            print(" | ".join(rows[-1]), flush=True)
    caption = (
        f"Two threads, after {WARM} sweeps; medians of {given.runs} alternating runs of {TIMED} sweeps, "
        "with quartiles."
    )
    results.report(given, "oracles-speed", caption, rows, figures)
    print(f"\n{timer}")


def own_sweeps(heat: Heat) -> Callable[[], None]:
    """Some more sweeps, with a slice of the documents for each thread."""
    from bigtopic.learning.stopping import Limits
    from bigtopic.learning.train import train
    from bigtopic.methods import get
    from bigtopic.state.new_model import new_model

    method, corpus, task = get("cgs"), heat.train, heat.task
    size = method.batch_size_for(corpus.n_docs)
    assert size is not None
    told = {"batch_size": size, "slice_size": -(-min(size, corpus.n_docs) // 2), "n_threads": 2}
    model = new_model(
        method,
        task.n_components,
        corpus.vocabulary,
        n_tokens=corpus.n_tokens,
        priors={name: getattr(task, name) for name in PRIORS},
        seed=task.seed,
    )
    train(model, corpus, Limits(WARM, progress=False), **told)
    return lambda: train(model, corpus, Limits(TIMED, progress=False), **told)


def peer_sweeps(task: Task) -> Callable[[], None]:
    """The same of tomotopy."""
    model = tomotopy_model(task)
    model.train(WARM, workers=2)
    return lambda: model.train(TIMED, workers=2)


def heat_of(name: str, corpus: Any, n_components: int, seed: int) -> Heat:
    """The documents of a seed, with the priors of method `cgs` for both systems."""
    return Heat(name, corpus, n_components, priors(n_components), seed)


def priors(n_components: int) -> tuple[float, float]:
    """Of topics in documents and of words in topics."""
    from bigtopic.methods import get

    return tuple(get("cgs").prior(name, n_components) for name in PRIORS)


PARTS = {"bounds": ("scikit-learn", bounds), "scores": ("tomotopy", scores), "speed": ("tomotopy", speed)}

if __name__ == "__main__":
    main()

"""Time to quality: how long a fit takes to score as other systems do after all their passes.

For each seed every system learns from the same documents in the same random order, with the same priors, on two
processors, and is scored by one evaluator on the same held-out tokens (document completion, one inference for all).
Seconds are of training alone. Ours are those of a real fit of `online-cvb0` that is ended at the first point of its
curve that scores no less than the other system at its end, and is scored again: the median of runs that take turns.

    python -m tests.benchmarks race --data FOLDER
    python -m tests.benchmarks race --corpora demo --topics 1000 --priors peers --peers tomotopy --curves
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import corpora
import numpy as np
import results
from curves import Curve, Heat
from peers import PEERS
from timing import Timer, Timing

ONLY_ON = {"gensim-authors": (), "spark": ("demo",)}  # elsewhere they must be named
HEAD = (
    "system", "nats per token", "full fit is better by", "NPMI", "seconds", "ours to that score",
    "times faster", "at least, on its way",
)  # fmt: skip


@dataclass
class Outcome:
    """One seed.

    ours : our curve
    full : times of fits that are not ended early
    theirs : curves of the others
    reached : {system: times of fits that end once they score as it does, or None when none does}
    """

    heat: Heat
    ours: Curve
    full: Timing
    theirs: dict[str, Curve]
    reached: dict[str, Timing | None]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    corpora.add_options(parser, "ap,bbc,demo")
    parser.add_argument(
        "--peers", help=f"of {', '.join(PEERS)}; default all but gensim-authors, spark on demo only"
    )
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--priors", choices=("own", "peers"), default="own",
                        help="of all systems: those of online-cvb0, or 1 / topics")  # fmt: skip
    parser.add_argument("--passes", type=int, help="of our curve; default the method's")
    parser.add_argument("--runs", type=int, default=7, help="of ours that count, for each time")
    parser.add_argument(
        "--points", type=int, help="end the others' curves after so many points: to try things"
    )
    parser.add_argument("--curves", action="store_true", help="draw the curves into docs/images/")
    parser.add_argument("--fresh", action="store_true", help="measure the others again")
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    timer = Timer(2)
    for name in given.corpora.split(","):
        race(given, name, timer)
    print(f"\n{timer}")


def race(given: argparse.Namespace, name: str, timer: Timer) -> None:
    """One corpus, all seeds."""
    corpus = corpora.load(name, given.data, given.folder)
    outcomes = [run(given, name, corpus, seed, timer) for seed in range(given.seeds)]
    label = f"race-{name}" + "".join(f"-{x}" for x in (given.topics, given.priors) if x not in (100, "own"))
    picture = None
    if given.curves:
        from plots import draw_race

        unigram = float(np.mean([o.heat.baseline.unigram for o in outcomes]))
        picture = draw_race(label, [o.ours for o in outcomes], [o.theirs for o in outcomes], unigram)
    held_out = np.mean([o.heat.baseline.n_tokens for o in outcomes])
    caption = (
        f"{name}: {corpus.n_docs:,} documents, {corpus.n_words:,} words, {corpus.n_tokens:,.0f} tokens; "
        f"{given.topics} topics, priors {outcomes[0].heat.task.doc_topic_prior:g} and "
        f"{outcomes[0].heat.task.topic_word_prior:g}, {given.seeds} seeds, {held_out:,.0f} held-out tokens"
    )
    results.report(given, label, caption, rows(outcomes), figures(outcomes), picture)


def run(given: argparse.Namespace, name: str, corpus: Any, seed: int, timer: Timer) -> Outcome:
    """One seed: the others' curves, ours, and times of fits that end where a score is reached."""
    heat = Heat(name, corpus, given.topics, priors(given), seed, "online-cvb0")
    theirs = {}
    for peer in peers(given, name, heat):
        efforts = PEERS[peer].efforts[: given.points]
        theirs[peer] = heat.peer_curve(peer, efforts, timer, given.folder / "peers", given.fresh)
        curve = theirs[peer]
        print(f"{name}, seed {seed}, {peer}: {curve.scores[-1]:.4f} in {curve.seconds[-1]:.2f} s, "
              f"measured {curve.measured}, control {curve.control / timer.best:.2f} times the best",
              flush=True)  # fmt: skip
    heat.fit()
    ours = heat.own_curve(given.passes, timer)
    points = {peer: ours.first_with(curve.scores[-1]) for peer, curve in theirs.items()}
    updates = {peer: None if i is None else ours.efforts[i] for peer, i in points.items()}
    fits = {n: (lambda n=n: heat.fit(n, given.passes)) for n in updates.values() if n is not None}
    times = timer.alternate({None: heat.fit, **fits}, given.runs)
    reached = {peer: times[n] if n is not None else None for peer, n in updates.items()}
    for peer, timing in reached.items():
        assert timing is None or heat.judge(timing.result.get_topics()).value >= theirs[peer].scores[-1]
    return Outcome(heat, ours, times[None], theirs, reached)


def priors(given: argparse.Namespace) -> tuple[float, float]:
    """Of topics in documents and of words in topics, for all systems."""
    if given.priors == "peers":
        return 1 / given.topics, 1 / given.topics
    from bigtopic.methods import get

    ours = get("online-cvb0")
    return tuple(ours.prior(name, given.topics) for name in ("doc_topic_prior", "topic_word_prior"))


def peers(given: argparse.Namespace, name: str, heat: Heat) -> list[str]:
    """The systems to race against that are there; says what to do about those that are not."""
    wanted = [p for p in PEERS if name in ONLY_ON.get(p, (name,))]
    if given.peers is not None:
        wanted = [p for p in given.peers.split(",") if p]
    there = []
    for peer in wanted:
        if peer not in PEERS:
            raise SystemExit(f"--peers: no {peer!r}; there are {', '.join(PEERS)}")
        missing = PEERS[peer].missing()
        if PEERS[peer].needs_authors and heat.task.authors is None:
            missing = f"{name} has no authors"
        if missing:
            print(f"{peer} is left out: {missing}")
        else:
            there.append(peer)
    return there


def least_ratio(theirs: Curve, ours: Curve) -> float:
    """How many times faster we reach the scores of their curve's points, at the least; nan when we miss one."""
    ratios = []
    for seconds, score in zip(theirs.seconds, theirs.scores, strict=True):
        point = ours.first_with(score)
        ratios.append(float("nan") if point is None else seconds / ours.seconds[point])
    return float(np.min(ratios))


def rows(outcomes: list[Outcome]) -> list[tuple[str, ...]]:
    """The table: means of scores, medians of times, over seeds."""
    scores = [o.heat.judge(o.full.result).value for o in outcomes]
    npmi = [o.heat.npmi(o.full.result) for o in outcomes]
    seconds = results.with_spread([o.full.median for o in outcomes])
    found = [HEAD, ("bigtopic", f"{np.mean(scores):.4f}", "", f"{np.mean(npmi):.3f}", seconds, "", "", "")]
    for peer in outcomes[0].theirs:
        curves = [o.theirs[peer] for o in outcomes]
        times = [o.reached[peer] for o in outcomes]
        found.append(
            (
                f"{peer}, {curves[0].efforts[-1]} {PEERS[peer].unit}",
                *difference(scores, [c.scores[-1] for c in curves]),
                f"{np.mean([c.npmi for c in curves]):.3f}",
                results.with_spread([c.seconds[-1] for c in curves]),
                *ratios(curves, times),
                results.with_spread([least_ratio(o.theirs[peer], o.ours) for o in outcomes]),
            )
        )
    unigram = difference(scores, [o.heat.baseline.unigram for o in outcomes])
    return [*found, ("unigram", *unigram, "", "", "", "", "")]


def difference(ours: list[float], theirs: list[float]) -> tuple[str, str]:
    """Their mean, and by how much ours is better, with the standard error of the paired difference."""
    by = np.asarray(ours) - np.asarray(theirs)
    error = f" ± {by.std(ddof=1) / np.sqrt(len(by)):.4f}" if len(by) > 1 else ""
    return f"{np.mean(theirs):.4f}", f"{by.mean():.4f}{error}"


def ratios(curves: list[Curve], times: list[Timing | None]) -> tuple[str, str]:
    """Our seconds to their score, and how many times theirs are as long."""
    found = [time.median for time in times if time is not None]
    if len(found) < len(times):
        return "not reached", "–"
    share = [curve.seconds[-1] / seconds for curve, seconds in zip(curves, found, strict=True)]
    return results.with_spread(found), results.with_spread(share)


def figures(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Everything, for the file."""
    return [
        {
            "seed": o.heat.task.seed,
            "unigram": o.heat.baseline.unigram,
            "held_out_tokens": o.heat.baseline.n_tokens,
            "ours": asdict(o.ours),
            "full": o.full.seconds.tolist(),
            "theirs": {peer: asdict(curve) for peer, curve in o.theirs.items()},
            "reached": {peer: t and t.seconds.tolist() for peer, t in o.reached.items()},
        }
        for o in outcomes
    ]


if __name__ == "__main__":
    main()

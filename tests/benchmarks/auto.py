"""`auto` against other libraries at equal times, against their defaults, and without parts of it.

Parts: `race`, ours and tomotopy's sampling with the same priors, on two processors: held-out score and NPMI of both
after shares of tomotopy's time; `peers`, every library at its own defaults; `ablation`, `auto` with parts
of it left out or replaced. All topics are scored on the same held-out documents, with the same fold-in. What is
measured is kept in a folder, so that a run that was ended goes on. Spark and MALLET need Java and are not run.

    python -m tests.benchmarks auto --data FOLDER [--draw]
    python -m tests.benchmarks auto --parts race --corpora demo --topics 1000 --seeds 1
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import corpora
import numpy as np
import results
from auto_systems import SYSTEMS, Fitted
from curves import Heat, watched_fit
from peers import PEERS, Point

SHARES = {"ap": 40, "bbc": 40, "demo": 10, "dblp": 4}  # of tomotopy's time, after which ours is compared
GROWTH = 1.2  # of the updates from one point of our curve to the next
SWEEPS = (10, 20, 50, 100, 200, 350, 500)  # of tomotopy's curve
OURS, THEIRS = "bigtopic", "tomotopy"
METHOD = "auto"
ALL = 1 << 30  # candidates: more than there are topics
SETTINGS: dict[str, dict[str, Any]] = {
    METHOD: {},
    "online phase alone": {"options": {"sampling.max_iter": 0}},
    "all topics as candidates": {"options": {"candidates": ALL}},
    "online phase alone with all topics": {"options": {"sampling.max_iter": 0, "candidates": ALL}},
    "steps of online-cvb0": {"options": {"learning_decay": 0.7, "end": 0.0}},
    "from random labels": {"method": "cgs", "max_iter": 40, "average": 0.5, "options": {"sweeps": 3}},
    "the last sample": {"options": {"sampling.average": 0.0}},
    "mean of the last quarter": {"options": {"sampling.average": 0.25}},
    "one sweep per pass": {"options": {"sampling.sweeps": 1}},
    "learned prior of documents": {"learn_doc_topic_prior": "asymmetric"},
}
RACE = (
    "", "seconds", "nats per token", "better by", "NPMI", "higher by", "held-out NPMI", "higher by",
    "lower by two standard errors",
)  # fmt: skip
TABLE = (
    "", "seconds", "nats per token", "it is better by", "NPMI", "higher by", "held-out NPMI", "higher by",
)  # fmt: skip


@dataclass
class Way:
    """A system's way to its topics on one seed's documents.

    efforts, seconds : of its points
    scores, npmi, held_out : nats per held-out token; NPMI on the documents learnt from, and on those held out
    own : nats per held-out token of the last point, where the fold-in has the system's own prior
    whole : seconds of a run that is not looked at
    """

    efforts: list[int]
    seconds: list[float]
    scores: list[float]
    npmi: list[float]
    held_out: list[float]
    own: float
    whole: float
    measured: str

    def at(self, seconds: float) -> int:
        """The last point of at most so many seconds; the first where there is none."""
        return max(0, int(np.searchsorted(self.seconds, seconds, side="right")) - 1)

    def measures(self, point: int = -1) -> np.ndarray:
        """Score, NPMI and NPMI on held-out documents."""
        return np.array([self.scores[point], self.npmi[point], self.held_out[point]])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    corpora.add_options(parser, "ap,bbc,demo,dblp")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="of the part peers")
    parser.add_argument(
        "--settings", default=",".join(SETTINGS), help=f"of the part ablation; {METHOD} is one of them"
    )
    parser.add_argument("--draw", action="store_true", help="draw the curves of race into docs/images/")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    results.add_option(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in given.parts.split(","):
        for name in given.corpora.split(","):
            PARTS[part](given, name, corpora.load(name, given.data, given.folder))


def race(given: argparse.Namespace, name: str, corpus: Any) -> None:
    """Ours and tomotopy, same priors, score and NPMI against seconds."""
    ways: dict[str, list[Way]] = {OURS: [], THEIRS: []}
    for heat in heats(given, name, corpus):
        ways[THEIRS].append(kept(given, name, heat, "race", THEIRS, their_way))
        ways[OURS].append(kept(given, name, heat, "race", OURS, own_way))
    label = f"auto-{name}{_suffix(given)}"
    picture = None
    if given.draw:
        from plots import draw_ways

        picture = draw_ways(label, ways)
    prior = default_priors(given.topics)
    caption = (
        f"{name}: {corpus.n_docs:,} documents, {corpus.n_tokens:,.0f} tokens; {given.topics} topics, priors "
        f"{prior[0]:g} and {prior[1]:.3g}; means of {given.seeds} seeds, differences from tomotopy's end paired by seed"
    )
    results.report(given, label, caption, race_rows(name, ways), figures(ways), picture)


def race_rows(name: str, ways: dict[str, list[Way]]) -> list[tuple[str, ...]]:
    """Tomotopy's end, and ours after shares of its time."""
    theirs = ways[THEIRS]
    end = np.array([way.measures() for way in theirs])
    found = [RACE, (*row(f"tomotopy, {SWEEPS[-1]} sweeps", [way.whole for way in theirs], end, None), "")]
    for share in sorted({SHARES[name], 4}, reverse=True):
        points = [our.at(their.whole / share) for our, their in zip(ways[OURS], theirs, strict=True)]
        own = np.array([way.measures(i) for way, i in zip(ways[OURS], points, strict=True)])
        seconds = [way.seconds[i] for way, i in zip(ways[OURS], points, strict=True)]
        found.append((*row(f"bigtopic, {share} times faster", seconds, own, own - end), verdict(own - end)))
    own = np.array([way.measures() for way in ways[OURS]])
    whole = [way.whole for way in ways[OURS]]
    found.append((*row("bigtopic, at its end", whole, own, own - end), verdict(own - end)))
    return found


def verdict(by: np.ndarray) -> str:
    """The measures that are lower by two standard errors."""
    if len(by) < 2:
        return "–"
    error = by.std(axis=0, ddof=1) / np.sqrt(len(by))
    low = by.mean(axis=0) + 2 * error < 0
    names = np.array(["score", "NPMI", "held-out NPMI"])
    return ", ".join(names[low]) if low.any() else "none"


def peers(given: argparse.Namespace, name: str, corpus: Any) -> None:
    """Every system at its own defaults."""
    ways: dict[str, list[Way]] = {system: [] for system in given.systems.split(",")}
    topics: dict[str, list[np.ndarray]] = {system: [] for system in ways}
    for heat in heats(given, name, corpus):
        for system in ways:
            way, last = kept_topics(given, name, heat, system)
            ways[system].append(way)
            topics[system].append(last)
    head = (*TABLE, "with its own prior", "distance between seeds")
    rows = [head]
    own = np.array([way.measures() for way in ways[OURS]])
    for system, found in ways.items():
        end = np.array([way.measures() for way in found])
        cells = row(system, [way.whole for way in found], end, None if system == OURS else own - end)
        rows.append((*cells, f"{np.mean([way.own for way in found]):.4f}", apart(topics[system])))
    caption = (
        f"{name}: {corpus.n_docs:,} documents; {given.topics} topics, each system with its own defaults and priors on "
        f"two processors; means of {given.seeds} seeds"
    )
    label = "auto-peers" if ways.keys() == SYSTEMS.keys() else "auto-seeds"  # of some systems
    results.report(given, f"{label}-{name}", caption, rows, figures(ways))


def apart(topics: list[np.ndarray]) -> str:
    """Mean distance of matched topics of runs with different seeds."""
    from bigtopic.evaluation import stability

    if len(topics) < 3:
        return "–"
    found = stability(topics)
    return f"{found.value:.3f} ± {found.standard_error:.3f}"


def ablation(given: argparse.Namespace, name: str, corpus: Any) -> None:
    """`auto` with parts of it left out or replaced."""
    ways: dict[str, list[Way]] = {label: [] for label in given.settings.split(",")}
    for heat in heats(given, name, corpus):
        for label in ways:
            measure = lambda h, told=SETTINGS[label]: judged(h, own_fit(h, **told))  # noqa: E731
            ways[label].append(kept(given, name, heat, "ablation", label, measure))
    own = np.array([way.measures() for way in ways[METHOD]])
    rows = [TABLE]
    for label, found in ways.items():
        end = np.array([way.measures() for way in found])
        rows.append(row(label, [way.whole for way in found], end, own - end if SETTINGS[label] else None))
    caption = f"{name}: {corpus.n_docs:,} documents; {given.topics} topics, means of {given.seeds} seeds"
    results.report(given, f"auto-ablation-{name}{_suffix(given)}", caption, rows, figures(ways))


def _suffix(given: argparse.Namespace) -> str:
    """Of the label of a table."""
    return "" if given.topics == 100 else f"-{given.topics}"


PARTS: dict[str, Callable[[argparse.Namespace, str, Any], None]] = {
    "race": race, "peers": peers, "ablation": ablation,
}  # fmt: skip


def row(label: str, seconds: list[float], measures: np.ndarray, by: np.ndarray | None) -> tuple[str, ...]:
    """Median of seconds, means of measures, and differences with the standard errors of their means."""
    cells = [label, results.figure(float(np.median(seconds)))]
    for i, digits in enumerate((4, 3, 3)):
        cells.append(f"{measures[:, i].mean():.{digits}f}")
        if by is None:
            cells.append("")
            continue
        error = f" ± {by[:, i].std(ddof=1) / np.sqrt(len(by)):.{digits}f}" if len(by) > 1 else ""
        cells.append(f"{by[:, i].mean():.{digits}f}{error}")
    return tuple(cells)


def figures(ways: dict[str, list[Way]]) -> dict[str, Any]:
    """Everything, for the file."""
    return {system: [asdict(way) for way in found] for system, found in ways.items()}


def default_priors(n_components: int) -> tuple[float, float]:
    """Of topics in documents and of words in topics."""
    from bigtopic.methods import get

    own = get(METHOD)
    return tuple(own.prior(name, n_components) for name in ("doc_topic_prior", "topic_word_prior"))


def heats(given: argparse.Namespace, name: str, corpus: Any) -> Any:
    """The documents of each seed, one after another: systems take turns seed by seed."""
    for seed in range(given.seeds):
        yield Heat(name, corpus, given.topics, default_priors(given.topics), seed, METHOD)


def own_fit(heat: Heat, **settings: Any) -> Fitted:
    """A fit with compiled code in memory."""
    heat.model(**settings, max_time=1.0).fit(heat.train)
    begun = time.perf_counter()
    model = heat.model(**settings).fit(heat.train)
    point = Point(1, time.perf_counter() - begun, model.get_topics())
    return Fitted(point, model.topic_source().doc_topic_prior)


def own_way(heat: Heat) -> Way:
    """Ours as users have it, timed, and once more looked at."""
    whole = own_fit(heat).point.seconds
    points = watched_fit(heat, GROWTH)
    return judged(heat, [Fitted(point, heat.task.doc_topic_prior) for point in points], whole)


def their_way(heat: Heat) -> Way:
    """tomotopy's, with the priors of all."""
    points = PEERS[THEIRS].train(heat.task, SWEEPS)
    return judged(heat, [Fitted(point, heat.task.doc_topic_prior) for point in points])


def judged(heat: Heat, fitted: list[Fitted] | Fitted, whole: float | None = None) -> Way:
    """Score every point."""
    fitted = [fitted] if isinstance(fitted, Fitted) else fitted
    topics = [each.point.topics / each.point.topics.sum(axis=1, keepdims=True) for each in fitted]
    return Way(
        [each.point.effort for each in fitted],
        [each.point.seconds for each in fitted],
        [heat.judge(each).value for each in topics],
        [heat.npmi(each) for each in topics],
        [heat.npmi(each, held_out=True) for each in topics],
        heat.judge(topics[-1], fitted[-1].prior).value,
        fitted[-1].point.seconds if whole is None else whole,
        results.now(),
    )


def kept(
    given: argparse.Namespace, name: str, heat: Heat, part: str, label: str, measure: Callable[[Heat], Way]
) -> Way:
    """A measurement, or the one that is kept unless --fresh."""
    path = place(given, name, heat, part, label)
    if path.exists() and not given.fresh:
        return Way(**json.loads(path.read_text(encoding="utf-8")))
    way = measure(heat)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(way)), encoding="utf-8")
    score, npmi, held_out = way.measures()
    print(f"{name}, seed {heat.task.seed}, {part}, {label}: {score:.4f}, NPMI {npmi:.3f}, held out {held_out:.3f}, "
          f"{way.whole:.2f} s", flush=True)  # fmt: skip
    return way


def kept_topics(given: argparse.Namespace, name: str, heat: Heat, system: str) -> tuple[Way, np.ndarray]:
    """A system's measurement and its last topics; systems that are one run with others are measured with them."""
    path = place(given, name, heat, "peers", system)
    topics = path.with_suffix(".npy")
    if given.fresh or not (path.exists() and topics.exists()):
        for label, fitted in SYSTEMS[system](heat, system).items():
            kept_path = place(given, name, heat, "peers", label)
            kept_path.parent.mkdir(parents=True, exist_ok=True)
            np.save(kept_path.with_suffix(".npy"), fitted.point.topics)
            kept_path.unlink(missing_ok=True)
            kept(given, name, heat, "peers", label, lambda h, found=fitted: judged(h, found))
    return Way(**json.loads(path.read_text(encoding="utf-8"))), np.load(topics)


def place(given: argparse.Namespace, name: str, heat: Heat, part: str, label: str) -> Any:
    """The file that keeps a measurement."""
    told = (label, heat.train.fingerprint, heat.test.fingerprint, SETTINGS.get(label), SWEEPS, GROWTH)
    digest = hashlib.blake2b(repr(told).encode(), digest_size=6).hexdigest()
    return given.folder / "auto" / f"{part}-{name}-{heat.task.n_components}-{heat.task.seed}-{digest}.json"


if __name__ == "__main__":
    main()

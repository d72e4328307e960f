"""How far a cluster of simulated workers speeds up `vb` and replicas, at PubMed's shape, and what saturates first.

Real are the scheduler, which is a process of its own; the driver, this process, with its executor, its graphs and its
steps on params of the real size; the workers' side of Dask; and all messages. The workers' tasks sleep, for seconds
that real tasks of this machine take, and their results only say their size (see `simulated`). Params and sums also take
the seconds of two hops between driver and workers, through the scheduler.

The simulated workers share a process. So that its processor time does not count, each round is done at two speeds:
whatever is not a task sleeps longer than it should, by a factor and by twice the factor, so long that processor time
is little next to it. By how much a round becomes longer, divided by the factor, is what sums and transfers add to the
critical path of the tasks, with every wait for one another. To it, each worker's own share of the processor time is
added, and in a round of `vb` that of scheduler and driver, as if none of it overlapped with anything; by how much that
grows is the work of idle processes, and does not count. Workers begin the next exchange of replicas before scheduler
and driver are done with the last one: these count only where they take longer than the workers.
The documents of a replica are prepared while its worker waits for the sums before them, as far as these waits hold
that, so what is left of it is on the critical path.
Efficiency is the seconds of the tasks alone, on one worker, without any sums, over workers times seconds of a round.

The two speeds take turns, and figures are medians over pairs of rounds in which the machine was quiet (see `pairs`).
Pairs in which sums and transfers take less than the bytes that a worker sends to others are impossible, and never
count, so that no efficiency is more than 100 %. Where other work on the machine left too few quiet pairs, those that it
disturbed least count, and a `?` says so.

`--check N` compares real processes with the simulation: their tasks sleep, too, but return statistics of the real size
for 16 topics, which are sent, added and moved.

    python -m tests.benchmarks simulate [--kinds vb,64x8] [--topics 100,1000] [--workers 8,32,64] [--rate 1250,3125]
    python -m tests.benchmarks simulate --check 2,4,8
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import results
from pairs import LEAST, Pair, chosen, take_turns
from simulated import Costs
from simulated_costs import BATCH_SIZE, N_DOCS, N_ENTRIES, N_WORDS, measured_costs
from simulated_rounds import rounds

TASK_SECONDS, SECONDS = 0.5, 2.5  # of the tasks of a worker, and of all else, roughly, at the lesser stretch
CHECK_TOPICS, CHECK_SECONDS, CHECK_ROUNDS = 16, 5.0, 3
PAIRS, PAIRS_SECONDS = 5, 150.0  # that are wanted, and that making them may take
HEAD = (
    "what", "K", "workers", "MB/s", "seconds", "efficiency", "quartiles", "critical path, s", "of it tasks, s",
    "worker, s", "scheduler, s", "driver, s", "a worker sends", "pairs",
)  # fmt: skip


Key = tuple[str, int, int, float]  # kind, topics, workers, megabytes a second


class Found(NamedTuple):
    """What a round takes, in seconds.

    path : the critical path of the sleeps; scheduler, driver, worker : processor time, of one worker
    work : of the tasks of one worker, those included that it does while it waits
    sent : bytes of a worker to others, as a multiple of those of the params
    ahead : whether workers have the next tasks before scheduler and driver are done with these
    least : seconds of tasks that a worker does not do while it waits, and of what it sends to others
    """

    path: float
    scheduler: float
    driver: float
    worker: float
    work: float
    sent: float
    ahead: bool
    least: float

    @property
    def seconds(self) -> float:
        if self.ahead:
            return max(self.path + self.worker, self.scheduler, self.driver)
        return self.path + self.scheduler + self.driver + self.worker

    @property
    def efficiency(self) -> float:
        return self.work / self.seconds


class Measured(NamedTuple):
    """What rounds take, in the pairs that count.

    found : medians, each of its own
    low, efficiency, high : quartiles of the efficiency
    pairs, made : that count, and that were made
    quiet : whether the machine was, in enough of them
    """

    found: Found
    low: float
    efficiency: float
    high: float
    pairs: int
    made: int
    quiet: bool


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default="vb,64x8,64x128", help="vb, or replicas x updates")
    parser.add_argument("--topics", default="100")
    parser.add_argument("--workers", default="2,4,8,16,32,64")
    parser.add_argument("--rate", default="1250", help="of the network, megabytes a second")
    parser.add_argument("--curves", action="store_true", help="draw the curve into docs/images/")
    parser.add_argument(
        "--check", metavar="WORKERS", help="compare so many real processes with as many simulated"
    )
    results.add_option(parser)
    given = parser.parse_args()
    if given.check:
        return check(given)
    found: dict[Key, Measured] = {}
    for n_topics in map(int, given.topics.split(",")):
        for kind in given.kinds.split(","):
            own = measured_costs(n_topics, settings_of(kind)[1].get("replica_updates", 0))
            print(n_topics, kind, replace(own, documents=None, rows=None), flush=True)
            for rate in map(float, given.rate.split(",")):
                for n_workers in map(int, given.workers.split(",")):
                    key = kind, n_topics, n_workers, rate
                    found[key] = simulate(kind, n_topics, replace(own, byte=1e-6 / rate), n_workers)
                    print(*row(key, found[key]), sep="; ", flush=True)
    caption = (
        f"{N_DOCS:,} documents, {N_WORDS:,} words, {N_ENTRIES:,} entries; a round of `vb`, and an exchange of replicas "
        f"x updates of {BATCH_SIZE} documents; so many MB/s between any two"
    )
    figures = [(*key, *one.found, *one[1:]) for key, one in found.items()]
    picture = draw(found) if given.curves else None
    results.report(
        given, "simulate", caption, [HEAD, *(row(*one) for one in found.items())], figures, picture
    )


def settings_of(kind: str) -> tuple[str, dict[str, int]]:
    """Method, and numbers of replicas and updates."""
    if kind == "vb":
        return "vb", {}
    n_replicas, n_updates = map(int, kind.split("x"))
    return "online-cvb0", {"replicas": n_replicas, "replica_updates": n_updates}


def simulate(kind: str, n_topics: int, costs: Costs, n_workers: int) -> Measured:
    """A round, or an exchange, on so many simulated workers."""
    method, replicas = settings_of(kind)
    n_docs = replicas["replicas"] * replicas["replica_updates"] * BATCH_SIZE if replicas else N_DOCS
    work = n_docs * (costs.replica if replicas else costs.estep) / n_workers
    before = n_docs * costs.prepare / n_workers if replicas else 0.0
    handled = 2 * costs.byte + costs.add + costs.divide + costs.join + costs.copy + costs.move
    stretch = SECONDS / (costs.params * handled)
    costs = replace(costs, tasks=TASK_SECONDS / (work - before), stretch=stretch)
    with rounds(method, n_topics, replicas, costs, n_workers) as sample:
        made = take_turns(
            lambda factor: sample(replace(costs, stretch=factor * stretch)), PAIRS, PAIRS_SECONDS
        )

    def found(pair: Pair) -> Found:
        slow, slower = pair.short.figures, pair.long.figures
        longer, *grown = (slower - slow)[:4]
        # Of processor time, what grows is what idle processes do
        scheduler, driver, workers = np.maximum(slow[1:4] - grown, 0.0)
        # The next tasks of some workers may have begun
        path = min(slow[5], slower[5]) * n_workers * (work - before) + longer / stretch
        sent = slower[4] / n_workers / costs.params
        least = work - before + sent * costs.params * costs.byte
        return Found(path, scheduler, driver, workers / n_workers, work, sent, bool(replicas), least)

    return measured(made, found)


def measured(made: Sequence[Pair], found: Callable[[Pair], Found]) -> Measured:
    """What the pairs say that count: nothing, as NaN, where all are impossible."""
    counting = chosen([pair for pair in made if found(pair).path >= found(pair).least])
    several = [found(pair) for pair in counting] or [Found(*[np.nan] * len(Found._fields))]
    middle = Found(*(float(np.median(figures)) for figures in zip(*several, strict=True)))
    quartiles = np.quantile([one.efficiency for one in several], [0.25, 0.5, 0.75]).tolist()
    quiet = len(counting) >= LEAST and all(pair.noise <= 1 for pair in counting)
    return Measured(middle, *quartiles, len(counting), len(made), quiet)


def check(given: argparse.Namespace) -> None:
    """Rounds of `vb` on real processes whose tasks sleep, next to the simulation of the same."""
    rows = [("workers", "real processes, s", "simulated, s", "tasks, s")]
    costs = replace(measured_costs(CHECK_TOPICS), byte=1e-6 / float(given.rate.split(",")[0]))
    for n_workers in map(int, given.check.split(",")):
        own = replace(costs, estep=CHECK_SECONDS * n_workers / N_DOCS)
        with rounds("vb", CHECK_TOPICS, {}, own, n_workers, real=True) as sample:
            samples = [sample(own) for _ in range(CHECK_ROUNDS)]
        real = min(samples, key=lambda one: one.noise.amount).figures[0]
        one = simulate("vb", CHECK_TOPICS, own, n_workers)
        cells = f"{n_workers}", f"{real:.2f}", f"{one.found.seconds:.2f}{mark(one)}", f"{one.found.work:.2f}"
        rows.append(cells)
        print(*cells, *one, sep="; ", flush=True)
    caption = f"A round of `vb` whose tasks sleep, K = {CHECK_TOPICS}, {N_WORDS:,} words, {1e-6 / costs.byte:,.0f} MB/s"
    results.report(given, "simulate-check", caption, rows, rows[1:])


def row(key: Key, one: Measured) -> tuple[str, ...]:
    """A line of the table."""
    kind, n_topics, n_workers, rate = key
    found = one.found
    return (
        kind, f"{n_topics}", f"{n_workers}", f"{rate:,.0f}", f"{found.seconds:.2f}",
        f"{one.efficiency:.0%}{mark(one)}", f"{one.low:.0%} – {one.high:.0%}", f"{found.path:.2f}",
        f"{found.work:.2f}", f"{found.worker:.3f}", f"{found.scheduler:.2f}", f"{found.driver:.2f}",
        f"{found.sent:.2f} P", f"{one.pairs} of {one.made}",
    )  # fmt: skip


def mark(one: Measured) -> str:
    """Of a figure that other work on the machine disturbed."""
    return "" if one.quiet else "?"


def draw(found: dict[Key, Measured]) -> str:
    """Efficiency against workers; the path of the picture below docs/."""
    from plots import canvas, label, save

    figure, axes = canvas(figsize=(8, 4.5))
    for what in dict.fromkeys((kind, n_topics, rate) for kind, n_topics, _, rate in found):
        line = {
            n_workers: one.efficiency
            for (kind, n_topics, n_workers, rate), one in found.items()
            if what == (kind, n_topics, rate)
        }
        (drawn,) = axes.plot(list(line), list(line.values()), "o-", markersize=4)
        name = f"{what[0]}, K = {what[1]}, {what[2]:,.0f} MB/s"
        label(axes, name, max(line), line[max(line)], drawn.get_color())
    axes.set(xscale="log", xlabel="workers", ylabel="efficiency", ylim=(0, 1.05))
    axes.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    axes.margins(x=0.25)
    return save(figure, "simulate")


if __name__ == "__main__":
    main()

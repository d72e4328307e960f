"""The loop over segments, for executors that have the params after each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bigtopic.learning.all_reduce.rows import reports_of
from bigtopic.learning.executors.pipeline import Pipeline
from bigtopic.learning.executors.protocol import Run, Updates
from bigtopic.learning.putting_off import keeping_scales
from bigtopic.learning.reduce import Tree, in_order
from bigtopic.learning.replicas.changes import Changes, add_changes, joined
from bigtopic.learning.replicas.share import Share, share_changes
from bigtopic.learning.rounds import MapReduce, Settings, factors_of, round_stats, step
from bigtopic.learning.stopping import uninterrupted
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.delays import Groups
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Round
from bigtopic.state.params import Params
from bigtopic.types import Stats

__all__ = ["Segment", "before_failure", "by_segments", "do_rounds"]


@dataclass(frozen=True)
class Segment:
    """Rounds to do before the caller sees the params.

    Attributes
    ----------
    params : updated by one step for each report
    rounds, cursors : one cursor for each round
    shares : the rounds of each replica; none where there are no replicas
    groups : which updates the rounds miss
    largest_steps, missed : of each round, see `RoundInfo`
    long_rounds : see `Plan`
    reports : those before a failure are there
    """

    params: Params
    rounds: Sequence[Round]
    cursors: Sequence[Cursor]
    settings: Settings
    shares: Sequence[Share]
    groups: Groups
    largest_steps: Sequence[float]
    missed: Sequence[int]
    long_rounds: bool
    reports: list[RoundReport] = field(default_factory=list)

    def step(self, number: int, stats: Stats) -> None:
        """Update the params by the statistics of the `number`-th round of the segment."""
        if self.long_rounds:  # workers that make them have the rows in this order, see `rows.joined_rows`
            stats = replace(stats, arrays={name: in_order(rows) for name, rows in stats.arrays.items()})
        late = self.largest_steps[number], self.missed[number]
        self.reports.append(step(self.params, self.cursors[number], stats, self.settings, *late))

    def factors(self, number: int, n_tokens: float) -> tuple[float, float]:
        """Weight and decay of the step of a round, where `rounds.knows_factors`."""
        late = self.largest_steps[number], self.missed[number]
        return factors_of(self.cursors[number], self.rounds[number].n_docs, n_tokens, self.settings, *late)

    def report(self, number: int, n_tokens: float, info: Mapping[str, float]) -> None:
        """The caller has updated the params by the statistics of a round itself."""
        n_docs = self.rounds[number].n_docs
        self.reports.append(RoundReport(self.cursors[number], n_docs, n_tokens, info))

    def exchange(self, parts: Sequence[Changes]) -> None:
        """Update the params by what all replicas changed, as `add_changes` does. Parts are in the order of the replicas
        whose reports they have."""
        averaged = self.settings.schemes if self.settings.averages(self.cursors[-1].step + 1) else ()
        with uninterrupted():
            add_changes(self.params, parts, averaged)
            self.reports.extend(reports_of(parts))


def by_segments(
    run: Run,
    params: Params,
    cursor: Cursor,
    max_rounds: int | None,
    max_seconds: float | None,
    do: Callable[[Segment], None],
    prefetching: Callable[[Iterator[Segment], int], Iterator[Segment]] | None = None,
    replicate: Callable[[Segment], Sequence[Changes]] | None = None,
) -> Updates:
    """What `Executor.advance` yields: `params` itself after each segment, updated in place.

    Parameters
    ----------
    do : does the rounds of a segment without replicas
    prefetching : is given the segments and their pass, and yields the same segments
    replicate : what the replicas of a segment change, added along the tree, in parts; None for one after the other, on
        this thread
    """
    begun = time.perf_counter()
    n_rounds = 0
    segments = _segments(run, params, cursor)
    for segment in prefetching(segments, cursor.pass_number) if prefetching else segments:
        late = max_seconds is not None and time.perf_counter() - begun >= max_seconds
        if late or (max_rounds is not None and n_rounds >= max_rounds):
            return
        try:
            if segment.shares:
                segment.exchange(replicate(segment) if replicate else [_in_turn(run, segment)])
            else:
                do(segment)
        except BaseException as failure:
            if segment.reports:
                yield from before_failure(params, segment.reports, failure)
            raise
        yield params, segment.reports
        n_rounds += len(segment.rounds)


def before_failure(params: Params, reports: list[RoundReport], failure: BaseException) -> Updates:
    """What was done before a failure, which the caller then raises; it is raised here if no more is asked for."""
    try:
        yield params, reports
    except GeneratorExit:
        raise failure from None


def _segments(run: Run, params: Params, cursor: Cursor) -> Iterator[Segment]:
    """The segments of a pass from a cursor on."""
    n_done = cursor.step
    for rounds in run.plan.segments(cursor.pass_number, cursor.round, cursor.ahead):
        cursors = [
            Cursor(cursor.pass_number, rnd.number, number) for number, rnd in enumerate(rounds, n_done)
        ]
        n_done += len(rounds)
        shares = _shares(run, cursor.pass_number, rounds, cursors)
        groups = run.plan.groups(cursor.pass_number, rounds)
        limits = groups.largest_steps(), groups.missed()
        yield Segment(params, rounds, cursors, run.settings, shares, groups, *limits, run.plan.long_rounds)


def _shares(run: Run, pass_number: int, rounds: Sequence[Round], cursors: Sequence[Cursor]) -> list[Share]:
    cursor_of = dict(zip((rnd.number for rnd in rounds), cursors, strict=True))
    return [
        Share(share, [cursor_of[rnd.number] for rnd in share], len(rounds))
        for share in run.plan.shares(pass_number, rounds)
    ]


def _in_turn(run: Run, segment: Segment) -> Changes:
    tree, reader = Tree(len(segment.shares), joined), BlockReader(run.parts, ahead=0)
    for share in segment.shares:
        tree.push(share_changes(run, share, reader.block, segment.params.without_means().arrays))
    changes: Changes = tree.result()
    return changes


def do_rounds(segment: Segment, map_reduce: MapReduce) -> None:
    """Do the rounds of a segment one after the other, each mapped and reduced by `map_reduce`."""
    arrays, rounds = segment.params.without_means().arrays, [[rnd] for rnd in segment.rounds]
    with keeping_scales(arrays, segment.settings, segment.groups.most_missed):
        sees = segment.groups.seen() if segment.groups.most_missed else None
        Pipeline(rounds, _RoundJobs(segment, map_reduce), sees).run(None, 1)


@dataclass(frozen=True)
class _RoundJobs:
    """The jobs of a pipeline whose tasks are whole rounds: `map_reduce` reads the params, so all of it is gathering."""

    segment: Segment
    map_reduce: MapReduce

    def prefetch(self, rnd: Round) -> None:
        """Nothing to do: `map_reduce` reads the documents."""

    def gather(self, number: int, rnd: Round) -> Stats:
        segment = self.segment
        return round_stats(segment.params, rnd, segment.cursors[number], segment.settings, self.map_reduce)

    def evaluate(self, number: int, rnd: Round, stats: Stats) -> Stats:
        return stats

    def step(self, number: int, stats: Stats) -> None:
        self.segment.step(number, stats)

    def seal(self) -> None:
        """Steps put nothing off."""

    def settle(self) -> None:
        """Steps put nothing off."""

"""The record of a run as it goes on: rows of the model's history, events for callbacks, the progress bar."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigtopic.errors import SettingError
from bigtopic.learning.events import Callback, Event, Watcher, is_watcher
from bigtopic.parallel.progress import Progress, say
from bigtopic.plan.cursor import Arrival, RoundReport
from bigtopic.state.documents.state_folder import DiskNeed
from bigtopic.state.model import TopicModel
from bigtopic.state.sparse.array import LEAST
from bigtopic.wording import counted

__all__ = ["History", "note_fitted"]

WORTH_SAYING = 10**8  # bytes on the disk; only events report less


class History:
    """Counts what a run has done, and reports it.

    Parameters
    ----------
    model : the one that learns; its history gets a row for each pass and score
    callbacks : called with every event, in this order
    bar : advances by tokens
    planned_tokens : of the phase, for its "start"
    dashboard : see `Event`

    Attributes
    ----------
    scores : held-out nats per token, the newest last
    watchers : the callbacks that also measure the model

    Raises
    ------
    SettingError
        When two watchers find a figure of the same name.
    """

    def __init__(
        self,
        model: TopicModel,
        callbacks: Sequence[Callback],
        bar: Progress,
        planned_tokens: float | None = None,
        dashboard: str | None = None,
    ) -> None:
        self._model = model
        self._about: dict[str, Any] = {"planned_tokens": planned_tokens, "dashboard": dashboard}
        self._callbacks = callbacks
        self._bar = bar
        self._begun = self._taken_up = time.perf_counter()
        self._n_docs = 0
        self._n_tokens = 0.0
        self._pushes = PushFigures(time.perf_counter())
        self.scores: list[float] = []
        self.watchers = [callback for callback in callbacks if is_watcher(callback)]
        self._watched = [model.cursor.step] * len(self.watchers)  # updates at their last measurements
        names = [name for watcher in self.watchers for name in watcher.names]
        if twice := [name for name in names if names.count(name) > 1]:
            raise SettingError(
                f"callbacks: two of them record {twice[0]!r}; measure it once, or by a Measure of another name"
            )

    def go_on(self, counts: Mapping[str, float]) -> None:
        """Go on from the `counts` of the phase before."""
        self._begun = time.perf_counter() - counts["seconds"]
        self._n_docs, self._n_tokens = int(counts["n_docs"]), counts["n_tokens"]

    def resume(self, counts: Mapping[str, float]) -> None:
        """Go on from where a run was saved, with the `counts` of that time."""
        self.go_on(counts)
        self.scores = [row["score"] for row in self._model.rows if "score" in row]
        self._watched = [
            max(
                (row["step"] for row in self._model.rows if watcher.names[0] in row.get("measures", ())),
                default=0,
            )
            for watcher in self.watchers
        ]

    def counts(self) -> dict[str, float]:
        """Seconds, documents and tokens so far, for `resume`."""
        return {"seconds": self.seconds, "n_docs": self._n_docs, "n_tokens": self._n_tokens}

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self._begun

    @property
    def seconds_here(self) -> float:
        """Since this process has taken the run up."""
        return time.perf_counter() - self._taken_up

    @property
    def scored_step(self) -> int:
        """Number of updates at the last score; 0 if there is none."""
        return max((row["step"] for row in self._model.rows if "score" in row), default=0)

    def begin(self, disk: DiskNeed | None = None) -> None:
        """Report the start, and what the state of documents may take on the disk, if there is any."""
        if disk is None:
            return self._tell("start", **self._about)
        if disk.n_bytes >= WORTH_SAYING:
            self._bar.note(
                f"what this method remembers of documents takes up to {disk.n_bytes:,} bytes in {disk.folder}, for up "
                f"to {disk.n_passes} passes at once"
            )
        self._tell("start", disk_bytes=disk.n_bytes, disk_folder=disk.folder, **self._about)

    def round_done(self, report: RoundReport) -> None:
        self._n_docs += report.n_docs
        self._n_tokens += report.n_tokens
        if report.arrival is not None:
            self._pushes.add(report.arrival)
        self._bar.update(report.n_tokens, **({"score": f"{self.scores[-1]:.3f}"} if self.scores else {}))
        self._tell("round", step=report.cursor.step + 1, info=dict(report.info))

    def pass_done(self, bound: float | None, change: float | None) -> None:
        """Record a pass; the model's cursor is already at the next one, so its number counts the passes done."""
        row: dict[str, Any] = {"pass": self._model.cursor.pass_number, "bound": bound}
        if change is not None:
            row["change"] = change
        row |= self._pushes.figures()
        if (dropped := self._model.dropped_share) is not None:
            row["dropped"] = dropped
        self._pushes = PushFigures(time.perf_counter())
        if each := [watcher for watcher in self.watchers if watcher.every is None]:
            row["measures"] = self._measured(each)
        self._record(row)
        self._tell("pass", bound=bound, change=change)

    def next_watch(self) -> int | None:
        """The update before the next measurement inside a pass, after those that are done; None if there is none."""
        step = self._model.cursor.step
        return min(((step // own.every + 1) * own.every for own in self.watchers if own.every), default=None)

    def watch(self) -> None:
        """Measure what is due, if anything is, and record it."""
        step = self._model.cursor.step
        due = [
            i
            for i, (own, last) in enumerate(zip(self.watchers, self._watched, strict=True))
            if own.every and step // own.every > last // own.every
        ]
        if not due:
            return
        found = self._measured([self.watchers[i] for i in due])
        self._record({"pass": self._model.cursor.pass_number, "measures": found})
        for i in due:
            self._watched[i] = step

    def _measured(self, watchers: Sequence[Watcher]) -> dict[str, float | None]:
        return {name: value for own in watchers for name, value in own.measure(self._model).items()}

    def scored(self, score: float) -> None:
        self.scores.append(score)
        self._record({"pass": self._model.cursor.pass_number, "score": score})
        self._tell("score", score=score)

    def end(self, reason: str) -> None:
        self._tell("end", reason=reason)

    def _record(self, row: dict[str, Any]) -> None:
        seconds = self.seconds
        figures = {
            "step": self._model.cursor.step,
            "seconds": seconds,
            "n_docs": self._n_docs,
            "n_tokens": self._n_tokens,
            "tokens_per_second": self._n_tokens / max(seconds, 1e-9),
        }
        phase = self._model.method.phase
        self._model.history.append({**({"phase": phase} if phase else {}), **row, **figures})

    def _tell(self, kind: str, step: int | None = None, **figures: Any) -> None:
        if not self._callbacks:
            return
        cursor = self._model.cursor
        step = cursor.step if step is None else step
        counts = self.seconds, self._n_docs, self._n_tokens
        event = Event(kind, step, cursor.pass_number, *counts, phase=self._model.method.phase, **figures)
        for callback in self._callbacks:
            callback(event)


@dataclass
class PushFigures:
    """Staleness, idle workers and bytes of the pushes of a pass.

    begun : when the pass began
    """

    begun: float
    staleness: list[int] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    n_bytes: int = 0

    def add(self, arrival: Arrival) -> None:
        self.staleness.append(arrival.staleness)
        self.seconds[arrival.worker] = self.seconds.get(arrival.worker, 0.0) + arrival.seconds
        self.n_bytes += arrival.n_bytes

    def figures(self) -> dict[str, Any]:
        """Mean and largest staleness, the share of stale updates, and of each worker's time that it was idle; bytes
        that an update pulled and pushed, on average."""
        if not self.staleness:
            return {}
        n, passed = len(self.staleness), max(time.perf_counter() - self.begun, 1e-9)
        staleness = {
            "mean": sum(self.staleness) / n,
            "largest": max(self.staleness),
            "stale": sum(missed > 0 for missed in self.staleness) / n,
        }
        idle = {worker: max(0.0, 1.0 - own / passed) for worker, own in sorted(self.seconds.items())}
        return {"staleness": staleness, "idle": idle, "bytes": self.n_bytes / n}


def note_fitted(model: TopicModel, show: bool | None) -> None:
    """Lines about topics that a fitted model does not use, and about much that it dropped, unless `show` is False."""
    if show is False:
        return
    if n_unused := int(model.topic_source().unused.sum()):
        say(
            f"{n_unused:,} of {counted(model.n_components, 'topic')} unused: few tokens, of words that chance may "
            "explain; unused_topics_ lists them"
        )
    if (share := model.dropped_share or 0.0) > 0.01:
        say(
            f"{share:.0%} of the statistics were dropped: each below {LEAST} tokens, from small counts or steps"
        )

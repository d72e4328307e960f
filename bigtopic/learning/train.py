"""The training loop: passes of rounds, whatever the method and the executor. `stopping` says when it ends, `history`
records it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from bigtopic.errors import BigtopicError, ClusterError, ModelError, argument, either
from bigtopic.learning import executors, sharing
from bigtopic.learning.executors.base import Executor, Until
from bigtopic.learning.executors.choice import choose, idle_threads
from bigtopic.learning.history import History
from bigtopic.learning.memory.estimate import WorkerMemory, check_memory, fitting_threads
from bigtopic.learning.new_run import make_run, with_document_state
from bigtopic.learning.run import Run
from bigtopic.learning.stopping import Limits, PassMeasure, interruptible, uninterrupted
from bigtopic.parallel import cluster
from bigtopic.parallel.progress import Progress
from bigtopic.parallel.prometheus import Reporter
from bigtopic.parallel.shared_files import corpus_in_reach
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.exchanges import Schedule
from bigtopic.state.documents.state_folder import DiskNeed
from bigtopic.state.model import TopicModel
from bigtopic.state.params import Params
from bigtopic.wording import counted

__all__ = ["Ended", "Saver", "train"]

_NOT_SAVED = either(
    ": call partial_fit to go on", ", but is not saved: with --checkpoint, it could be resumed"
)


class Ended(NamedTuple):
    """The end of a run.

    reason : why it ended, see `bigtopic.learning.events.Event`
    counts : `History.counts` at the end
    """

    reason: str
    counts: Mapping[str, float]


def train(
    model: TopicModel,
    corpus: Any,
    limits: Limits,
    *,
    batch_size: int | None = None,
    slice_size: int | None = None,
    order: str = "shuffled",
    total_docs: float | None = None,
    client: Any = None,
    n_threads: int | None = None,
    executor: Callable[[Run], Executor] | None = None,
    saver: Saver | None = None,
    replicas: int | None = None,
    replica_updates: int | None = None,
    schedule: Schedule | None = None,
    asynchronous: bool = False,
    staleness: int | None = None,
    half_life: float | None = None,
    before: Mapping[str, float] | None = None,
) -> Ended:
    """Learn from a corpus, in the phase that the model is in; `model` moves in place and is valid after every round,
    Ctrl-C included.

    Parameters
    ----------
    batch_size, slice_size : documents of an update and of a kernel call; None for the whole corpus and a default. The
        latter has no effect where a kernel needs whole minibatches
    order : "shuffled" or "stored"
    total_docs : the declared size of a stream; None for the corpus'
    client : Dask client; None for threads
    n_threads : of the in-process executor; None for all processors, or as many as fit in memory
    executor : makes the executor instead
    saver : saves the run as it goes on, and knows whether it resumes a saved one
    replicas, replica_updates : copies of the params that learn side by side, and the most updates of each between two
        exchanges, see `learning.replicas`
    schedule : of exchanges, see `plan.exchanges`; None for the usual one
    asynchronous : whether minibatches move the params whenever they are done, see `learning.pushes`
    staleness : updates that a minibatch may miss then, at most; None for no bound
    half_life : documents after which a document weighs half as much; None to forget as the schemes say
    before : `History.counts` of the phases before

    Returns
    -------
    Ended
    """
    with ExitStack() as stack:
        stack.enter_context(corpus_in_reach(client, corpus))
        run = make_run(
            model,
            corpus,
            batch_size=batch_size,
            slice_size=slice_size,
            order=order,
            total_docs=total_docs,
            max_iter=limits.max_iter if total_docs is None else None,
            replicas=replicas,
            replica_updates=replica_updates,
            schedule=schedule,
            asynchronous=asynchronous,
            staleness=staleness,
            half_life=half_life,
        )
        if saver is not None and saver.counts is not None:
            _check_cursor(model.cursor, run.plan.n_rounds)  # before the state of documents is touched
        estimated, compares = (run, model.params, model.axes), limits.tol > 0
        working = 1 if client is not None else n_threads or cluster.default_threads()
        if n_threads is None:
            working = fitting_threads(*estimated, working, compares=compares)
        check_memory(*estimated, working, compares=compares)
        run = with_document_state(run, model, corpus, client)
        engine = _chosen_executor(run, model, client, working) if executor is None else executor(run)
        # A worker may be in this process
        stack.callback(cluster.rest if client is None else sharing.give_back)
        stack.enter_context(engine)
        stop = stack.enter_context(interruptible(saved=saver is not None))
        total = corpus.n_tokens * limits.max_iter
        bar = stack.enter_context(
            Progress(model.method.phase or "learning", total, " tokens", limits.progress)
        )
        if client is None and not asynchronous and (idle := idle_threads(run, working)) is not None:
            bar.note(idle)
        reporters = [] if client is None else [Reporter(client)]
        history = History(model, [*limits.callbacks, *reporters], bar, total, cluster.dashboard_of(client))
        if before is not None:
            history.go_on(before)
        reason = _Loop(model, run, engine, limits, history, stop, saver).passes()
        return Ended(reason, history.counts())


def _chosen_executor(run: Run, model: TopicModel, client: Any, n_threads: int) -> Executor:
    """The default executor of the run, on workers that can hold its tasks."""
    spec = executors.load(choose(run, client))
    if client is None or spec.worker_bytes is None:
        return spec.make(run, client, n_threads)
    memory = WorkerMemory(run, model.params, model.axes, client, spec)
    engine = spec.make(run, client, n_threads)
    engine.use_workers(memory.able)
    return engine


class Saver(Protocol):
    """Saves a run as it goes on.

    counts : `History.counts` when the run that is resumed was saved, None for a new run
    """

    counts: Mapping[str, float] | None

    def due(self, cursor: Cursor) -> bool:
        """Whether it is time to save."""

    def save(self, model: TopicModel, counts: Mapping[str, float]) -> None:
        """Save the model as it is."""


@dataclass
class _Loop:
    model: TopicModel
    run: Run
    engine: Executor
    limits: Limits
    history: History
    stop: threading.Event
    saver: Saver | None = None
    _score_due: bool = False

    def __post_init__(self) -> None:
        self.measure = PassMeasure(self.model, self.limits.tol, self._has_bound)
        if self.saver is not None and self.saver.counts is not None:
            self.history.resume(self.saver.counts)
            self.measure.resume()
            self._score_due = self._cut_before_a_score()

    def passes(self) -> str:
        """Learn until the run ends; returns the reason."""
        self.history.begin(self._disk)
        try:
            reason = self._learned()
        except ClusterError as error:
            error.args = (f"{error.message}; {self._left()}",)
            raise
        self.history.end(self._or_interrupt(reason))
        return self._or_interrupt(reason)

    def _or_interrupt(self, reason: str | None) -> str:
        """The reason, or Ctrl-C, perhaps while the end was scored, saved or told: no other phase begins."""
        return "interrupt" if self.stop.is_set() else reason or "max_iter"

    def _learned(self) -> str | None:
        reason = self._ended_before()
        end = self.model.cursor.pass_number + self.limits.max_iter
        while reason is None and self.model.cursor.pass_number < end:
            reason = self._one_pass(end)
            self._save()
        if reason is None and self._score_due:  # nothing else was left
            reason = "score" if self._score() else None
        if self.saver is not None and not self._half_measured:
            self.saver.save(self.model, self.history.counts())
        return reason

    def _left(self) -> str:
        """What a failure of the cluster leaves, as text; the run is saved first, if it can be cut there."""
        cursor = self.model.cursor
        found = f"the model is valid, with the topics of {counted(cursor.step, 'update')}"
        if cursor.pass_number:
            found += f" and {counted(cursor.pass_number, 'whole pass', 'whole passes')}"
        if self.saver is None:
            return found + _NOT_SAVED
        if not self._half_measured and self.run.plan.may_cut(cursor.pass_number, cursor.round):
            try:
                self.saver.save(self.model, self.history.counts())
                found += ", and saved"
            except BigtopicError as error:
                found += f", but could not be saved ({error.message})"
        return f"{found}: run the same again with {argument('resume', True)} to go on"

    @property
    def _disk(self) -> DiskNeed | None:
        """What the state of documents may take on the disk, if there is any."""
        if self.run.work.state is None:
            return None
        assert self.model.document_state is not None
        return self.model.document_state.disk

    def _ended_before(self) -> str | None:
        """Why the run that is resumed had ended when it was saved, if it had."""
        if self.saver is None or self.saver.counts is None:
            return None
        if self.history.scores and self.limits.out_of_patience(self.history.scores):
            return "score"
        if self.model.cursor.inside_pass or not self.measure.had_converged:
            return None
        if self._score_due and self._score():
            return "score"
        return "tol"

    def _save(self, due: int | None = None) -> None:
        """Save the run if it is time; not where a score is due, nor in a pass that is compared with its beginning, nor
        inside an exchange, where a failure may leave it."""
        cursor = self.model.cursor
        if self.saver is None or self._half_measured or (due is not None and cursor.step >= due):
            return
        if self.run.plan.may_cut(cursor.pass_number, cursor.round) and self.saver.due(cursor):
            self.saver.save(self.model, self.history.counts())

    @property
    def _half_measured(self) -> bool:
        """Whether the model stands inside a pass, or at its end, that another process could not go on measuring."""
        cursor, n_rounds = self.model.cursor, self.run.plan.n_rounds
        return cursor.inside_pass and (self.measure.looks_back or cursor.round == n_rounds)

    def _one_pass(self, end: int) -> str | None:
        """The rounds that are left of a pass, and perhaps of some more; the reason to end the run, if there is one."""
        self.measure.begin()
        reason = self._rounds(1 if self._looks_at_passes else end - self.model.cursor.pass_number)
        if self.model.cursor.round < self.run.plan.n_rounds:
            return reason
        converged = self._end_pass()
        if reason is None and self.limits.score and self._score():
            reason = "score"
        return reason or ("tol" if converged else None)

    @property
    def _looks_at_passes(self) -> bool:
        """Whether anything looks at the params at the end of a pass."""
        limits = self.limits
        return bool(limits.callbacks or limits.score or limits.tol > 0 or self._has_bound)

    @property
    def _has_bound(self) -> bool:
        kernel, options = self.run.work.kernel, self.run.work.hyper.options
        return bool(kernel.bound) and bool(options.get("bound")) and self.run.plan.n_rounds == 1

    def _cut_before_a_score(self) -> bool:
        """Whether the run was saved, after Ctrl-C or at its time limit, when a score was due; none is where `_score`
        leaves it out."""
        step = self.model.cursor.step
        scored = max(self.history.scored_step, self.run.settings.first_estimate - 1)
        due = self.limits.next_score(scored)
        if not self.model.cursor.inside_pass and self.limits.score is not None:
            due = scored + 1  # at the end of every pass
        return due is not None and step >= due

    def _rounds(self, n_passes: int) -> str | None:
        self.history.watch()  # if the run was saved when that was due
        if self._score_due:
            self._score_due = False
            if self._score():
                return "score"
        score_due = self.limits.next_score(self.model.cursor.step)
        while self.model.cursor.round < self.run.plan.n_rounds:
            due = min((n for n in (score_due, self.history.next_watch()) if n is not None), default=None)
            n = None if due is None else due - self.model.cursor.step
            until = Until(n, self._seconds_left(), n_passes)
            updates = self.engine.advance(self.model.params, self.model.cursor, until)
            for params, reports in updates:
                self._take(params, reports)
                self._save(due)
                if self.stop.is_set():
                    if isinstance(updates, Generator):
                        updates.close()  # raises what ended the exchange, such as a second Ctrl-C
                    return "interrupt"
            left = self._seconds_left()
            if left is not None and left <= 0:
                return "max_time"
            self.history.watch()
            if score_due is not None and self.model.cursor.step >= score_due:
                score_due = self.limits.next_score(self.model.cursor.step)
                if self.model.cursor.round < self.run.plan.n_rounds and self._score():
                    return "score"
            if due is not None and self.model.cursor.step >= due:
                self._save()
        return None

    def _take(self, params: Params, reports: list[RoundReport]) -> None:
        """Record rounds that were done, perhaps in several passes."""
        for pass_number, reported in groupby(reports, key=lambda report: report.cursor.pass_number):
            of_pass = list(reported)
            with uninterrupted():  # the cursor says which rounds the params count
                self.model.params = params
                if pass_number > self.model.cursor.pass_number:
                    self._end_pass()
                    self.measure.begin()
                self.model.cursor = self.model.cursor.after(of_pass)
            for report in of_pass:
                self._done(report)

    def _done(self, report: RoundReport) -> None:
        self.measure.add(report)
        self.history.round_done(report)

    def _end_pass(self) -> bool:
        """End the pass; whether the run has converged."""
        self.history.watch()  # if the run is cut at the end of the pass
        self.model.cursor = self.model.cursor.next_pass()
        if self.run.work.state is not None:
            assert self.model.document_state is not None
            self.model.document_state.end_pass(self.model.cursor.pass_number)
        bound, change = self.measure.bound(), self.measure.change()
        self.history.pass_done(bound, change)
        return self.measure.converged(change)

    def _score(self) -> bool:
        """Score the held-out documents; whether patience is over. Topics of the phase before have their score."""
        assert self.limits.score is not None
        if self.model.cursor.step < self.run.settings.first_estimate:
            return False
        self.history.scored(self.limits.score(self.model))
        return self.limits.out_of_patience(self.history.scores)

    def _seconds_left(self) -> float | None:
        return self.limits.seconds_left(self.history.seconds_here)


def _check_cursor(cursor: Cursor, n_rounds: int) -> None:
    if not cursor.fits(n_rounds):
        raise ModelError(
            f"the run was saved in pass {cursor.pass_number}, round {cursor.round}, after {cursor.step} updates, but "
            f"passes over this corpus have {n_rounds} rounds: the description of the model was changed or is damaged; "
            "remove the version that it was saved in, to go on from the one before it, or begin another run in another "
            "folder"
        )

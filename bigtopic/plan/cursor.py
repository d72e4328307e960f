"""The position of a run, and the report of a round that moves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

__all__ = ["START", "Arrival", "Cursor", "RoundReport"]


@dataclass(frozen=True)
class Cursor:
    """The position of a run.

    Attributes
    ----------
    pass_number : the pass of the phase, from 0
    round : first round of the pass that is not done
    step : updates so far, over all passes of the phase
    ahead : later rounds of the pass that are already done, in increasing order: an executor that is not synchronous may
        finish them before an earlier one
    phase : of the method, from 0; see `Method.phases`
    """

    pass_number: int = 0
    round: int = 0
    step: int = 0
    ahead: tuple[int, ...] = ()
    phase: int = 0

    @property
    def has_begun(self) -> bool:
        """Whether the phase has had an update."""
        return self.step > 0

    @property
    def inside_pass(self) -> bool:
        """Whether the pass has begun."""
        return self.round > 0 or bool(self.ahead)

    def rounds_left(self, n_rounds: int) -> int:
        """Rounds that are left of a pass of `n_rounds`."""
        return n_rounds - self.round - len(self.ahead)

    def later(self, n: int) -> Cursor:
        """The position `n` rounds later in the pass, if none of them is ahead."""
        return replace(self, round=self.round + n, step=self.step + n, ahead=())

    def after(self, reports: Iterable[RoundReport]) -> Cursor:
        """The position after these rounds, all that were done since; a complete pass stays at its end."""
        cursor = self
        for report in reports:
            cursor = cursor._after(report.cursor)
        return cursor

    def _after(self, done: Cursor) -> Cursor:
        if done.round == self.round and done.pass_number == self.pass_number and not self.ahead:
            return replace(self, round=self.round + 1, step=done.step + 1)
        first, ahead = (self.round, {*self.ahead}) if done.pass_number == self.pass_number else (0, set())
        ahead.add(done.round)
        while first in ahead:
            ahead.remove(first)
            first += 1
        return Cursor(done.pass_number, first, done.step + 1, tuple(sorted(ahead)), self.phase)

    def fits(self, n_rounds: int) -> bool:
        """Whether a run of passes of `n_rounds` each, none of them cut short, can stand here."""
        done = self.round + len(self.ahead)
        inside = self.round <= n_rounds and all(self.round < number < n_rounds for number in self.ahead)
        return inside and self.step == self.pass_number * n_rounds + done

    def updates_before(self, pass_number: int, n_rounds: int) -> int:
        """Updates before a pass, if this one and those after it have `n_rounds` each."""
        begun = self.step - self.round - len(self.ahead)
        return begun + (pass_number - self.pass_number) * n_rounds

    def next_pass(self) -> Cursor:
        """The start of the next pass."""
        return Cursor(self.pass_number + 1, 0, self.step, phase=self.phase)


START = Cursor()


@dataclass(frozen=True)
class Arrival:
    """Where and how a round was done that moved the params when it arrived.

    staleness : updates that it missed
    worker : that did it
    seconds : of the worker's time
    n_bytes : of the rows that it pulled, and of the statistics that it pushed
    """

    staleness: int
    worker: str
    seconds: float
    n_bytes: int = 0


@dataclass(frozen=True)
class RoundReport:
    """One round that was done.

    cursor : its pass and number, and the updates before its own
    arrival : of an asynchronous run
    """

    cursor: Cursor
    n_docs: int
    n_tokens: float
    info: Mapping[str, float] = field(default_factory=dict)
    arrival: Arrival | None = None

"""The phases of a fit after the first, with their settings: options such as "sampling.max_iter"."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bigtopic.errors import SettingError
from bigtopic.methods import Method
from bigtopic.methods.settings import learning, with_settings
from bigtopic.state.model import TopicModel
from bigtopic.state.phases import next_phase
from bigtopic.support.numbers import is_number, is_whole

__all__ = ["Phase", "first_options", "phases_after"]

LEAST_PASSES = 10  # fewer leave little to average
_WHOLE = {"max_iter": 0, "batch_size": 1, "slice_size": 1}  # and the least
_NUMBERS = {"tol": float("inf"), "average": 1.0, "enough_tokens": float("inf")}  # and the most


@dataclass(frozen=True)
class Phase:
    """A phase that follows the first.

    Attributes
    ----------
    number : of the phase, see `Cursor.phase`
    method : with the settings of its schemes, for a run that begins with the topics of the phase before
    options : of its kernel
    settings : those given, such as "max_iter", in place of the method's
    """

    number: int
    method: Method
    options: dict[str, Any]
    settings: Mapping[str, Any]

    def setting(self, name: str) -> Any:
        """The one given, or the method's."""
        return self.settings.get(name, getattr(self.method, name))

    def passes(self, n_tokens: float) -> int:
        """Passes over a corpus of so many tokens; 0 where it leaves this phase out."""
        most, enough = self.setting("max_iter"), self.setting("enough_tokens")
        if enough is None or most * n_tokens <= enough:
            return int(most)
        affordable = int(enough / n_tokens)
        return affordable if affordable >= LEAST_PASSES else 0

    def begun(self, model: TopicModel) -> TopicModel:
        """A model in this phase, with the topics of the given one."""
        return next_phase(model, self.number, self.method, self.options)


def first_options(method: Method, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options of the first phase: those without the name of a later one."""
    later = {phase.phase for phase in method.then}
    return {
        name: value for name, value in (options or {}).items() if str(name).partition(".")[0] not in later
    }


def phases_after(
    method: Method, options: Mapping[str, Any] | None, learned: Mapping[str, str], given: Collection[str]
) -> list[Phase]:
    """All phases after the first.

    Parameters
    ----------
    options : of the estimator
    learned : {name of a prior: shape}, of those that are learned
    given : the arrays that a phase gives to the next one

    Raises
    ------
    SettingError
        When a phase has no such option, or the value is not allowed.
    """
    found = []
    for number, phase in enumerate(method.then, 1):
        start = f"{phase.phase}."
        told = {str(k).removeprefix(start): v for k, v in (options or {}).items() if str(k).startswith(start)}
        settings = {name: told.pop(name) for name in (*_WHOLE, *_NUMBERS) if name in told}
        for name, value in settings.items():
            _check(start + name, name, value)
        average = settings.pop("average", phase.average)
        own, kernel_options = with_settings(
            learning(replace(phase, average=average), **learned).begun_with(given), told
        )
        found.append(Phase(number, own, kernel_options, settings))
    return found


def _check(shown: str, name: str, value: Any) -> None:
    if name in _WHOLE and not (is_whole(value) and value >= _WHOLE[name]):
        raise SettingError(f"option {shown}={value!r}: must be a whole number, {_WHOLE[name]} or more")
    if name in _NUMBERS and not (is_number(value) and 0 <= value <= _NUMBERS[name]):
        most = f" to {_NUMBERS[name]:g}" if _NUMBERS[name] < float("inf") else ""
        raise SettingError(f"option {shown}={value!r}: must be a number from 0{most}")

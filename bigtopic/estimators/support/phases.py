"""The phases of a fit after the first, with their settings: options such as "sampling.max_iter"."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, log10
from typing import Any

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, noting
from bigtopic.methods import Method
from bigtopic.methods.settings import PHASE_SETTINGS, learning, with_settings
from bigtopic.parallel.progress import say
from bigtopic.state.contract.declarations import check_options
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import has_many
from bigtopic.state.phases import next_phase
from bigtopic.support.numbers import is_number, is_whole

__all__ = ["Phase", "first_options", "n_passes", "n_updates", "phases_after", "phases_over"]

LEAST_PASSES = 10  # fewer leave little to average
MOST_TIMES = 5  # passes of a phase over short documents, against those over long ones
_WHOLE = {"max_iter": 0, "batch_size": 1, "slice_size": 1}  # and the least
_NUMBERS = {"tol": inf, "average": 1.0, "enough_tokens": inf, "enough_length": inf}  # and the most
_LOOKED_AT = 1000  # documents of each part


@dataclass(frozen=True)
class Phase:
    """A phase that follows the first.

    Attributes
    ----------
    number : of the phase, see `Cursor.phase`
    method : with the settings of its schemes, for a run that begins with the topics of the phase before
    options : of its kernel
    settings : those given, such as "max_iter", in place of the method's
    given : names of all options that were given to it
    here : whether it runs on threads of this process, although there is a client
    """

    number: int
    method: Method
    options: dict[str, Any]
    settings: Mapping[str, Any]
    given: Collection[str] = ()
    here: bool = False

    def setting(self, name: str) -> Any:
        """The one given, or the method's."""
        return self.settings.get(name, getattr(self.method, name))

    @property
    def max_iter(self) -> int:
        """Passes over the corpus."""
        return int(self.setting("max_iter"))

    def over(self, n_tokens: float, n_docs: int) -> Phase:
        """This phase, with its passes over so many tokens in so many documents; 0 where it is left out."""
        n_passes, enough, length = self.max_iter, self.setting("enough_tokens"), self.setting("enough_length")
        if length is not None and "max_iter" not in self.settings:
            n_passes = int(n_passes * min(MOST_TIMES, max(1.0, length * n_docs / max(1.0, n_tokens))))
        if enough is not None and n_passes * n_tokens > enough:
            affordable = int(enough / n_tokens)
            n_passes = affordable if affordable >= LEAST_PASSES else 0
        return replace(self, settings={**self.settings, "max_iter": n_passes})

    def begun(self, model: TopicModel) -> TopicModel:
        """A model in this phase, with the topics of the given one."""
        return next_phase(model, self.number, self.method, self.options)


def phases_over(
    phases: Sequence[Phase], corpus: Corpus, components: int | Mapping[str, int], show: bool | None
) -> list[Phase]:
    """The phases that a fit of this corpus goes through, with their passes.

    A line on standard error says of one that is left out why, unless `show` is False, or its passes were set to 0 and
    it was given no other option.
    """
    found = []
    for phase in phases:
        able = phase.over(corpus.n_tokens, corpus.n_docs)
        if able.max_iter:
            why = _why_too_many(corpus, components) or _why_not_labelled(phase, corpus)
        elif phase.max_iter:
            why = _why_too_large(phase, corpus.n_tokens)
        else:
            why = f"option {phase.method.phase}.max_iter is 0" if {*phase.given} - {"max_iter"} else ""
        if why:
            say(f"the {phase.method.phase} phase is left out: {why}", show)
        elif able.max_iter:
            found.append(able)
    return found


def _why_too_large(phase: Phase, n_tokens: float) -> str:
    """Why a corpus has too many tokens for a phase, and the option that lets it have the fewest passes that it can."""
    n_passes, name = min(phase.max_iter, LEAST_PASSES), f"{phase.method.phase}.enough_tokens"
    unit = 10.0 ** (int(log10(n_passes * n_tokens)) - 1)
    enough = ceil(n_passes * n_tokens / unit) * unit  # of two digits
    return (
        f"option {name} is {phase.setting('enough_tokens'):g}, too few for {n_passes} passes over {n_tokens:,.0f} "
        f"tokens; {name}={enough:g} brings it back"
    )


def _why_too_many(corpus: Corpus, components: int | Mapping[str, int]) -> str:
    """Why a later phase, whose arrays are dense, cannot learn so many topics; "" if it can."""
    n_components = max(components.values()) if isinstance(components, Mapping) else components
    if not has_many(len(corpus.vocabulary), n_components):
        return ""
    return f"it would hold {n_components:,} numbers for each of {len(corpus.vocabulary):,} words"


def _why_not_labelled(phase: Phase, corpus: Corpus) -> str:
    """Why the tokens of a corpus cannot have the labels that the phase gives them; "" if they can, or need none."""
    labelled = any(spec.rows == "token" for spec in phase.method.load_kernel().remembers.values())
    return (
        "counts that are not whole numbers have no tokens to label"
        if labelled and _has_fractions(corpus)
        else ""
    )


def _has_fractions(corpus: Corpus) -> bool:
    """Whether some counts are fractions, by the tokens of each document and the first documents of each part."""
    return any(
        (part.tokens(0, part.n_docs) % 1.0).any()
        or (part.read(0, min(_LOOKED_AT, part.n_docs)).counts % 1.0).any()
        for part in corpus.parts
        if part.n_docs
    )


def n_passes(estimator: Any) -> int:
    """Passes that a fitted estimator has made, over all phases."""
    return _before(estimator, "passes") + int(estimator._fitted().cursor.pass_number)


def n_updates(estimator: Any) -> int:
    """Updates that a fitted estimator has made, over all phases."""
    return _before(estimator, "updates") + int(estimator._fitted().cursor.step)


def _before(estimator: Any, what: str) -> int:
    return sum(phase[what] for phase in (estimator.run_ or {}).get("phases", []))


def first_options(method: Method, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options of the first phase: those that do not begin with the name of a later one and a dot."""
    later = tuple(f"{phase.phase}." for phase in method.then)
    return {name: value for name, value in (options or {}).items() if not str(name).startswith(later)}


def phases_after(
    method: Method,
    options: Mapping[str, Any] | None,
    learned: Mapping[str, str],
    given: Collection[str],
    average: float | None = None,
    inference: Mapping[str, Any] | None = None,
) -> list[Phase]:
    """All phases after the first.

    Parameters
    ----------
    options : of the estimator
    learned : {name of a prior: shape}, of those that are learned
    given : the arrays that a phase gives to the next one
    average : of every phase whose options have none; None for the method's
    inference : options of the first phase; those that are of topics of documents alone hold for all phases

    Raises
    ------
    SettingError
        When a phase has no such option, or the value is not allowed.
    """
    found = []
    for number, phase in enumerate(method.then, 1):
        start = f"{phase.phase}."
        told = {str(k).removeprefix(start): v for k, v in (options or {}).items() if str(k).startswith(start)}
        names = tuple(told)
        settings = {name: told.pop(name) for name in PHASE_SETTINGS if name in told}
        for name, value in settings.items():
            _check(start + name, name, value)
        share = settings.pop("average", phase.average if average is None else average)
        begun = learning(replace(phase, average=float(share)), **learned).begun_with(given)
        shared = phase.load_inference().options.keys() - phase.load_kernel().options.keys()
        told = {**{name: value for name, value in (inference or {}).items() if name in shared}, **told}
        own, kernel_options = with_settings(begun, told, of=method)
        with noting(f"phase {phase.phase!r} of method {method.name!r}"):
            _check_options(own, kernel_options)
        found.append(Phase(number, own, kernel_options, settings, names))
    return found


def _check_options(method: Method, given: Mapping[str, Any]) -> None:
    """Check the options of the kernel, also for what it derives from them, before the phase before it has begun."""
    options, kernel = method.kernel_options(given), method.load_kernel()
    check_options(method, options)
    for derived in (kernel.cost, kernel.dtype):
        if callable(derived):
            derived(options)


def _check(shown: str, name: str, value: Any) -> None:
    if name in _WHOLE and not (is_whole(value) and value >= _WHOLE[name]):
        raise SettingError(f"option {shown}={value!r}: must be a whole number, {_WHOLE[name]} or more")
    if name in _NUMBERS and not (is_number(value) and 0 <= value <= _NUMBERS[name]):
        most = f" to {_NUMBERS[name]:g}" if _NUMBERS[name] < inf else ""
        raise SettingError(f"option {shown}={value!r}: must be a number from 0{most}")

"""Measures, as data: a measure is a reduction over the documents of a corpus, with a result.

state = prepare(subject, settings)                      once, before the pass
piece = of_block(state, documents)                      for each block of documents, on workers, in any order
total = combine(total, piece)                           in the order of the blocks
result = finish(state, total)                           once
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from numbers import Integral, Real
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.state.contract.rules import check_arguments
from bigtopic.support import cards
from bigtopic.support.deprecations import current_names

if TYPE_CHECKING:
    from bigtopic.evaluation.subject import Documents, Subject

__all__ = [
    "Fault",
    "Measure",
    "Result",
    "Score",
    "Setting",
    "check_card",
    "completed",
    "for_words",
    "renamed_settings",
    "text_faults",
    "with_error",
]

Fault = tuple[str, str, Any]  # (attribute, what it must be, what it is)


class Result:
    """The result of a measure: a base class for dataclasses.

    Attributes
    ----------
    value : one number
    per_topic : float64 (n_components,), a number for each topic, or None
    baselines : {name: number} to compare `value` with
    topic_labels : what people call each topic, see `labels_of`, where there is a number for each; set by `results_of`
    reported : names of the attributes in `to_dict`
    """

    value: float
    per_topic: np.ndarray | None = None
    topic_labels: Sequence[str] = ()
    reported: ClassVar[tuple[str, ...]] = ("value", "per_topic")

    @property
    def baselines(self) -> Mapping[str, float]:
        return {}

    def text(self) -> str:
        """`value`, and its standard error if it has one, as text for a table, without the unit."""
        return with_error(self.value, getattr(self, "standard_error", None)) or "nan"

    def details(self) -> dict[str, str]:
        """Further lines of a table, {label: text}; empty texts are left out."""
        return {}

    def __repr__(self) -> str:
        baselines = "".join(f", {name} {value:.4f}" for name, value in self.baselines.items())
        return f"{type(self).__name__}({self.text()}{baselines})"

    def _repr_html_(self) -> str:
        baselines = {name: f"{value:.4f}" for name, value in self.baselines.items()}
        values = cards.figures({"value": self.text(), **baselines, **self.details()})
        if self.per_topic is None:
            return cards.card(type(self).__name__, values)
        topics = ((self.topic_name(k), f"{value:.4f}") for k, value in enumerate(self.per_topic.tolist()))
        return cards.card(type(self).__name__, values, cards.scrolling(["topic", "value"], topics))

    def topic_name(self, topic: int) -> str:
        """The number of a topic, and its label if it has one."""
        return f"{topic} {self.topic_labels[topic]}".rstrip() if self.topic_labels else str(topic)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; None stands for nan and infinity."""
        return {name: _plain(getattr(self, name)) for name in self.reported}


@dataclass(frozen=True)
class Score(Result):
    """A number and, optionally, one for each topic. See `Result`."""

    value: float
    per_topic: np.ndarray | None = field(default=None, repr=False)


def with_error(value: float, error: float | None = None, sign: str = "") -> str:
    """A value and its standard error as text; empty for a value that is nan, without an error that is nan or None."""
    if value != value:
        return ""
    return f"{value:{sign}.4f}" + (f" ± {error:.4f}" if error is not None and error == error else "")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value


_KINDS: dict[type, tuple[type, str]] = {
    bool: (bool, "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "text"),
}


class Setting(NamedTuple):
    """A setting of a measure or a plot.

    default : default value; its type is the setting's type
    meaning : one line, for the help of the command line
    choices : allowed values; empty for any
    formerly : its old name, which works for one more version; empty for none
    """

    default: Any
    meaning: str
    choices: Sequence[str] = ()
    formerly: str = ""

    def check(self, name: str, value: Any) -> None:
        """Check a value for this setting, whose name begins the error.

        Raises
        ------
        SettingError
            When it is not of the setting's type, or not among the choices. True and False are not numbers.
        """
        kind, wanted = _KINDS.get(type(self.default), (object, "anything"))
        fits = isinstance(value, kind) and not (isinstance(value, bool) and kind in (Integral, Real))
        if self.choices:
            wanted = f"one of {', '.join(map(repr, self.choices))}"
            fits = fits and value in self.choices
        if not fits:
            raise SettingError(f"{argument(name)}: must be {wanted}, found {value!r}")


def renamed_settings(settings: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings under their current names; an old name that another setting has now means that setting."""
    old = {setting.formerly: name for name, setting in settings.items()}
    return current_names(given, {former: old[former] for former in old.keys() - settings.keys() - {""}})


def completed(settings: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each setting: the one among `given`, or its default; numbers are of the default's type.

    Raises
    ------
    SettingError
        When a value is not of the setting's type, or not among its choices.
    """
    values = {name: given.get(name, setting.default) for name, setting in settings.items()}
    for name, setting in settings.items():
        setting.check(name, values[name])
        if type(setting.default) in (int, float):
            values[name] = type(setting.default)(values[name])
    return values


def for_words(
    settings: Mapping[str, Setting], subject: Subject, given: Mapping[str, Any]
) -> Mapping[str, Setting]:
    """The settings with a default `n_top`, unless it is given, that is not larger than the number of words."""
    n_top = settings.get("n_top")
    if n_top is None or "n_top" in given or type(n_top.default) is not int:
        return settings
    return {**settings, "n_top": n_top._replace(default=min(n_top.default, subject.n_words))}


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure: one file in `evaluation/measures/` defines one `MEASURE`.

    Attributes
    ----------
    name : name of the file, with hyphens for underscores
    prepare : (`Subject`, settings) -> state. The settings are complete; check them here. The state is sent to workers,
        so it holds only what `of_block` and `finish` need
    of_block : (state, `Documents`) -> piece; pure. None when the measure uses only topics
    combine : (total, piece) -> total; may change the total in place. None when `of_block` is None
    finish : (state, total) -> `Result`; the total is None when `of_block` is None
    start : state -> the total before the first block; None: the first piece is the first total
    doc_topics : whether `of_block` uses `Documents.doc_topics`; the topics are then sent to workers too
    texts : whether `of_block` uses `Documents.texts`; they are then read, too
    settings : {name: `Setting`}; options of the command line
    held_out : meaningful only for documents that the model was not trained on
    describes : no value is better than another, so nothing can be chosen by it
    default : used when the user names no measures, and shown in every report
    title, unit, meaning : for tables and reports: title of the value (empty for the name), its unit such as
        "nats per token", and a line that explains it
    paper : source of the equations

    Raises
    ------
    SettingError
        When an attribute is not what it must be.
    """

    name: str
    prepare: Callable[[Subject, Mapping[str, Any]], Any]
    of_block: Callable[[Any, Documents], Any] | None
    combine: Callable[[Any, Any], Any] | None
    finish: Callable[[Any, Any], Result]
    start: Callable[[Any], Any] | None = None
    doc_topics: bool = False
    texts: bool = False
    settings: Mapping[str, Setting] = field(default_factory=dict)
    held_out: bool = False
    describes: bool = False
    default: bool = False
    title: str = ""
    unit: str = ""
    meaning: str = ""
    paper: str = ""

    def __post_init__(self) -> None:
        where = f"measure {self.name!r}"
        check_card(where, self.settings, _faults(self))
        for name, arguments in _CALLED_WITH.items():
            if (function := getattr(self, name)) is not None:
                check_arguments(f"{where}: {name}", function, *arguments)
        if (self.of_block is None) != (self.combine is None):
            raise SettingError(f"{where}: of_block and combine go together; give both, or neither")
        if not self.title:
            object.__setattr__(self, "title", self.name)

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The measure's settings: those among `given`, and defaults for the others.

        Raises
        ------
        SettingError
            When a value is not of the setting's type, or not among its choices.
        """
        return completed(self.settings, given)

    def for_words(self, subject: Subject, given: Mapping[str, Any]) -> Measure:
        """The measure with a default `n_top`, if it has that setting, that is not larger than the vocabulary."""
        return replace(self, settings=for_words(self.settings, subject, given))

    def asks_the_same(self, other: Measure) -> bool:
        """Whether both compute the same from blocks, so that with equal settings one computation serves both."""
        of_blocks = attrgetter("prepare", "of_block", "combine", "start", "doc_topics")
        return bool(of_blocks(self) == of_blocks(other))


_CALLED_WITH = {
    "prepare": ("subject", "settings"),
    "of_block": ("state", "documents"),
    "combine": ("total", "piece"),
    "finish": ("state", "total"),
    "start": ("state",),
}


def _faults(measure: Measure) -> Iterator[Fault]:
    """Attributes that are of another kind than they must be."""
    yield from text_faults(measure, "name", "title", "unit", "meaning", "paper")
    for name in _CALLED_WITH:
        value, optional = getattr(measure, name), name not in ("prepare", "finish")
        if not callable(value) and not (optional and value is None):
            yield name, "a function or None" if optional else "a function", value


def text_faults(card: Any, *names: str) -> Iterator[Fault]:
    """Attributes of a measure or a plot that should be text and are not; its name must not be empty."""
    for name in names:
        value = getattr(card, name)
        if not isinstance(value, str) or (name == "name" and not value):
            yield name, "text", value


def check_card(where: str, settings: Any, faults: Iterable[Fault]) -> None:
    """Check what a measure or a plot declares: it has no faults, and its settings allow their own defaults.

    Raises
    ------
    SettingError
        When it has a fault; `where` begins the message.
    """
    by_name = isinstance(settings, Mapping) and all(isinstance(name, str) for name in settings)
    found: list[Fault] = [*faults, *([] if by_name else [("settings", "{name: Setting}", settings)])]
    for name, setting in settings.items() if by_name else ():
        if not isinstance(setting, Setting):
            found.append((f"settings[{name!r}]", "a Setting", setting))
    for attribute, wanted, value in found:
        raise SettingError(f"{where}: {attribute} must be {wanted}, found {value!r}")
    for name, setting in settings.items():
        setting.check(f"{where}: settings[{name!r}]", setting.default)

"""The schema of a stored model, and rules that all declarations share, so that whatever is declared can be stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

import numpy as np

from bigtopic.corpus.stored.manifest import TEXT
from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.errors import SettingError
from bigtopic.storage.json_rules import (
    FieldError,
    Rule,
    any_of,
    anything,
    flag,
    listing,
    mapping,
    number,
    one_of,
    optional,
    record,
    text,
    whole,
)

__all__ = [
    "ARRAY_NAME",
    "DTYPES",
    "METHOD_NAME",
    "MOST_STEPS",
    "NAME",
    "SETTINGS",
    "SIZE",
    "Kinds",
    "check_arguments",
    "check_description",
    "check_dtype",
    "check_kinds",
    "check_storable",
    "choose",
    "plain",
    "require",
    "upgraded",
]

DTYPES = ("float32", "float64", "int32", "int64")  # the compiled loops on params and statistics are of these
NAME = text(r"[A-Za-z_][A-Za-z0-9_]{0,99}", "a name of letters, digits and underscores")
# Beside the arrays of a model, its folder holds the contents of its axes, and their frequencies.
ARRAY_NAME = text(
    r"(?!(words|axes|document_frequency|frequency)$)[A-Za-z_][A-Za-z0-9_]{0,99}",
    "a name of letters, digits and underscores, and not words, axes, document_frequency or frequency",
)
METHOD_NAME = text(r"(?s).{1,200}", "a name of at most 200 characters")
_LONGEST_TEXT = 4096  # of a setting, which may be a path; messages quote settings
_LARGEST_WHOLE = 1 << 1023  # of a setting: every one is a float, too


def _scalar(value: Any, where: str) -> None:
    if value is not None and type(value) not in (bool, int, float, str):
        raise FieldError(f"{where} is {ascii(value)[:60]}, but must be a number, text, true, false or null")
    if type(value) is int and abs(value) >= _LARGEST_WHOLE:
        raise FieldError(f"{where} has {value.bit_length()} bits, but may have 1023")
    if type(value) is str and len(value) > _LONGEST_TEXT:
        raise FieldError(f"{where} has {len(value)} characters, but may have {_LONGEST_TEXT}")


def _figure(value: Any, where: str) -> None:
    """Any number, NaN too: a score may be one."""
    if type(value) not in (int, float):
        raise FieldError(f"{where} is {ascii(value)[:60]}, but must be a number")


SETTINGS = mapping(NAME, _scalar)  # of a scheme, or options of a kernel
_STORED_ARRAY_NAME = text(
    r"[A-Za-z_][A-Za-z0-9_]{0,99}(\.[A-Za-z_][A-Za-z0-9_]{0,99})?", "a name, or two with a dot between"
)
SIZE = whole(1, 1 << 24)
_FINGERPRINT = text(r"[0-9a-f]{32}", "32 hexadecimal digits")
_ARRAY = record(
    {"axis": NAME, "n_components": SIZE, "normalised_over": optional(one_of("axis", "components"))},
    {"sparse": flag},
)
_AXIS = record({"named": flag, "size": whole(0, MOST_WORDS), "fingerprint": _FINGERPRINT, "counted": flag})
MOST_STEPS = 1 << 53
_STEP = whole(0, MOST_STEPS)
_PHASE = whole(0, 99)
_ROW = record(
    {"step": _STEP},
    {
        "phase": text(),
        "pass": _STEP,
        "bound": optional(_figure),
        "change": optional(_figure),
        "measures": mapping(text(), optional(_figure)),
        "forgotten": record({"n_words": whole(), "most_frequent": listing(text())}),
        **dict.fromkeys(("score", "seconds", "n_docs", "n_tokens", "tokens_per_second", "dropped"), _figure),
    },
)
_COUNTS = record({"seconds": number(), "n_docs": whole(), "n_tokens": number()})
_VALUES = mapping(NAME, any_of(mapping(text(), _scalar), _scalar))  # arguments of an estimator
_RUN = record(
    {},
    {
        "estimator": text(),
        "settings": _VALUES,
        "not_recorded": listing(text()),
        "corpus": record(
            {},
            {"url": optional(text()), "fingerprint": text(), "documents": whole(), "tokens": number()},
        ),
        "versions": mapping(NAME, text()),
        "passes": whole(),
        "phases": listing(record({"phase": text(), "passes": _STEP, "updates": _STEP, "seconds": number()})),
        "ended": text(),
        "counts": _COUNTS,
        "finished": text(),
        "score": optional(_figure),
        "partial_fits": whole(),
        "time": number(),
        "checkpoint": text(),
    },
)
_RULES: Rule = record(
    {
        "state": text(r"state-[0-9a-f]{1,32}", "'state-' and hexadecimal digits"),
        "method": METHOD_NAME,
        "schemes": mapping(NAME, SETTINGS),
        "options": SETTINGS,
        "seed": whole(0, (1 << 64) - 1),
        "cursor": record(
            {"epoch": _STEP, "round": _STEP, "step": _STEP}, {"ahead": listing(_STEP), "phase": _PHASE}
        ),
        "text": optional(TEXT),
        "history": listing(_ROW),
        "arrays": mapping(_STORED_ARRAY_NAME, _ARRAY),
        "components": mapping(NAME, SIZE),
        "named": flag,
        "n_words": whole(1, MOST_WORDS),
        "fingerprint": _FINGERPRINT,
        "axes": mapping(NAME, _AXIS),
        "extra": record(
            {},
            {
                "estimator": text(),
                "params": _VALUES,
                "run": _RUN,
                "n_docs_seen": number(),
                "n_iter": _STEP,
                "labels": listing(optional(text())),
                "pair_words": listing(text()),
                "counts": _COUNTS,
            },
        ),
    },
    {
        "counted": flag,
        "documents": optional(record({})),
        "prior_schemes": mapping(NAME, SETTINGS),
        "average": number(0.0, 1.0),
    },
)


def check_description(values: Mapping[str, Any], where: str) -> None:
    """Every field by itself, then what they say together.

    Raises
    ------
    FieldError
        Naming the field.
    """
    _RULES(values, where)
    for name in ("text", "history", "extra"):
        anything(values[name], f"{where} {name}")
    if not values["components"]:
        raise FieldError(f"{where} components is empty")
    _check_cursor(values["cursor"], f"{where} cursor")


def _check_cursor(cursor: Mapping[str, Any], where: str) -> None:
    """Whatever the corpus, every pass that is over has had an update, and every round that is done is one."""
    ahead = cursor.get("ahead", [])
    if len(set(ahead)) < len(ahead) or not all(number > cursor["round"] for number in ahead):
        raise FieldError(
            f"{where}.ahead is {ascii(ahead)[:60]}, but must be different rounds after the first one left"
        )
    least = cursor["epoch"] + cursor["round"] + len(ahead)
    if cursor["step"] < least or (least == 0 and cursor["step"] > 0):
        raise FieldError(
            f"{where}.step is {cursor['step']}, which cannot be in pass {cursor['epoch']} with "
            f"{cursor['round'] + len(ahead)} rounds done"
        )


def upgraded(values: Mapping[str, Any]) -> dict[str, Any]:
    """The description in the form of version 2. In version 1 the only array gives the number of topics, and the prior
    of documents' topics has no statistics.

    Raises
    ------
    FieldError
        When it is neither.
    """
    if values.get("version") != 1:
        return dict(values)
    arrays = values.get("arrays")
    if not isinstance(arrays, dict) or len(arrays) != 1:
        raise FieldError("its description: arrays must be one array of topics' weights over words")
    (about,) = arrays.values()
    record({"n_components": SIZE})(about, "its description: arrays")
    return {**values, "components": {"topic": about["n_components"]}, "axes": {}}


def plain(value: Any) -> Any:
    """The same with Python's own containers and numbers, as JSON can hold them, in place of others."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


Kinds = Mapping[str, tuple[Any, str]]  # {attribute: (types, in words)}


def require(allowed: Any, message: str) -> None:
    """Refuse a declaration that is not allowed.

    Raises
    ------
    SettingError
        Like all checks of declarations: names what is declared, the value found, and what is allowed.
    """
    if not allowed:
        raise SettingError(message)


def check_kinds(where: str, declared: Any, kinds: Kinds) -> None:
    """Check that attributes are of these types. Raises SettingError like `require`."""
    for name, (types, wanted) in kinds.items():
        value = getattr(declared, name)
        require(isinstance(value, types), f"{where}: {name}={value!r:.60}, but must be {wanted}")


def check_arguments(where: str, function: Any, *names: str) -> None:
    """Check that a function takes so many arguments by position, if that can be found out. Raises like `require`."""
    try:
        own = signature(function)
    except (TypeError, ValueError):  # of a compiled one
        return
    try:
        own.bind(*names)
    except TypeError as error:
        raise SettingError(
            f"{where} takes other arguments: {error}; it is called with {', '.join(names)}"
        ) from error


def check_storable(where: str, value: Any, rule: Rule) -> None:
    """Check that a model with this value can be saved and loaded. Raises SettingError like `require`."""
    try:
        rule(plain(value), where)
    except FieldError as error:
        raise SettingError(f"{error}; it is saved with the model") from error


def check_dtype(where: str, dtype: Any) -> None:
    """Check the name of a dtype of the params and statistics. Raises SettingError like `require`."""
    require(isinstance(dtype, str) and dtype in DTYPES, f"{where} has dtype={dtype!r:.60}; {choose(DTYPES)}")


def choose(names: Iterable[Any]) -> str:
    """The end of a message, with the known names."""
    return f"choose one of: {', '.join(map(str, names)) or 'none'}"

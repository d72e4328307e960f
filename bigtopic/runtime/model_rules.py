"""What each field of a stored model may hold. The file may come from anywhere; its figures go to compiled loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bigtopic.corpus.json_rules import (
    FieldError,
    Rule,
    anything,
    either,
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
from bigtopic.corpus.manifest_rules import TEXT
from bigtopic.corpus.schema import MOST_WORDS

__all__ = ["check_description", "upgraded"]

_NAME = text(r"[A-Za-z_][A-Za-z0-9_]{0,99}", "a name of letters, digits and underscores")
_LONGEST_TEXT = 4096  # of a setting, which may be a path; messages quote settings


def _scalar(value: Any, where: str) -> None:
    if value is not None and type(value) not in (bool, int, float, str):
        raise FieldError(f"{where} is {ascii(value)[:60]}, but must be a number, text, true, false or null")
    if type(value) is str and len(value) > _LONGEST_TEXT:
        raise FieldError(f"{where} has {len(value)} characters, but may have {_LONGEST_TEXT}")


def _figure(value: Any, where: str) -> None:
    """Any number, NaN too: a score may be one."""
    if type(value) not in (int, float):
        raise FieldError(f"{where} is {ascii(value)[:60]}, but must be a number")


_SCALARS = mapping(_NAME, _scalar)
_ARRAY_NAME = text(
    r"[A-Za-z_][A-Za-z0-9_]{0,99}(\.[A-Za-z_][A-Za-z0-9_]{0,99})?", "a name, or two with a dot between"
)
_SIZE = whole(1, 1 << 24)
_FINGERPRINT = text(r"[0-9a-f]{32}", "32 hexadecimal digits")
_ARRAY = record(
    {"axis": _NAME, "n_components": _SIZE, "normalised_over": optional(one_of("axis", "components"))}
)
_AXIS = record({"named": flag, "size": whole(0, MOST_WORDS), "fingerprint": _FINGERPRINT, "counted": flag})
_STEP = whole(0, 1 << 53)
_ROW = record(
    {"step": _STEP},
    {
        "pass": _STEP,
        "bound": optional(_figure),
        "change": optional(_figure),
        **dict.fromkeys(("score", "seconds", "n_docs", "n_tokens", "tokens_per_second"), _figure),
    },
)
_RULES: Rule = record(
    {
        "state": text(r"state-[0-9a-f]{1,32}", "'state-' and hexadecimal digits"),
        "method": text(r"(?s).{1,200}", "a name"),
        "schemes": mapping(_NAME, _SCALARS),
        "options": mapping(_NAME, anything),
        "seed": whole(0, (1 << 64) - 1),
        "cursor": record({"epoch": _STEP, "round": _STEP, "step": _STEP}, {"ahead": listing(_STEP)}),
        "text": optional(TEXT),
        "history": listing(_ROW),
        "arrays": mapping(_ARRAY_NAME, _ARRAY),
        "components": mapping(_NAME, _SIZE),
        "named": flag,
        "n_words": whole(1, MOST_WORDS),
        "fingerprint": _FINGERPRINT,
        "axes": mapping(_NAME, _AXIS),
        "extra": record(
            {},
            {
                "estimator": text(),
                "params": mapping(_NAME, either(mapping(text(), _scalar), _scalar)),
                "n_docs_seen": number(),
                "n_iter": _STEP,
                "counts": record({"seconds": number(), "n_docs": whole(), "n_tokens": number()}),
            },
        ),
    },
    {"counted": flag, "documents": optional(record({})), "prior_schemes": mapping(_NAME, _SCALARS)},
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
    """The description as version 2 has it. In version 1 the number of topics is that of the only array, and the prior
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
    record({"n_components": _SIZE})(about, "its description: arrays")
    return {**values, "components": {"topic": about["n_components"]}, "axes": {}}

"""Checks of JSON from a file: each field has a rule, and the error names the field that breaks its rule.

A rule is called with a value and where it was found: a field, or a document's name and a colon. The rules of a document
are put together from those here:

>>> rule = record({"size": whole(least=1), "names": listing(text())})
>>> rule({"size": 0, "names": []}, "the document:")
Traceback (most recent call last):
...
bigtopic.storage.json_rules.FieldError: the document: size is 0, but must be a whole number from 1 to 9007199254740991
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = [
    "LARGEST",
    "FieldError",
    "Rule",
    "any_of",
    "anything",
    "flag",
    "listing",
    "mapping",
    "number",
    "one_of",
    "optional",
    "record",
    "text",
    "whole",
]

Rule = Callable[[Any, str], None]

LARGEST = (1 << 53) - 1  # the largest whole number that JSON carries everywhere
_SHOWN = 60  # characters of a value in a message


class FieldError(ValueError):
    """A field has a value that is not allowed; names the field, the value found and the allowed values."""


def _refuse(where: str, value: Any, allowed: str) -> FieldError:
    shown = ascii(value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
    return FieldError(f"{where} is {shown}, but must be {allowed}")


def _rule(holds: Callable[[Any], bool], allowed: str) -> Rule:
    def check(value: Any, where: str) -> None:
        if not holds(value):
            raise _refuse(where, value, allowed)

    return check


def whole(least: int = 0, most: int = LARGEST) -> Rule:
    """A whole number, written as such."""
    return _rule(lambda n: type(n) is int and least <= n <= most, f"a whole number from {least} to {most}")


def number(least: float = 0.0, most: float = 1e300) -> Rule:
    """A finite number."""
    allowed = f"a number from {least:g} to {most:g}"
    return _rule(lambda n: type(n) in (int, float) and least <= n <= most, allowed)


flag = _rule(lambda value: type(value) is bool, "true or false")


def text(pattern: str = r"(?s).*", allowed: str = "text") -> Rule:
    """Text that the regular expression matches from end to end."""
    match = re.compile(pattern).fullmatch
    return _rule(lambda value: type(value) is str and match(value) is not None, allowed)


def one_of(*values: str) -> Rule:
    """One of these texts."""
    return _rule(lambda value: type(value) is str and value in values, f"one of {', '.join(values)}")


def optional(rule: Rule) -> Rule:
    """null, or what the rule says."""

    def check(value: Any, where: str) -> None:
        if value is not None:
            rule(value, where)

    return check


def any_of(*rules: Rule) -> Rule:
    """A value that one of the rules allows; the last rule words the error."""

    def check(value: Any, where: str) -> None:
        for rule in rules[:-1]:
            try:
                return rule(value, where)
            except FieldError:
                continue
        rules[-1](value, where)

    return check


def listing(rule: Rule, length: int | None = None) -> Rule:
    """A list, of this length if one is given."""

    def check(value: Any, where: str) -> None:
        if type(value) is not list or (length is not None and len(value) != length):
            raise _refuse(where, value, "a list" if length is None else f"a list of length {length}")
        for number, item in enumerate(value):
            rule(item, f"{where}[{number}]")

    return check


def mapping(key: Rule, rule: Rule) -> Rule:
    """An object whose names and values follow a rule each."""

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise _refuse(where, value, "an object")
        for name, item in value.items():
            key(name, f"{where}: a name")
            rule(item, f"{where}[{name!a}]")

    return check


def record(rules: Mapping[str, Rule], also: Mapping[str, Rule] | None = None) -> Rule:
    """An object that has these fields, and may have those in `also`. Other fields are left to later versions."""

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise _refuse(where.removesuffix(":"), value, "an object")
        for name, rule in rules.items():
            if name not in value:
                raise FieldError(f"{_below(where, name)} is missing")
            rule(value[name], _below(where, name))
        for name, rule in (also or {}).items():
            if name in value:
                rule(value[name], _below(where, name))

    return check


def _below(where: str, name: str) -> str:
    """`parts[3].nnz`; a `where` that ends with a colon names a document and not a field."""
    return f"{where} {name}" if where.endswith(":") else f"{where}.{name}"


def anything(value: Any, where: str, depth: int = 8) -> None:
    """JSON of any kind, not nested deeper than anything this package writes."""
    if depth == 0:
        raise FieldError(f"{where} is nested too deeply")
    if type(value) is dict or type(value) is list:
        for item in value.values() if type(value) is dict else value:
            anything(item, where, depth - 1)

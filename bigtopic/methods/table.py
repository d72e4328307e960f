"""The table of methods. To add a method, add a row to a file of `families/`; to add a family, add a file there."""

from __future__ import annotations

from bigtopic.methods import families
from bigtopic.methods.method import Method
from bigtopic.support import discovery

__all__ = ["DEFAULT", "FAMILIES", "TABLE"]

DEFAULT = "online-cvb0"


def _rows(family: str) -> tuple[Method, ...]:
    rows: tuple[Method, ...] = discovery.load(families.__name__, family, "METHODS", "family of methods")
    return rows


FAMILIES = {family: _rows(family) for family in discovery.modules(families.__name__)}
TABLE = tuple(method for rows in FAMILIES.values() for method in rows)

"""The learning methods by name, and as a table for users."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from bigtopic.errors import SettingError
from bigtopic.methods.method import Method
from bigtopic.methods.table import DEFAULT, TABLE

__all__ = ["DEFAULT", "Method", "MethodTable", "get", "methods", "names"]

_BY_NAME = {method.name: method for method in TABLE}


def names() -> list[str]:
    """Names of the methods in the table."""
    return [method.name for method in TABLE]


def get(method: str | Method | None) -> Method:
    """A method by name; None gives the default, and a `Method` is returned as it is.

    Raises
    ------
    SettingError
        When there is no such method.
    """
    if isinstance(method, Method):
        return method
    name = DEFAULT if method is None else method
    if not isinstance(name, str) or name not in _BY_NAME:
        raise SettingError(
            f"method={name!r} is not known; choose one of: {', '.join(sorted(_BY_NAME))}; or pass a bigtopic.Method"
        )
    return _BY_NAME[name]


class MethodTable(list[dict[str, Any]]):
    """The methods as a list of rows, displayed as a table."""

    def __repr__(self) -> str:
        rows = [[str(row[c]) for c in _COLUMNS] for row in self]
        widths = [max(len(c), *(len(row[i]) for row in rows)) for i, c in enumerate(_COLUMNS)]
        lines = [_COLUMNS, ["-" * w for w in widths], *rows]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines
        )

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(c)}</th>" for c in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(row[c]))}</td>" for c in _COLUMNS) + "</tr>" for row in self
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_COLUMNS = ["method", "kernel", "scheme", "batch_size", "max_iter", "summary", "paper"]


def methods() -> MethodTable:
    """All learning methods: kernel, scheme, defaults and paper."""
    return MethodTable(_row(method) for method in TABLE)


def _row(method: Method) -> dict[str, Any]:
    return {
        "method": method.name,
        "kernel": method.kernel if isinstance(method.kernel, str) else method.kernel.name,
        "scheme": ", ".join(str(scheme) for scheme in method.schemes.values()),
        "batch_size": method.batch_size or "all",
        "max_iter": method.max_iter,
        "summary": method.summary,
        "paper": method.paper,
    }


class _CallableModule(ModuleType):
    """`bigtopic.methods()` returns the table, although importing this package binds `bigtopic.methods` to it."""

    def __call__(self) -> MethodTable:
        return methods()


sys.modules[__name__].__class__ = _CallableModule

"""The learning methods by name, and as a table for users."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, overload

from bigtopic.methods.details import WIDTH, MethodDetails, details_of, wrapped
from bigtopic.methods.method import Method
from bigtopic.methods.table import DEFAULT, FAMILIES, TABLE, find
from bigtopic.models.base import DOC_TOPIC_PRIOR, Model
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.support import deprecations

__all__ = ["DEFAULT", "Method", "MethodDetails", "MethodTable", "get", "methods", "names"]


def names() -> list[str]:
    """Names of the methods in the table."""
    return [method.name for method in TABLE]


def get(method: str | Method | None, fits: Callable[[Model], bool] = lambda model: True) -> Method:
    """A method by its name or one that a paper uses; None gives the default, a `Method` is returned as it is.

    `fits` says of which models an error lists the methods.

    Raises
    ------
    SettingError
        When there is no such method, or several are meant.
    """
    if isinstance(method, Method):
        return method
    return find(DEFAULT if method is None else method, fits)


class MethodTable(list[dict[str, Any]]):
    """The methods as a list of rows, displayed as a table; text has only what helps to choose, 100 characters wide."""

    def __repr__(self) -> str:
        width = max(len(name) for name in ["method", *(row["method"] for row in self)])
        rest = WIDTH - width - 2
        lines = [("method", "what it does, when to use it, cost of a document"), ("-" * width, "-" * rest)]
        for row in self:
            texts = (row["summary"], f"use: {row['use']}", f"cost: {row['complexity']}")
            cells = [line for text in texts for line in wrapped(text, rest)]
            lines += zip([row["method"], *[""] * (len(cells) - 1)], cells, strict=True)
        return "\n".join(f"{name.ljust(width)}  {cell}" for name, cell in lines)

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(c)}</th>" for c in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(row[c]))}</td>" for c in _COLUMNS) + "</tr>" for row in self
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_COLUMNS = [
    "family", "method", "kernel", "scheme", "batch_size", "max_iter",
    "doc_topic_prior", "topic_word_prior", "summary", "complexity", "use", "paper", "aliases",
]  # fmt: skip


@overload
def methods(method: None = None) -> MethodTable: ...


@overload
def methods(method: str | Method) -> MethodDetails: ...


def methods(method: str | Method | None = None) -> MethodTable | MethodDetails:
    """All learning methods by family: kernel, scheme, defaults, cost, use, paper, and names that papers use. Or one
    method in full: these of it, all its settings, notes on its papers, and the papers as BibTeX.

    Default priors are numbers, or formulas of K, the number of topics.

    Parameters
    ----------
    method : the method to tell about, as `LDA(method=...)` takes it; None for the table of all

    Raises
    ------
    SettingError
        When there is no such method, or several are meant.
    """
    if method is None:
        return MethodTable(_row(family, method) for family, rows in FAMILIES.items() for method in rows)
    found = get(method)
    family = next((name for name, rows in FAMILIES.items() if found in rows), "")
    return details_of(found, _row(family, found))


def _row(family: str, method: Method) -> dict[str, Any]:
    return {
        "family": family.replace("_", " "),
        "method": method.name,
        "kernel": method.kernel if isinstance(method.kernel, str) else method.kernel.name,
        "scheme": ", ".join(str(scheme) for scheme in method.schemes.values()),
        "batch_size": _batch_size(method),
        "max_iter": method.max_iter,
        "doc_topic_prior": _prior(method, DOC_TOPIC_PRIOR),
        "topic_word_prior": _prior(method, TOPIC_WORDS),
        "summary": method.summary,
        "complexity": method.complexity,
        "use": method.use,
        "paper": method.paper,
        "aliases": ", ".join(method.aliases),
    }


def _batch_size(method: Method) -> int | str:
    """Documents per update, or the rule where they grow with the topics."""
    if method.batch_size is None:
        return "all"
    share = method.docs_per_component
    return f"max({method.batch_size}, K/{1 / share:g})" if share else method.batch_size


def _prior(method: Method, array: str) -> str:
    """The default prior of an array; "" where the model has no such array, or the array no prior."""
    spec = method.model.arrays.get(array)
    return "" if spec is None or spec.prior is None else method.prior_text(spec.prior)


class Methods(ModuleType):
    """`bigtopic.methods()` is the function, although importing this package binds `bigtopic.methods` to it."""

    @overload
    def __call__(self, method: None = None) -> MethodTable: ...

    @overload
    def __call__(self, method: str | Method) -> MethodDetails: ...

    def __call__(self, method: str | Method | None = None) -> MethodTable | MethodDetails:
        return methods(method)


sys.modules[__name__].__class__ = Methods
deprecations.moved(__name__, method=["until_rest"])

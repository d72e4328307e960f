"""Values of options and arguments: functions, paths, and names that a shell completes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

__all__ = ["FUNCTION", "PATH", "completed", "settings"]

PATH = click.Path()  # or a URL: it need not exist


class _Function(click.ParamType):
    """A function by its place, such as package.module:function, imported as Python would from the current folder."""

    name = "package.module:function"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        module, _, names = str(value).partition(":")
        if not module or not names:
            self.fail(f"{value!r} is not a function; write it as package.module:function", param, ctx)
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.append(here)  # last, so that no file of this folder hides another module
        try:
            found: Any = import_module(module)
            for name in names.split("."):
                found = getattr(found, name)
        except Exception as error:  # importing a module runs it
            self.fail(f"{value!r} cannot be imported: {error or type(error).__name__}", param, ctx)
        if not callable(found):
            self.fail(f"{value!r} is a {type(found).__name__}, not a function", param, ctx)
        return found


FUNCTION = _Function()


class _Setting(click.ParamType):
    """A setting by its name, NAME=VALUE: a whole number, a number, true, false, none, or a text."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, sign, text = str(value).partition("=")
        if not sign or not name.strip():
            self.fail(f"{value!r} is not a setting; write it as name=value, such as decay=0.9", param, ctx)
        return name.strip(), _as_typed(text.strip())


def _as_typed(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def once(
    ctx: click.Context, parameter: click.Parameter, pairs: Iterable[tuple[str, Any]]
) -> dict[str, Any] | None:
    """The settings by name; None where none is given. Refuses one that is given twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise click.BadParameter(f"{name} is given twice; leave one of them out", ctx, parameter)
        found[name] = value
    return found or None


def settings(help: str) -> Callable[..., Any]:
    """--option, repeatable: settings of a method as {name: value}."""
    return click.option(
        "--option", "options", type=_Setting(), multiple=True, callback=once, metavar="NAME=VALUE", help=help
    )


def completed(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """What a shell offers for an option or argument: those of the names that begin with what was typed."""

    def offer(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        return [name for name in names() if name.startswith(typed)]

    return offer

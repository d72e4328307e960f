"""Values of options and arguments: functions, paths, and names that a shell completes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import click

__all__ = ["FUNCTION", "PATH", "completed"]

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


def completed(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """What a shell offers for an option or argument: those of the names that begin with what was typed."""

    def offer(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        return [name for name in names() if name.startswith(typed)]

    return offer

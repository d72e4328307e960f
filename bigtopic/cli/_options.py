"""Options that several verbs share."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from bigtopic.wording import counted

__all__ = ["Duration", "as_json", "connected", "duration", "number", "parallel", "random_state"]

_THREADS_EACH = 16  # processors
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


class Duration(click.ParamType):
    """Seconds from '90', '90s', '10m', '1h30m' or '2d'."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = value.strip().lower()
        pieces = _PIECE.findall(text)
        if pieces and "".join(digits + unit for digits, unit in pieces) == text:
            seconds = sum(float(digits) * _UNITS[unit] for digits, unit in pieces)
        else:
            try:
                seconds = float(text)
            except ValueError:
                self.fail(f"{value!r} is not a time; write it as 90s, 10m, 1h30m or 2d", param, ctx)
        if not 0 < seconds < float("inf"):
            self.fail(f"{value!r} must be a positive time", param, ctx)
        return seconds


duration = Duration()


class Number(click.ParamType):
    """A number of documents if it is whole, else a share of them: 1 is one document, 1.0 all."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        for kind in (int, float):
            with suppress(ValueError):
                return kind(str(value))  # true is no number
        self.fail(f"{value!r} is neither a number of documents nor a share such as 0.5", param, ctx)


number = Number()

_Decorated = Callable[..., Any]


def _address(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check the address: Dask takes a minute to give up on an invalid one."""
    if value is not None and not re.fullmatch(r"\w+://\S+|\S+:\d+", value):
        raise click.BadParameter(f"{value!r} is not the address of a scheduler, such as tcp://10.0.0.1:8786")
    return value


def _threads(context: click.Context, parameter: click.Parameter, value: int | None) -> int | None:
    """Refuse so many threads that they only take memory."""
    from bigtopic.parallel.cluster import default_threads

    if value is not None and value > _THREADS_EACH * (n := default_threads()):
        raise click.BadParameter(
            f"{value} threads for {counted(n, 'processor')} would only take memory; give {n}, or leave it out"
        )
    return value


def parallel(function: _Decorated) -> _Decorated:
    """--scheduler and --threads."""
    for option in (
        click.option(
            "--threads",
            "n_threads",
            type=click.IntRange(1),
            callback=_threads,
            help="Number of threads; default all processors.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            callback=_address,
            help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786.",
        ),
    ):
        function = option(function)
    return function


def random_state(function: _Decorated) -> _Decorated:
    """--random-state."""
    return click.option(
        "--random-state", "--seed", type=int, default=0, show_default=True, help="Seed of all randomness."
    )(function)


def as_json(function: _Decorated) -> _Decorated:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")(function)


@contextmanager
def connected(scheduler: str | None) -> Iterator[Any]:
    """What to pass as `client=`: a client of the scheduler, closed at the end, or False for threads."""
    if scheduler is None:
        yield False
        return
    from bigtopic.parallel.cluster import resolve_client

    client, context = resolve_client(scheduler), click.get_current_context(silent=True)
    quiet = context is None or not context.find_root().params.get("debug")
    if quiet:  # a dead scheduler is one error of this command: Dask logs tracebacks of every connection
        logging.disable(logging.CRITICAL)
    try:
        yield client
    finally:
        client.close()
        if quiet:
            logging.disable(logging.NOTSET)

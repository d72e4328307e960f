"""Verbs, one per module of this folder, and readable errors."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import click

from bigtopic.cli._pipes import without_copies
from bigtopic.cli.support.repeat import CONFIG, name_config, of_config
from bigtopic.errors import BigtopicError, did_you_mean, worded
from bigtopic.support import discovery
from bigtopic.wording import printable

__all__ = ["INTERRUPTED", "TERMINATED", "Verbs"]

_ORDER = (
    "demo",
    "ingest",
    "authors",
    "compact",
    "select",
    "split",
    "info",
    "verify",
    "methods",
    "train",
    "topics",
    "find",
    "show",
    "evaluate",
    "infer",
    "similar",
    "report",
    "plot",
)

_ELSEWHERE = {"client": "scheduler"}  # arguments whose options have another name in click

INTERRUPTED = 130  # the exit code, as of shells: 128 + SIGINT
TERMINATED = 143  # 128 + SIGTERM


class _Failure(click.ClickException):
    """A user error: one message, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.secho("Error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(printable(self.format_message()), err=True)


class Verbs(click.Group):
    """A verb is a module of this package whose name does not begin with an underscore; it defines `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        verbs = discovery.modules("bigtopic.cli")
        return sorted(verbs, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"bigtopic.cli.{name}").command
        if CONFIG not in command.params:
            command.params.append(CONFIG)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        verbs = self.list_commands(ctx)
        if ctx.resilient_parsing or args[0] in verbs or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"there is no verb {args[0]!r}{did_you_mean(args[0], verbs)}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings(), _terminable():
            warnings.showwarning = partial(_show_warning, lambda message: self._as_typed(message, ctx))
            try:
                return super().invoke(ctx)
            except click.UsageError as error:
                name_config(error)
                if isinstance(error, click.NoSuchOption):
                    _name_of_argument(error)
                # The message quotes arguments, which a shell may have expanded.
                vars(error)["message"] = printable(error.message)
                raise
            except (BigtopicError, OSError) as error:
                # click handles a closed pipe (`bigtopic topics ... | head`).
                if ctx.params.get("debug") or isinstance(error, BrokenPipeError):
                    raise
                raise _Failure(of_config(self._as_typed(error, ctx), ctx)) from error
            except KeyboardInterrupt:
                click.echo("Interrupted", err=True)
                ctx.exit(INTERRUPTED)

    def _as_typed(self, error: Warning | Exception, ctx: click.Context) -> str:
        """A message in the options of the verb that runs."""
        verb = self.get_command(ctx, ctx.invoked_subcommand or "")
        message = getattr(error, "message", None) or str(error) or type(error).__name__
        options = [] if verb is None else _options(verb, ctx)
        return without_copies(worded(message, partial(_option, options)), ctx)


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM, by which Docker, Slurm and systemd end a process, ends the command and removes its temporary folders."""
    usual = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or usual != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _terminate(number: int, frame: Any) -> None:
    raise SystemExit(TERMINATED)


def _name_of_argument(error: click.NoSuchOption) -> None:
    """Suggest the option that sets the argument of a Python function that was typed as an option."""
    typed = error.option_name.lstrip("-").replace("-", "_")
    for option in error.ctx.command.params if error.ctx is not None else ():
        if option.name == typed:
            vars(error)["possibilities"] = [option.opts[0]]


def _options(verb: click.Command, ctx: click.Context) -> list[click.Parameter]:
    """The options of a verb, without those of measures or plots if it is their files that are wrong."""
    try:
        return verb.get_params(ctx)
    except BigtopicError:
        return verb.params


def _option(params: Iterable[click.Parameter], argument: str) -> str | None:
    """The option that sets an argument of a Python function; the prior of documents is that of authors, too."""
    spelled = {param.name: param.opts[0] for param in params if param.opts[0].startswith("--")}
    names = argument, argument.replace("author_topic", "doc_topic"), _ELSEWHERE.get(argument)
    return next((spelled[name] for name in names if name in spelled), None)


def _show_warning(as_typed: Callable[[Warning], str], message: Warning, *_: Any, **__: Any) -> None:
    click.secho("Warning: ", fg="yellow", bold=True, nl=False, err=True)
    click.echo(as_typed(message), err=True)

"""Verbs, one per module of this folder, and readable errors."""

from __future__ import annotations

import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import click

from bigtopic import discovery
from bigtopic.cli._repeat import CONFIG, name_config, of_config
from bigtopic.errors import BigtopicError, did_you_mean
from bigtopic.printable import printable

__all__ = ["INTERRUPTED", "TERMINATED", "Verbs", "as_options"]

_ORDER = (
    "demo",
    "ingest",
    "authors",
    "info",
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

_COMMANDS = {
    r"bigtopic\.ingest\(source, '(.*?)'\)": r"'bigtopic ingest SOURCE \1'",
    r"bigtopic\.ingest\('(.*?)', store\)": r"'bigtopic ingest \1 CORPUS'",
    r"bigtopic\.load_model opens it, or give": "give",
    r"\(validation=\)": "('bigtopic train --held-out')",
    r" bigtopic\.open_corpus opens it, or": "",
    r", see bigtopic\.methods\(\)": ", see 'bigtopic methods'",
    r"options=\{'([\w.]+)': (.*?)\}": r"--option \1=\2",
    r"\blearn_author_topic_prior\b": "learn_doc_topic_prior",
    r"; or pass a bigtopic\.Method": "; see 'bigtopic methods'",
    r"open it with open_corpus\. To store": "give it to the other verbs as it is. In Python, to store",
    r"write one with transform_to": "write one with 'bigtopic infer MODEL DOCUMENTS THETA'",
    r"give a corpus that has authors as X": "give --corpus a corpus that has authors",
    r"a list of words, or None": "or 'none'",
    r"must be None, (?=a threshold)": "must be ",
    r" \(or None\)|, or None(?: to keep all)?$": "",
    r"; a scheme has None for a constant": "",
    r"ingest them with authors=": "pass --author-column to 'bigtopic ingest', or attach them with 'bigtopic authors'",
    r"ingest them with vocabulary=model": "pass --vocabulary MODEL to 'bigtopic ingest'",
    r"ingest its source with keep_text=True": "pass --keep-text to 'bigtopic ingest'",
    r"settings such as min_df and stop_words": "options of 'bigtopic ingest' such as --min-df and --stop-words",
    r"drop them with corpus\.filter_vocabulary\(.*\), or pass stop_words='(.*)' to ingest": r"pass --stop-words \1 to "
    "'bigtopic ingest'",
    r"use bigtopic\.evaluate\.log_predictive with (?=split=)": "pass ",
    r" and storage_options=": "",
    r"bigtopic\.LDA and save it": "'bigtopic train CORPUS MODEL'",
    r"bigtopic\.open_corpus opens it": "train a model on it with 'bigtopic train CORPUS MODEL'",
    r"client='([^']*)'(?=: )": r"--scheduler \1",
    r"(?:pass )?client=False": "leave out --scheduler",
    r"^select\((.+?)='?(.*?)'?\)(?=: column )": r"--where \1=\2",
    r"pass it: load_model\(url, method=\.\.\.\)": "commands need a row for it in bigtopic/methods/families; in "
    "Python, load_model takes it",
}


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
                message = self._as_typed(str(error) or type(error).__name__, ctx)
                raise _Failure(of_config(message, ctx)) from error
            except KeyboardInterrupt:
                click.echo("Interrupted", err=True)
                ctx.exit(INTERRUPTED)

    def _as_typed(self, message: str, ctx: click.Context) -> str:
        """A message of Python functions in the options of the verb that runs."""
        verb = self.get_command(ctx, ctx.invoked_subcommand or "")
        return message if verb is None else as_options(message, _options(verb, ctx))


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


def as_options(message: str, params: list[click.Parameter]) -> str:
    """The message with arguments of Python functions written as options of the verb: overwrite=True as
    --overwrite, "ratio: must be" as "--ratio: must be"; and calls of functions as commands, without what only Python
    has."""
    for call, command in _COMMANDS.items():
        message = re.sub(call, command, message)
    for option in params:
        if option.name and option.opts[0].startswith("--"):
            argument = rf"(?<![\w.]){option.name}=(?:True\b|'(.*?)'|([-\w.]*[-\w])|)"
            message = re.sub(argument, partial(_spelled, option.opts[0]), message)
            message = re.sub(rf"^{option.name}(?=: | must be )", option.opts[0], message)
            if "_" in option.name:  # else it may be a word
                message = re.sub(
                    rf"(?<![\w./\\'\"-]){option.name}(?![\w'\"(-]|\.\w)", option.opts[0], message
                )
    return message


def _spelled(option: str, argument: re.Match[str]) -> str:
    value = argument[1] or argument[2]
    return f"{option} {value}" if value else option


def _show_warning(as_typed: Callable[[str], str], message: Warning | str, *_: Any, **__: Any) -> None:
    click.secho("Warning: ", fg="yellow", bold=True, nl=False, err=True)
    click.echo(printable(as_typed(str(message))), err=True)

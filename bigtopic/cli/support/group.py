"""Verbs, one per module of this folder, readable errors, and runs again: as a command that is printed, and from a file
of options or a model, with --config."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import threading
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from bigtopic.cli.support.parameters import PATH, without_copies
from bigtopic.cli.support.terminal import in_unicode
from bigtopic.errors import BigtopicError, InputError, SettingError, did_you_mean, worded
from bigtopic.support import discovery
from bigtopic.wording import printable

__all__ = ["CONFIG", "INTERRUPTED", "TERMINATED", "Verbs", "command_of"]

_ORDER = (
    "demo", "ingest", "authors", "compact", "select", "split", "info", "verify", "methods", "train", "sweep", "topics",
    "find", "show", "evaluate", "task", "intrusion", "infer", "similar", "report", "plot", "explore",
)  # fmt: skip
_NAMES_IN_CLICK = {"client": "scheduler"}  # arguments whose options have another name in click

INTERRUPTED = 130  # the exit code, as of shells: 128 + SIGINT
TERMINATED = 143  # 128 + SIGTERM


class _Failure(click.ClickException):
    """A user error: one message, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.secho("Error: ", fg="red", bold=True, nl=False, err=True, color=self.show_color)
        click.echo(printable(self.format_message()), err=True)


class Verbs(click.Group):
    """A verb is a module of this package whose name does not begin with an underscore; it defines `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        verbs = discovery.modules("bigtopic.cli")
        return sorted(verbs, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command = _verb(name)
        if CONFIG not in command.params:
            command.params.append(CONFIG)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        verbs = self.list_commands(ctx)
        if ctx.resilient_parsing or args[0] in verbs or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"there is no verb {args[0]!r}{did_you_mean(args[0], verbs)}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        if os.environ.get("NO_COLOR"):  # https://no-color.org
            ctx.color = False
        if not in_unicode():  # what the locale lacks is an escape, not an error
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        with warnings.catch_warnings(), _terminable():
            warnings.showwarning = partial(_show_warning, lambda message: self._as_typed(message, ctx))
            try:
                return super().invoke(ctx)
            except click.UsageError as error:
                _explain(error)
                # The message quotes arguments, which a shell may have expanded.
                vars(error)["message"] = printable(error.message)
                raise
            except (BigtopicError, OSError) as error:
                # click handles a closed pipe (`bigtopic topics ... | head`).
                if ctx.params.get("debug") or isinstance(error, BrokenPipeError):
                    raise
                raise _Failure(_of_config(self._as_typed(error, ctx), ctx)) from error
            except KeyboardInterrupt:
                click.echo("Interrupted", err=True)
                ctx.exit(INTERRUPTED)

    def _as_typed(self, error: Warning | Exception, ctx: click.Context) -> str:
        """A message in the options of the verb that runs."""
        verb = self.get_command(ctx, ctx.invoked_subcommand or "")
        message = getattr(error, "message", None) or str(error) or type(error).__name__
        params = [] if verb is None else verb.params
        with suppress(BigtopicError):  # of the file of a measure or plot, whose settings are options, too
            params = params if verb is None else verb.get_params(ctx)
        return without_copies(worded(message, partial(_option, params)), ctx)


def _verb(name: str) -> click.Command:
    verb: click.Command = import_module(f"bigtopic.cli.{name}").command
    return verb


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM, by which Docker, Slurm and systemd end a process, ends the command and removes its temporary folders."""
    usual = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or usual != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _option(params: Iterable[click.Parameter], argument: str) -> str | None:
    """The option that sets an argument of a Python function; the documents' prior also sets the authors'."""
    spelled = {param.name: param.opts[0] for param in params if param.opts[0].startswith("--")}
    names = argument, argument.replace("author_topic", "doc_topic"), _NAMES_IN_CLICK.get(argument)
    return next((spelled[name] for name in names if name in spelled), None)


def _show_warning(as_typed: Callable[[Warning], str], message: Warning, *_: Any, **__: Any) -> None:
    click.secho("Warning: ", fg="yellow", bold=True, nl=False, err=True)
    click.echo(as_typed(message), err=True)


_FILE = "bigtopic.config"  # the file of --config, and the context of its verb, in `click.Context.meta`
_ALWAYS = ("method", "random_state", "n_components")


def command_of(run: Mapping[str, Any] | None, unfinished: bool = False) -> str | None:
    """The command that repeats a run, to write a model at MODEL; None when no command does, as for a run that Ctrl-C
    or its time limit ended.

    Parameters
    ----------
    run : the record of a fit, see `bigtopic.estimators.support.run_record`
    unfinished : whether the run is one that was saved before its end
    """
    options = _options_of(run, _verb("train"))
    url = ((run or {}).get("corpus") or {}).get("url")
    cut = (run or {}).get("ended") in ("interrupt", "max_time") or unfinished
    if options is None or url is None or url.startswith("-") or cut:
        return None
    words = ["bigtopic", "train", url, "MODEL"]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name}"] if each is True else [f"--{name}", _written(each)]
    return shlex.join(words)


def _options_of(run: Mapping[str, Any] | None, train: click.Command) -> dict[str, Any] | None:
    """Options of `bigtopic train` by name, that repeat a run; None when some setting has no option.

    Options whose values are the defaults are left out, but for the method and the seed.
    """
    from bigtopic.estimators.persistence import KINDS

    if run is None or "settings" not in run or run.get("partial_fits") or run.get("not_recorded"):
        return None
    kind = KINDS.get(run["estimator"])
    if kind is None:
        return None
    usual = kind().get_params()
    settings = {name: v for name, v in run["settings"].items() if v != usual.get(name) or name in _ALWAYS}
    names = {}
    for option in train.params:
        if isinstance(option, click.Option):  # the documents' prior also sets the authors'
            of_authors = str(option.name).replace("doc_topic", "author_topic")
            names[of_authors if of_authors in settings else str(option.name)] = option.opts[0][2:]
    if "replicas" not in settings:
        settings.pop("replica_updates", None)  # which has no effect then
    if settings.keys() - names.keys():
        return None
    if "options" in settings:
        settings["options"] = [f"{name}={_written(value)}" for name, value in settings["options"].items()]
    return {option: settings[name] for name, option in names.items() if name in settings}


def _written(value: Any) -> str:
    """A number without the zeros after its point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _configure(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Take the options in a file as defaults of the verb."""
    if path is None:
        return
    known = {
        spelling[2:]: option
        for option in ctx.command.get_params(ctx)
        if isinstance(option, click.Option)
        for spelling in option.opts
    }
    defaults = {}
    for name, value in _options_in(path, ctx.command).items():
        if name not in known or known[name] is parameter:
            raise SettingError(
                f"{path}: {ctx.command_path} has no option {name!r}{did_you_mean(name, known)}"
            )
        _check_value(f"{path}: {name}", value, known[name])
        defaults[str(known[name].name)] = value
    ctx.default_map = {**(ctx.default_map or {}), **defaults}
    ctx.meta[_FILE] = path, ctx


def _explain(error: click.UsageError) -> None:
    """Say of a wrong value that it is in the file of --config; of an argument of Python that was typed as an option,
    suggest the option that sets it."""
    ctx, option = error.ctx, getattr(error, "param", None)
    if ctx is None:
        return
    if option is not None and option.name in (names := _from_file(ctx)):
        vars(error)["param_hint"] = f"{option.get_error_hint(ctx)} in {names[option.name]}"
    if isinstance(error, click.NoSuchOption):
        typed = error.option_name.lstrip("-").replace("-", "_")
        for param in ctx.command.params:
            if param.name == typed:
                vars(error)["possibilities"] = [param.opts[0]]


def _of_config(message: str, ctx: click.Context) -> str:
    """The message, with the file of --config before it if it begins with an option that is in there."""
    begin, known = message.split(" ")[0].rstrip(":"), _from_file(ctx)
    verb = ctx.meta[_FILE][1] if known else ctx
    for param in verb.command.get_params(verb) if known else ():
        if param.name in known and begin in param.opts:
            return f"{known[param.name]}: {message}"
    return message


def _from_file(ctx: click.Context) -> dict[str, str]:
    """{name of an option: the file of --config that it is from}"""
    path, verb = ctx.meta.get(_FILE, ("", None))
    names = () if verb is None else verb.default_map or ()
    return {name: path for name in names if verb.get_parameter_source(name) is ParameterSource.DEFAULT_MAP}


def _check_value(where: str, value: Any, option: click.Option) -> None:
    """Refuse what no command line could say, such as a table or a time."""
    if option.multiple and not isinstance(value, list):
        raise SettingError(f"{where} is a {type(value).__name__}; write a list, such as ['a', 'b']")
    several = option.multiple or getattr(option.type, "several", False)
    for item in value if several and isinstance(value, list) else [value]:
        if not isinstance(item, str | int | float | None):
            raise SettingError(
                f"{where} holds a {type(item).__name__}; write a text, a number, true or false"
            )


def _options_in(path: str, verb: click.Command) -> Mapping[str, Any]:
    """Options by name, in TOML, in JSON, or of the run that made a model."""
    from bigtopic.cli.support.stores import is_checkpoint, is_model, model_at

    if is_model(path) or is_checkpoint(path):
        options = _options_of(model_at(path).run_, verb)
        if options is None:
            raise SettingError(f"{path}: no options of 'bigtopic {verb.name}' repeat the run of this model")
        return options
    kind = "JSON" if path.endswith(".json") else "TOML"
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = (json if kind == "JSON" else tomllib).loads(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not {kind}: {error}") from None
    if not isinstance(found, dict):
        raise InputError(
            f"{path} holds a {type(found).__name__}; write options as name = value, such as topics = 100"
        )
    return found


CONFIG = click.Option(
    ["--config"],
    type=PATH,
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_configure,
    help="File of options, in TOML or JSON, or a model whose run to repeat; options typed here override its own.",
)

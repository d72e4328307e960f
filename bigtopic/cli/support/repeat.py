"""A run again: as a command that is printed, and from a file of options or a model, with --config."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from bigtopic.cli._values import PATH
from bigtopic.errors import InputError, SettingError, did_you_mean

__all__ = ["CONFIG", "command_of", "name_config", "of_config", "options_of"]

_FILE = "bigtopic.config"  # the file of --config, and the context of its verb, in `click.Context.meta`
_ALWAYS = ("method", "random_state", "n_components")


def command_of(run: Mapping[str, Any] | None, train: click.Command, unfinished: bool = False) -> str | None:
    """The command that repeats a run, to write a model at MODEL; None when no command does, as for a run that Ctrl-C
    or its time limit ended.

    Parameters
    ----------
    run : the record of a fit, see `bigtopic.estimators.saved.run_record`
    train : the verb
    unfinished : whether the run is one that was saved before its end
    """
    options = options_of(run, train)
    url = ((run or {}).get("corpus") or {}).get("url")
    cut = (run or {}).get("ended") in ("interrupt", "max_time") or unfinished
    if options is None or url is None or url.startswith("-") or cut:
        return None
    words = ["bigtopic", str(train.name), url, "MODEL"]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name}", _written(each)]
    return shlex.join(words)


def options_of(run: Mapping[str, Any] | None, train: click.Command) -> dict[str, Any] | None:
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
    names = {
        _setting_of(option, settings): option.opts[0][2:]
        for option in train.params
        if isinstance(option, click.Option)
    }
    if "replicas" not in settings:
        settings.pop("replica_updates", None)  # which has no effect then
    if settings.keys() - names.keys():
        return None
    if "options" in settings:
        settings["options"] = [f"{name}={_written(value)}" for name, value in settings["options"].items()]
    return {option: settings[name] for name, option in names.items() if name in settings}


def _setting_of(option: click.Option, settings: Mapping[str, Any]) -> str:
    """The estimator's name of what an option sets; the prior of documents is that of authors where there are any."""
    name = str(option.name)
    of_authors = name.replace("doc_topic", "author_topic")
    return of_authors if of_authors in settings else name


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


def name_config(error: click.UsageError) -> None:
    """Say in an error about the value of an option that it is in the file of --config, if it is."""
    ctx, option = error.ctx, getattr(error, "param", None)
    if ctx is not None and option is not None and option.name in (names := _from_file(ctx)):
        vars(error)["param_hint"] = f"{option.get_error_hint(ctx)} in {names[option.name]}"


def of_config(message: str, ctx: click.Context) -> str:
    """The message, with the file of --config before it if it begins with an option that is in there."""
    option = message.split(" ")[0].rstrip(":")
    for name, path in _from_file(ctx).items():
        if option in _spellings(ctx.meta[_FILE][1], name):
            return f"{path}: {message}"
    return message


def _from_file(ctx: click.Context) -> dict[str, str]:
    """{name of an option: the file of --config that it is from}"""
    path, verb = ctx.meta.get(_FILE, ("", ctx))
    return {
        name: path
        for name in (verb.default_map or {} if path else {})
        if verb.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
    }


def _spellings(verb: click.Context, name: str) -> list[str]:
    return [
        spelling for param in verb.command.get_params(verb) if param.name == name for spelling in param.opts
    ]


def _check_value(where: str, value: Any, option: click.Option) -> None:
    """Refuse what no command line could say, such as a table or a time."""
    if option.multiple and not isinstance(value, list):
        raise SettingError(f"{where} is a {type(value).__name__}; write a list, such as ['a', 'b']")
    for item in value if option.multiple else [value]:
        if not isinstance(item, str | int | float | None):
            raise SettingError(
                f"{where} holds a {type(item).__name__}; write a text, a number, true or false"
            )


def _options_in(path: str, verb: click.Command) -> Mapping[str, Any]:
    """Options by name, in TOML, in JSON, or of the run that made a model."""
    from bigtopic.cli._stores import is_checkpoint, is_model

    if is_model(path) or is_checkpoint(path):
        return _options_of_model(path, verb)
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not {'JSON' if path.endswith('.json') else 'TOML'}: {error}") from None
    if not isinstance(found, dict):
        raise InputError(
            f"{path} holds a {type(found).__name__}; write options as name = value, such as topics = 100"
        )
    return found


def _options_of_model(path: str, verb: click.Command) -> Mapping[str, Any]:
    from bigtopic.estimators.persistence import load_model

    options = options_of(load_model(path).run_, verb)
    if options is None:
        raise SettingError(f"{path}: no options of 'bigtopic {verb.name}' repeat the run of this model")
    return options


CONFIG = click.Option(
    ["--config"],
    type=PATH,
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_configure,
    help="File of options, in TOML or JSON, or a model whose run to repeat; options typed here override its own.",
)

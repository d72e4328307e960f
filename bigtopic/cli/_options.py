"""Options and arguments that several verbs share, and the types of their values."""

from __future__ import annotations

import logging
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import click
from click.core import ParameterSource

from bigtopic.errors import InputError
from bigtopic.wording import counted

__all__ = [
    "FUNCTION",
    "PATH",
    "STANDARD",
    "Duration",
    "WithMeasures",
    "WithSettings",
    "as_json",
    "completed",
    "conditions",
    "connected",
    "duration",
    "given",
    "is_given",
    "joined",
    "named",
    "number",
    "of_documents",
    "options_of",
    "parallel",
    "random_state",
    "settings",
    "source_file",
    "standard_input",
    "where_option",
    "without_copies",
]


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


def where_option(**settings: Any) -> Callable[..., Any]:
    """--where."""
    return click.option(
        "--where",
        "where",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="Only documents with this value of a column, or from a to b: year=2000..2005. May be repeated.",
        **settings,
    )


def of_documents(function: Callable[..., Any]) -> Callable[..., Any]:
    """--theta and --where."""
    for option in (
        where_option(),
        click.option(
            "--theta",
            type=PATH,
            help="Topics of the documents, as `bigtopic infer` wrote them; else they are inferred.",
        ),
    ):
        function = option(function)
    return function


def conditions(given: Sequence[str], documents: Any) -> dict[str, Any]:
    """What `Corpus.select` takes, from COLUMN=VALUE; values have the type of the column of these documents."""
    found: dict[str, Any] = {}
    for text in given:
        if documents is None:
            raise click.UsageError("--where needs --corpus or --theta, which have the columns")
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(
                f"--where {text!r}: write COLUMN=VALUE, such as year=2005 or year=2000..2005"
            )
        if name in found:
            raise click.UsageError(
                f"--where {text!r}: {name} is given twice; write one range, such as {name}=2000..2005"
            )
        kind = documents.run(0, 1, order="stored").read_column(name).dtype.kind
        low, dots, high = value.partition("..")
        found[name] = slice(_typed(low, kind), _typed(high, kind)) if dots else _typed(value, kind)
    if found and not documents.select(**found).n_docs:
        shown = " ".join(f"--where {text}" for text in given)
        raise click.UsageError(
            f"{shown}: none of the {counted(len(documents), 'document')} meets "
            f"{'this condition' if len(found) == 1 else 'these conditions together'}"
        )
    return found


def _typed(value: str, kind: str) -> Any:
    """The value as a column of this kind has it; None for an empty end of a range."""
    if kind == "O":
        return value or None
    if kind == "b":
        if value.lower() not in ("true", "false"):
            raise click.UsageError(f"--where: {value!r} is neither true nor false, which the column holds")
        return value.lower() == "true"
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    return value or None


STANDARD = "-"
_COPY = "bigtopic.standard-input"  # path of the temporary file, in `click.Context.meta`


@contextmanager
def source_file(path: str) -> Iterator[str]:
    """The path; for "-", that of a temporary file with all of standard input, because readers read twice."""
    if path != STANDARD:
        yield path
        return
    with TemporaryDirectory(prefix="bigtopic-") as folder:
        copy = Path(folder) / "standard-input"
        with copy.open("wb") as file:
            shutil.copyfileobj(standard_input().buffer, file)
        if (context := click.get_current_context(silent=True)) is not None:
            context.meta[_COPY] = str(copy)
        yield str(copy)


def without_copies(message: str, context: click.Context) -> str:
    """A message, in which the temporary file is called standard input."""
    copy = context.meta.get(_COPY)
    return message if copy is None else message.replace(copy, "standard input")


def standard_input() -> TextIO:
    """Standard input.

    Raises
    ------
    InputError
        When it is closed, as by `<&-`.
    """
    if sys.stdin is None:
        raise InputError("standard input is closed; write a file or a text in place of '-'")
    return sys.stdin


class WithMeasures(click.Command):
    """A verb with --measure."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        return joined(own, self._found, ctx.command_path)

    @cached_property
    def _found(self) -> list[click.Parameter]:
        from bigtopic.evaluation import measures

        return [
            click.Option(
                ["--measure", "measures"],
                type=click.Choice(measures.names()),
                multiple=True,
                default=[measure.name for measure in measures.defaults()],
                show_default=True,
                help="Measure to compute; may be repeated.",
            )
        ]


class WithSettings(WithMeasures):
    """A verb with --measure, and an option for each setting of a measure."""

    @cached_property
    def _found(self) -> list[click.Parameter]:
        from bigtopic.evaluation import measures

        return [*super()._found, *options_of(map(measures.load, measures.names()))]


def joined(
    own: Sequence[click.Parameter], found: Sequence[click.Parameter], verb: str
) -> list[click.Parameter]:
    """The parameters of a verb: its arguments, the options found in a folder, its options.

    Raises
    ------
    click.UsageError
        When an option of the verb has the name of a setting.
    """
    taken = {spelling for param in own for spelling in (param.name, *param.opts)}
    for option in found:
        if clash := taken.intersection((option.name, *option.opts)):
            raise click.UsageError(
                f"setting {option.name!r} of a measure or plot is also {min(map(str, clash))} of {verb}; "
                "give the setting another name"
            )
        taken |= {option.name, *option.opts}
    n_arguments = sum(isinstance(param, click.Argument) for param in own)
    return [*own[:n_arguments], *found, *own[n_arguments:]]


def options_of(members: Iterable[Any]) -> list[click.Parameter]:
    """An option for each setting that one or several of the members (measures, plots) have."""
    settings: dict[str, dict[str, Any]] = {}
    for member in members:
        for name, setting in member.settings.items():
            settings.setdefault(name, {})[member.name] = setting
    return [_option(name, same, settings.keys()) for name, same in settings.items()]


def given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings on the command line; the others keep their defaults, which differ from measure to measure."""
    return {name: value for name, value in settings.items() if is_given(name)}


def named(names: Sequence[str]) -> Sequence[str] | None:
    """The measures named on the command line, or None without --measure."""
    return names if is_given("measures") else None


def is_given(name: str) -> bool:
    """Whether an option is on the command line, or in the file of --config."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def _option(name: str, members: Mapping[str, Any], taken: Collection[str]) -> click.Option:
    """The option of a setting that measures or plots of these names have, whose meanings and defaults may differ; its
    old name is a second spelling, unless taken."""
    setting, defaults = next(iter(members.values())), _for_each({m: s.default for m, s in members.items()})
    old = sorted({setting.formerly for setting in members.values()} - {"", *taken})
    return click.Option(
        [*(f"--{spelling.replace('_', '-')}" for spelling in (name, *old)), name],
        type=click.Choice(setting.choices) if setting.choices else type(setting.default),
        default=setting.default,
        show_default=True if defaults == str(setting.default) else defaults,
        help=_for_each({member: own.meaning for member, own in members.items()}),
    )


def _for_each(values: Mapping[str, Any]) -> str:
    """One text for what all members share, otherwise one for each, after its name."""
    texts = {member: str(value) for member, value in values.items()}
    shared: dict[str, list[str]] = {}
    for member, text in texts.items():
        shared.setdefault(text, []).append(member)
    if len(shared) == 1:
        return next(iter(shared))
    return "; ".join(f"{', '.join(members)}: {text.rstrip('.')}" for text, members in shared.items())

"""Options and arguments that several verbs share, and the types of their values."""

from __future__ import annotations

import logging
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import click
from click import BadParameter, Context, Parameter, UsageError, argument, option
from click.core import ParameterSource

from bigtopic.errors import InputError
from bigtopic.wording import counted

__all__ = [
    "COUNT", "PATH", "STANDARD", "as_json", "completed", "conditions", "connected", "duration", "is_given",
    "method_options", "n_words", "number", "of_documents", "overwrite", "parallel", "paths", "random_state",
    "source_file", "standard_input", "theta", "threads", "token_filter", "token_pattern", "where", "without_copies",
]  # fmt: skip

COUNT = click.IntRange(1)
PATH = click.Path()  # or a URL: it need not exist
STANDARD = "-"  # standard input in place of a file to read, standard output in place of one to write
_COPY = "bigtopic.standard-input"  # path of the temporary file, in `click.Context.meta`
_THREADS_EACH = 16  # processors
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)([smhd])")

_Decorator = Callable[[Any], Any]

# ------------------------------------------------------------------ types


def duration(value: Any) -> float:
    """Seconds from '90', '90s', '10m', '1h30m' or '2d'."""
    text = str(value).strip().lower()
    pieces = _PIECE.findall(text)
    if pieces and "".join(digits + unit for digits, unit in pieces) == text:
        seconds = sum(float(digits) * _UNITS[unit] for digits, unit in pieces)
    else:
        try:
            seconds = float(text)
        except ValueError:
            raise BadParameter(f"{value!r} is not a time; write it as 90s, 10m, 1h30m or 2d") from None
    if not 0 < seconds < float("inf"):
        raise BadParameter(f"{value!r} must be a positive time")
    return seconds


def number(value: Any) -> float:
    """A number of documents if it is whole, else a share of them: 1 is one document, 1.0 all."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(str(value))  # `true` in a file of options is not a number
    raise BadParameter(f"{value!r} is neither a number of documents nor a share such as 0.5")


def _function(value: Any) -> Any:
    """A function by its place, such as package.module:function, imported as Python would from the current folder."""
    module, _, names = str(value).partition(":")
    if not module or not names:
        raise BadParameter(f"{value!r} is not a function; write it as package.module:function")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # last, so that no file of this folder hides another module
    try:
        found: Any = import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except Exception as error:  # importing a module runs it
        raise BadParameter(f"{value!r} cannot be imported: {error or type(error).__name__}") from None
    if not callable(found):
        raise BadParameter(f"{value!r} is a {type(found).__name__}, not a function")
    return found


def _setting(value: Any) -> Any:
    """A setting by its name, NAME=VALUE: a whole number, a number, true, false, none, or a text."""
    name, sign, text = map(str.strip, str(value).partition("="))
    if not sign or not name:
        raise BadParameter(f"{value!r} is not a setting; write it as name=value, such as decay=0.9")
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return name, words[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return name, kind(text)
    return name, text


def completed(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """What a shell offers for an option or argument: the names that begin with what was typed."""
    return lambda ctx, parameter, typed: [name for name in names() if name.startswith(typed)]


# ------------------------------------------------------------------ options


def _by_name(ctx: Context, parameter: Parameter, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any] | None:
    """The settings by name; None where none is given. Refuses one that is given twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BadParameter(f"{name} is given twice; leave one of them out")
        found[name] = value
    return found or None


def _address(ctx: Context, parameter: Parameter, value: str | None) -> str | None:
    """Check the address: Dask takes a minute to give up on an invalid one."""
    if value is not None and not re.fullmatch(r"\w+://\S+|\S+:\d+", value):
        raise BadParameter(f"{value!r} is not the address of a scheduler, such as tcp://10.0.0.1:8786")
    return value


def _few_threads(ctx: Context, parameter: Parameter, value: int | None) -> int | None:
    """Refuse so many threads that they only take memory."""
    from bigtopic.parallel.cluster import default_threads

    if value is not None and value > _THREADS_EACH * (n := default_threads()):
        raise BadParameter(
            f"{value} threads for {counted(n, 'processor')} would only take memory; give {n}, or leave it out"
        )
    return value


def paths(*names: str) -> _Decorator:
    """Required arguments, each a path or a URL."""

    def decorate(command: Any) -> Any:
        for name in reversed(names):
            command = argument(name, type=PATH)(command)
        return command

    return decorate


def overwrite(what: str) -> _Decorator:
    """--overwrite."""
    return option("--overwrite", is_flag=True, help=f"Replace {what} if it exists.")


def n_words(default: int) -> _Decorator:
    """--n-top, also as --words."""
    return option("--n-top", "--words", "n_words", type=COUNT, default=default, help="Words per topic.")


def method_options(help: str) -> _Decorator:
    """--option, repeatable: settings of a method as {name: value}."""
    return option(
        "--option",
        "options",
        type=_setting,
        multiple=True,
        callback=_by_name,
        metavar="NAME=VALUE",
        help=help,
    )


def token_filter(help: str) -> _Decorator:
    """--token-filter."""
    return option("--token-filter", type=_function, metavar="PACKAGE.MODULE:FUNCTION", help=help)


def where(**settings: Any) -> _Decorator:
    """--where: which documents a verb is about; see `conditions`."""
    return option(
        "--where",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="Only documents with this value of a column, or from a to b: year=2000..2005. May be repeated.",
        **settings,
    )


as_json = option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")
random_state = option("--random-state", "--seed", type=int, default=0, help="Seed of all randomness.")
theta = option(
    "--theta",
    type=PATH,
    help="Topics of the documents, as `bigtopic infer` wrote them; else they are inferred.",
)
token_pattern = option(
    "--token-pattern", help="The pattern used to tokenise the model's texts, if it was a custom one."
)
threads = option(
    "--threads",
    "n_threads",
    type=COUNT,
    callback=_few_threads,
    help="Number of threads; default all processors.",
)
_scheduler = option(
    "--scheduler",
    metavar="ADDRESS",
    callback=_address,
    help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786.",
)


def parallel(command: Any) -> Any:
    """--scheduler and --threads, the arguments of `connected`."""
    return _scheduler(threads(command))


def of_documents(command: Any) -> Any:
    """--theta and --where."""
    return theta(where()(command))


# ------------------------------------------------------------------ what they mean


@contextmanager
def connected(scheduler: str | None, n_threads: int | None) -> Iterator[dict[str, Any]]:
    """The arguments `client` (of the scheduler, closed at the end; False without one, for threads) and `n_threads`."""
    if scheduler is None:
        yield {"client": False, "n_threads": n_threads}
        return
    from bigtopic.parallel.cluster import resolve_client

    client, context = resolve_client(scheduler), click.get_current_context(silent=True)
    quiet = context is None or not context.find_root().params.get("debug")
    if quiet:  # a dead scheduler is one error of this command: Dask logs tracebacks of every connection
        logging.disable(logging.CRITICAL)
    try:
        yield {"client": client, "n_threads": n_threads}
    finally:
        client.close()
        if quiet:
            logging.disable(logging.NOTSET)


def conditions(given: Sequence[str], documents: Any) -> dict[str, Any]:
    """What `Corpus.select` takes, from COLUMN=VALUE; values have the type of the column of these documents."""
    found: dict[str, Any] = {}
    for text in given:
        if documents is None:
            raise UsageError("--where needs --corpus or --theta, which have the columns")
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--where {text!r}: write COLUMN=VALUE, such as year=2005 or year=2000..2005")
        if name in found:
            raise UsageError(
                f"--where {text!r}: {name} is given twice; write one range, such as {name}=2000..2005"
            )
        kind = documents.run(0, 1, order="stored").read_column(name).dtype.kind
        low, dots, high = value.partition("..")
        found[name] = slice(_typed(low, kind), _typed(high, kind)) if dots else _typed(value, kind)
    if found and not documents.select(**found).n_docs:
        shown = " ".join(f"--where {text}" for text in given)
        raise UsageError(
            f"{shown}: none of the {counted(len(documents), 'document')} meets "
            f"{'this condition' if len(found) == 1 else 'these conditions together'}"
        )
    return found


def _typed(value: str, kind: str) -> Any:
    """The value as a column of this kind has it; None for an empty end of a range."""
    if kind == "b":
        if value.lower() not in ("true", "false"):
            raise UsageError(f"--where: {value!r} is neither true nor false, which the column holds")
        return value.lower() == "true"
    for number in (int, float) if kind != "O" else ():
        with suppress(ValueError):
            return number(value)
    return value or None


@contextmanager
def source_file(path: str) -> Iterator[str]:
    """The path; for "-", a temporary file with all of standard input, because readers read twice."""
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


def without_copies(message: str, context: Context) -> str:
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


def is_given(name: str) -> bool:
    """Whether an option is on the command line, or in the file of --config."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT

"""Exceptions raised to users: each message says what was found, where, and how to fix it.

A message names arguments with `argument`, and what is done otherwise from Python than in a shell with `either`. These
leave marks in it, so that each face words them itself, and leaves a path of the user as it is: `str` of an error is
for Python, and the command line asks `worded` for the names of its options.
"""

import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from traceback import walk_stack
from types import FrameType
from typing import Any, Self, cast

from bigtopic.wording import printable

__all__ = [
    "ON_THREADS",
    "OR_NONE",
    "WITH_AUTHORS",
    "WITH_TEXT",
    "ArgumentError",
    "BigtopicError",
    "BigtopicWarning",
    "ClusterError",
    "CorpusDamaged",
    "CorpusExists",
    "CorpusLocked",
    "CorpusVersionError",
    "InputError",
    "InputTypeError",
    "MissingExtra",
    "ModelError",
    "ModelVersionError",
    "NotFitted",
    "RenamedWarning",
    "SettingError",
    "StoreError",
    "VocabularyMismatch",
    "argument",
    "did_you_mean",
    "either",
    "noting",
    "require",
    "setting",
    "warn",
    "worded",
]

_MARK = re.compile(
    "\x02([^\x03]*)\x1f([^\x03]*)\x1f([^\x03]*)\x03"
)  # (argument, in Python, its value in a shell)
_NO_VALUE = object()


def argument(name: str, value: object = _NO_VALUE) -> str:
    """An argument in a message: "name=value", which a shell shows as its option.

    Parameters
    ----------
    name : of the argument
    value : its value, shown as `repr`; `...` for any ("name="); left out for the name alone

    Examples
    --------
    >>> print(SettingError(f"{argument('n_components', 0)}: must be 1 or more"))
    n_components=0: must be 1 or more
    """
    if value is _NO_VALUE or value is ...:
        return _marked(name, name if value is _NO_VALUE else f"{name}=", "")
    shown = "" if value is True else "none" if value is None else shlex.quote(str(value))
    return _marked(name, f"{name}={value!r}", shown)


def either(python: str, shell: str) -> str:
    """Wording that depends on how the user runs the package: from Python or in a shell.

    Examples
    --------
    >>> print(SettingError(f"no authors; {either('ingest with authors=', 'pass --author-column')}"))
    no authors; ingest with authors=
    """
    return _marked("", python, shell)


def setting(name: str, value: object) -> str:
    """A setting of a method in a message: "options={name: value}", which a shell shows as --option.

    Examples
    --------
    >>> print(SettingError(f"give {setting('decay', 0.9)}"))
    give options={'decay': 0.9}
    """
    return either(f"options={{{name!r}: {value!r}}}", f"--option {name}={value}")


def _marked(*fields: str) -> str:
    return f"\x02{chr(0x1F).join(map(printable, fields))}\x03"  # in which `printable` leaves no such mark


def worded(message: str, option: Callable[[str], str | None] | None = None) -> str:
    """A message with marks, as text that is safe for a terminal.

    Parameters
    ----------
    option : for a shell, the option of the verb for an argument, None for one without; left out for Python's words
    """

    def shown(mark: re.Match[str]) -> str:
        name, python, shell = mark.groups()
        if option is None:
            return python
        if not name:
            return shell
        spelled = option(name)
        return python if spelled is None else f"{spelled} {shell}" if shell else spelled

    return printable(_MARK.sub(shown, message))


# What several messages end with.
OR_NONE = either(" (or None)", "")
ON_THREADS = either("pass client=False", "leave out --scheduler") + " to run on threads"
WITH_AUTHORS = either(
    "ingest them with authors=",
    "pass --author-column to 'bigtopic ingest', or attach them with 'bigtopic authors'",
)
WITH_TEXT = either("ingest its source with keep_text=True", "pass --keep-text to 'bigtopic ingest'")


class _Worded:
    """What errors and warnings share: `message` has the marks, `str` is in the words of Python."""

    args: tuple[Any, ...]

    @property
    def message(self) -> str:
        """The message with its marks, see `worded`; to be quoted in the message of another error."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return worded(self.message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class BigtopicError(_Worded, Exception):
    """Base of every error raised on purpose. Its message may quote data and paths: it is safe for a terminal."""


class InputError(BigtopicError, ValueError):
    """A source (file, matrix, iterable) is not valid input; names the file and line or document."""


class InputTypeError(InputError, TypeError):
    """A matrix holds objects that are not numbers."""


class SettingError(BigtopicError, ValueError):
    """An argument has a value that is not allowed; names the argument, the value found, and the allowed values."""


class ArgumentError(BigtopicError, TypeError):
    """A call has an argument that the function does not have; names what it is here, or the nearest."""


class ClusterError(BigtopicError, RuntimeError):
    """The Dask cluster cannot do the work: it has no workers, or its workers keep dying."""


class CorpusExists(BigtopicError, FileExistsError):
    """The store to be written already exists."""


class CorpusLocked(BigtopicError, RuntimeError):
    """Another writer is at work in this corpus."""


class CorpusDamaged(BigtopicError, RuntimeError):
    """A part or chunk of a corpus (or of a stored model) is missing or does not match its checksum; names the part."""


class CorpusVersionError(BigtopicError, RuntimeError):
    """The store was written in a newer format than this version reads, or is not a bigtopic store."""


class StoreError(BigtopicError, OSError):
    """The system refuses access to a file of a store (disk full, permission denied, a link); names file and remedy.

    Parameters
    ----------
    message : the whole message
    errno : the system's error number, see `OSError`
    path : path of the file, available as `filename`
    """

    def __init__(self, message: str, errno: int | None = None, path: str | None = None) -> None:
        super().__init__(message)
        self.errno, self.filename = errno, path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.errno, self.filename)


class VocabularyMismatch(BigtopicError, ValueError):
    """The vocabularies of documents and model (or matrix) do not match."""


class ModelError(BigtopicError, RuntimeError):
    """A stored model cannot be read, or a model does not support the request."""


class ModelVersionError(ModelError):
    """A stored model or checkpoint was written in a newer format than this version reads."""


class NotFitted(BigtopicError, ValueError, AttributeError):
    """The estimator has not been fitted yet. Where scikit-learn is imported, this is also its `NotFittedError`."""

    def __new__(cls, *args: Any) -> Self:
        """An instance of both, when there are both."""
        both = cls is NotFitted and sys.modules.get("sklearn.exceptions") is not None
        kind = _also_of_sklearn() if both else cls
        return cast(Self, super().__new__(kind, *args))

    def __reduce__(self) -> tuple[Any, ...]:
        return NotFitted, self.args


@cache
def _also_of_sklearn() -> type[NotFitted]:
    from sklearn.exceptions import NotFittedError

    return type("NotFitted", (NotFitted, NotFittedError), {"__module__": __name__})


class MissingExtra(BigtopicError, ImportError):
    """An optional package is needed; names the extra to install."""


class BigtopicWarning(_Worded, UserWarning):
    """Something a user should know, but that does not stop the work; its message is safe for a terminal."""


class RenamedWarning(BigtopicWarning, FutureWarning):
    """An argument or attribute was used under its old name; names the new one."""


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """The end of a message about an unknown name: those spelt like it, upper and lower case alike; "" if none is.

    Examples
    --------
    >>> did_you_mean("Titles", ["text", "title"])
    "; did you mean 'title'?"
    """
    from difflib import get_close_matches

    folded = {str(each).casefold(): each for each in known}
    close = [folded[each] for each in get_close_matches(str(name).casefold(), folded)]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def warn(message: str, category: type[Warning] = BigtopicWarning) -> None:
    """Warn at the line outside of this package from which it was called, however deep the call is by now."""
    stack = [frame for frame, _ in walk_stack(sys._getframe())]
    inside = [number for number, frame in enumerate(stack) if _name(frame).partition(".")[0] == "bigtopic"]
    callers = (frame for frame in stack[inside[-1] + 1 :] if not _name(frame).startswith("importlib."))
    caller = next(callers, stack[-1])
    registry = caller.f_globals.setdefault("__warningregistry__", {})  # of what was told at which line
    path = caller.f_code.co_filename
    # An instance, whose text has no marks: filters are matched with what is shown.
    warnings.warn_explicit(category(message), category, path, caller.f_lineno, _name(caller), registry)


def _name(frame: FrameType) -> str:
    """The module that a frame is in."""
    return str(frame.f_globals.get("__name__", ""))


@contextmanager
def noting(where: str) -> Iterator[None]:
    """Add a note to an exception from code that users write: a measure, a kernel, a plot, a scheme.

    Parameters
    ----------
    where : the function and what it is of; the traceback ends with it
    """
    try:
        yield
    except Exception as error:
        note(error, where)
        raise


def note(error: Exception, where: str) -> None:
    """Add what `noting` adds to an exception, for code that runs too often for a context manager."""
    error.add_note(printable(f"in {where}"))


def require(module: str, extra: str) -> Any:
    """Import an optional module; the error names the extra that provides it.

    Raises
    ------
    MissingExtra
        When the module is not installed.
    """
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(
            f"this needs the package '{module.split('.')[0]}', which is not installed; "
            f"install it with: pip install 'bigtopic[{extra}]'"
        ) from error

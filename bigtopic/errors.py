"""Exceptions a user can meet: each says what was found, where, and what to do about it."""

from typing import Any

from bigtopic.printable import printable

__all__ = [
    "BigtopicError",
    "BigtopicWarning",
    "ClusterError",
    "CorpusDamaged",
    "CorpusExists",
    "CorpusLocked",
    "CorpusVersionError",
    "InputError",
    "MissingExtra",
    "ModelError",
    "NotFitted",
    "SettingError",
    "StoreError",
    "VocabularyMismatch",
    "require",
]


class BigtopicError(Exception):
    """Base of every error raised on purpose. Its message may quote data and paths: it is safe for a terminal."""

    def __str__(self) -> str:
        return printable(super().__str__())


class InputError(BigtopicError, ValueError):
    """A source (file, matrix, iterable) holds what cannot be a corpus; names the file and line or document."""


class SettingError(BigtopicError, ValueError):
    """An argument is outside what is allowed; names the argument, the value found, and the values allowed."""


class ClusterError(BigtopicError, RuntimeError):
    """The Dask cluster cannot do the work: it has no workers, or they keep dying."""


class CorpusExists(BigtopicError, FileExistsError):
    """The store to be written is already there."""


class CorpusLocked(BigtopicError, RuntimeError):
    """Another writer is appending to this corpus."""


class CorpusDamaged(BigtopicError, RuntimeError):
    """A part or chunk of a corpus (or of a stored model) is missing or does not match its checksum; names the part."""


class CorpusVersionError(BigtopicError, RuntimeError):
    """The store was written in a newer format than this version reads, or is not a bigtopic store."""


class StoreError(BigtopicError, OSError):
    """The system refuses a file of a store (disk full, permission denied, a link); names the file and what to do.

    Parameters
    ----------
    message : the whole message
    errno : the system's number, as of OSError
    path : of the file, kept as `filename`
    """

    def __init__(self, message: str, errno: int | None = None, path: str | None = None) -> None:
        super().__init__(message)
        self.errno, self.filename = errno, path

    def __str__(self) -> str:
        return printable(str(self.args[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.errno, self.filename)


class VocabularyMismatch(BigtopicError, ValueError):
    """Documents and model (or matrix and vocabulary) do not speak about the same words."""


class ModelError(BigtopicError, RuntimeError):
    """A stored model cannot be read, or a model cannot do what was asked."""


class NotFitted(BigtopicError, AttributeError):
    """The estimator has not been fitted yet."""


class MissingExtra(BigtopicError, ImportError):
    """An optional package is needed; names the extra to install."""


class BigtopicWarning(UserWarning):
    """Something a user should know that does not stop the work; its message is safe for a terminal."""

    def __str__(self) -> str:
        return printable(super().__str__())


def require(module: str, extra: str) -> Any:
    """Import an optional module, or say which extra provides it.

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

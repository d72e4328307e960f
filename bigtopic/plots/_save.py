"""Write a figure to a file, whole or not at all."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

from bigtopic.errors import SettingError, StoreError, argument, warn
from bigtopic.storage import local
from bigtopic.storage.zarr_group import ROOT

__all__ = ["FORMATS", "check_path", "encode", "save"]

# Nothing that differs from run to run, so that the same picture has the same bytes.
_METADATA: dict[str, dict[str, Any]] = {".pdf": {"CreationDate": None}, ".png": {}, ".svg": {"Date": None}}
FORMATS = tuple(sorted(ending[1:] for ending in _METADATA))
_BEGINNINGS = (b"%PDF-", b"\x89PNG\r\n", b"<?xml", b"<svg")
_DPI = 150  # of PNG


def check_path(path: str | Path) -> Path:
    """The absolute path of a picture to be written.

    Raises
    ------
    SettingError
        When it cannot be a path, or its ending is not that of a picture.
    StoreError
        When something other than a picture is there, it is inside a corpus or a model, or the system refuses it.
    """
    path = _absolute(path)
    if path.suffix.lower() not in _METADATA:
        raise SettingError(
            f"{argument('out')}: must end in one of {', '.join(sorted(_METADATA))}, found {path.name!r}"
        )
    with local.told("written", str(path)):
        if path.exists() and not _is_picture(path):
            raise StoreError(f"{path} exists but is not a picture; nothing was written: give another path")
        for folder in path.resolve().parents:
            if (folder / ROOT).exists():
                raise StoreError(
                    f"{path} is inside the store {folder}, which holds only its own files; give a path outside"
                )
    return path


def _absolute(path: Any) -> Path:
    if not isinstance(path, str | Path):
        raise SettingError(f"{argument('out')}: must be a path, found {path!r}")
    if "\0" in str(path):
        raise SettingError(f"{argument('out')}: must not contain a null character, found {str(path)!r}")
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:  # no such user
        raise SettingError(
            f"{argument('out')}: {error} (found {str(path)!r}); give the path of the folder itself"
        ) from error


def save(figure: Any, path: str | Path) -> Path:
    """Write a figure as PDF, PNG or SVG, by the ending of the path; an existing picture is replaced in one step.

    SVG holds text as text, for the fonts of the reader.

    Returns
    -------
    The absolute path.

    Raises
    ------
    SettingError, StoreError
        See `check_path`; StoreError also when the system refuses to write.
    """
    path = check_path(path)
    local.replace(str(path), 0, encode(figure, path.suffix.lower()[1:]))
    return path


def encode(figure: Any, format: str) -> bytes:
    """The bytes of a figure as "pdf", "png" or "svg"; the same figure has the same bytes."""
    from matplotlib import rc_context

    buffer = BytesIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        rc_context({"svg.fonttype": "none", "svg.hashsalt": "bigtopic"}),
    ):
        warnings.simplefilter("always")
        figure.savefig(buffer, format=format, dpi=_DPI, metadata=_METADATA[f".{format}"])
    _pass_on(caught, format)
    return buffer.getvalue()


def _is_picture(path: Path) -> bool:
    """Whether a picture, or an empty file, is there."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(16).lstrip()
    return not begin or begin.startswith(_BEGINNINGS)


def _pass_on(caught: list[warnings.WarningMessage], format: str) -> None:
    """One warning about all characters that the fonts lack, and the others as they are."""
    missing = [one for one in caught if "missing from font" in str(one.message)]
    if missing and format != "svg":
        warn(
            "the fonts of this machine lack characters of the words, which are drawn as boxes; write SVG instead, or "
            "install a font that has them and name it in matplotlib's setting font.family",
        )
    for one in caught:
        if one not in missing:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)

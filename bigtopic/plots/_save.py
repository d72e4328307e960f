"""Write a figure to a file, whole or not at all."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from bigtopic.errors import SettingError, argument, warn
from bigtopic.storage.output_file import check_outside_stores, check_replaceable, write_output
from bigtopic.storage.place import Place

__all__ = ["FORMATS", "check_path", "encode", "save"]

# Nothing that differs from run to run, so that the same picture has the same bytes.
_METADATA: dict[str, dict[str, Any]] = {".pdf": {"CreationDate": None}, ".png": {}, ".svg": {"Date": None}}
FORMATS = tuple(sorted(ending[1:] for ending in _METADATA))
_BEGINNINGS = (b"%pdf-", b"\x89png\r\n", b"<?xml", b"<svg")
_DPI = 150  # of PNG


def check_path(path: Any, storage_options: Mapping[str, Any] | None = None) -> None:
    """Check that a picture may be written to a path or URL, as `save` does.

    Raises
    ------
    SettingError, StoreError
        As `save`.
    """
    place = _place(path, storage_options)
    check_replaceable(place, _BEGINNINGS, "a picture")
    check_outside_stores(place)


def save(figure: Any, path: Any, *, storage_options: Mapping[str, Any] | None = None) -> Path | str:
    """Write a figure as PDF, PNG or SVG, by the ending of the path; an existing picture is replaced in one step.

    SVG holds text as text, for the fonts of the reader.

    Parameters
    ----------
    path : or URL of the picture
    storage_options : for fsspec, of a URL

    Returns
    -------
    The absolute path, or the URL.

    Raises
    ------
    SettingError
        When the path cannot be one, or does not end like a picture.
    StoreError
        When something other than a picture is there, it is inside a corpus or a model, or the system refuses to write.
    """
    place = _place(path, storage_options)
    check = partial(check_replaceable, place, _BEGINNINGS, "a picture")
    return write_output(place, encode(figure, _path_of(place).suffix.lower()[1:]), check)


def _place(path: Any, storage_options: Mapping[str, Any] | None) -> Place:
    place = Place.of(path, storage_options)
    if (found := _path_of(place)).suffix.lower() not in _METADATA:
        raise SettingError(
            f"{argument('out')}: must end in one of {', '.join(sorted(_METADATA))}, found {found.name!r}"
        )
    return place


def _path_of(place: Place) -> PurePosixPath:
    return PurePosixPath(place.url.partition("::")[0])


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
    # One warning about all characters that the fonts lack, and the others as they are.
    missing = [one for one in caught if "missing from font" in str(one.message)]
    if missing and format != "svg":
        warn(
            "the fonts of this machine lack characters of the words, which are drawn as boxes; write SVG instead, or "
            "install a font that has them and name it in matplotlib's setting font.family"
        )
    for one in caught:
        if one not in missing:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return buffer.getvalue()
